//! Every limit with a refusal is hit, by name: one past it is refused with its code, and nothing is accepted.

use super::harness::{Answer, Harness, Messages, exchange, read, request};
use super::requests;
use crate::http::Bounds;
use base64::Engine as _;
use ouroboros_domain::{Input, Refusal, Reply};
use ouroboros_proto::limits::{self, Limit};
use serde_json::{Value, json};
use std::io::Write as _;

fn one(change: impl FnOnce(&mut Value)) -> String {
    let mut body = json!({ "command": { "argv": ["true"], "cwd": "/" } });
    change(&mut body);
    body.to_string()
}

fn submit(harness: &Harness, change: impl FnOnce(&mut Value)) -> Answer {
    harness.post("/api/tasks", one(change))
}

fn past(limit: &Limit) -> usize {
    usize::try_from(limit.max).unwrap() + 1
}

fn hit(limit: &Limit) -> Answer {
    let harness = Harness::new();
    match limit.name {
        "PENDING_TASKS" => {
            harness.world.script(|_| Some(Ok(Reply::Refused(Refusal::QueueFull { max: limits::PENDING_TASKS.max }))));
            submit(&harness, |_| {})
        }
        "TASKS_PER_REQUEST" => {
            let task = json!({ "command": { "argv": ["true"], "cwd": "/" } });
            harness.post("/api/tasks", json!({ "tasks": vec![task; past(limit)] }).to_string())
        }
        "REQUEST_BODY" => harness.post("/api/tasks", vec![b' '; past(limit)]),
        "JSON_DEPTH" => harness.post("/api/tasks", format!("{}1{}", "[".repeat(past(limit)), "]".repeat(past(limit)))),
        "ARGV_ITEMS" => submit(&harness, |body| body["command"]["argv"] = vec!["a"; past(limit)].into()),
        "ARGV_BYTES" => submit(&harness, |body| body["command"]["argv"] = vec!["a".repeat(65_535); 17].into()),
        "ARGUMENT_BYTES" => submit(&harness, |body| body["command"]["argv"] = json!(["echo", "a".repeat(past(limit))])),
        "ENV_ITEMS" => submit(&harness, |body| {
            body["command"]["env"] = (0..past(limit))
                .map(|index| (format!("V{index}"), json!("")))
                .collect::<serde_json::Map<_, _>>()
                .into();
        }),
        "ENV_BYTES" => submit(&harness, |body| body["command"]["env"] = json!({ "V": "a".repeat(past(limit)) })),
        "CWD_BYTES" => submit(&harness, |body| body["command"]["cwd"] = format!("/{}", "a".repeat(past(limit))).into()),
        "STDIN_BYTES" => submit(&harness, |body| {
            let text = base64::engine::general_purpose::STANDARD.encode(vec![0; past(limit)]);
            body["command"]["stdin_base64"] = text.into();
        }),
        "ASK_BYTES" => {
            let prompt = "a".repeat(past(limit));
            harness.post("/api/tasks", json!({ "ask": { "prompt": prompt } }).to_string())
        }
        "AGENT_ROUNDS" => {
            let agent = json!({ "prompt": "do it", "folder": "/", "max_rounds": past(limit) });
            harness.post("/api/tasks", json!({ "agent": agent }).to_string())
        }
        "OUTPUT_SCHEMA_BYTES" => {
            let schema = json!({ "description": "a".repeat(past(limit)) });
            let agent = json!({ "prompt": "do it", "folder": "/", "output_schema": schema });
            harness.post("/api/tasks", json!({ "agent": agent }).to_string())
        }
        "AGENT_IMAGES" => {
            let images = vec![json!({ "media_type": "image/png", "data": "YQ==" }); past(limit)];
            let agent = json!({ "prompt": "do it", "folder": "/", "images": images });
            harness.post("/api/tasks", json!({ "agent": agent }).to_string())
        }
        "MESSAGE_BYTES" => {
            harness.submit();
            harness.post("/api/tasks/1/messages", json!({ "text": "a".repeat(past(limit)) }).to_string())
        }
        "MESSAGES_PER_TASK" | "MESSAGES_WAITING" => {
            harness.submit();
            let limit = *limit;
            harness.world.script(move |_| Some(Ok(Reply::Refused(Refusal::TooManyMessages { limit }))));
            harness.post("/api/tasks/1/messages", r#"{"text":"and this"}"#)
        }
        "UNDO_FILES" => harness.post("/api/tasks/1/undo", json!({ "files": vec!["a"; past(limit)] }).to_string()),
        "NAME_CHARS" => submit(&harness, |body| body["name"] = "é".repeat(past(limit)).into()),
        "KEY_CHARS" => submit(&harness, |body| body["key"] = "é".repeat(past(limit)).into()),
        "AFTER_ITEMS" => submit(&harness, |body| body["after"] = vec!["1"; past(limit)].into()),
        "RETRIES" => submit(&harness, |body| body["retries"] = past(limit).into()),
        "DELAY_MILLIS" => submit(&harness, |body| body["delay_ms"] = past(limit).into()),
        "TIMEOUT_MILLIS" => submit(&harness, |body| body["timeout_ms"] = past(limit).into()),
        "GRACE_MILLIS" => {
            harness.submit();
            harness.post("/api/tasks/1/cancel", json!({ "grace_ms": past(limit) }).to_string())
        }
        "SLOTS" => harness.post("/api/command", json!({ "command": "set_slots", "slots": past(limit) }).to_string()),
        "PAGE_ROWS" => harness.get(&format!("/api/tasks?limit={}", past(limit))),
        "HTTP_CONNECTIONS" => {
            let harness = Harness::with(Bounds { connections: Limit { max: 2, ..*limit }, ..Bounds::default() });
            let open = [harness.unix(), harness.unix()];
            harness
                .runtime
                .block_on(async { harness.clients().wait_for(|open| *open == 2).await.map(|_| ()) })
                .unwrap();
            let answer = harness.get("/api/health");
            drop(open);
            answer
        }
        "EVENT_STREAMS" => {
            let harness = Harness::with(Bounds { streams: Limit { max: 1, ..*limit }, ..Bounds::default() });
            let first = Messages::open(harness.unix(), "/api/events", &[]);
            assert_eq!(first.status, 200);
            harness.get("/api/events")
        }
        "HEADER_BYTES" => {
            let filler = "a".repeat(past(limit));
            exchange(harness.unix(), &request("GET", "/api/health", &[("X-Filler", &filler)], None))
        }
        "BODY_MILLIS" => {
            let harness = Harness::with(Bounds { body: Limit { max: 50, ..*limit }, ..Bounds::default() });
            let mut stream = harness.unix();
            stream
                .write_all(b"POST /api/tasks HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{")
                .unwrap();
            read(&mut stream)
        }
        "PENDING_REQUESTS" => {
            harness.submit();
            harness.world.end();
            while harness.world.fill() {}
            harness.post("/api/tasks/1/hold", "")
        }
        "LOGIN_CODES" => {
            for _ in 0..limit.max {
                assert_eq!(harness.post("/api/command", r#"{"command":"login_code"}"#).status, 200);
            }
            harness.post("/api/command", r#"{"command":"login_code"}"#)
        }
        "ANSWER_BYTES" => {
            let (harness, _) = requests::asking(requests::QUESTION);
            harness.post("/api/requests/1/3/answer", json!({ "text": "a".repeat(past(limit)) }).to_string())
        }
        "RULES" => {
            let (harness, _) = requests::asking(requests::APPROVAL);
            harness.world.script(|input| {
                let refusal = Refusal::TooManyRules { max: limits::RULES.max };
                matches!(input, Input::Request(_)).then_some(Ok(Reply::Refused(refusal)))
            });
            harness.post("/api/requests/1/3/answer", r#"{"decision":"always"}"#)
        }
        other => panic!("no test hits {other}"),
    }
}

#[test]
fn every_refusal_of_the_table_is_met() {
    let limits: Vec<&Limit> = limits::ALL.iter().filter(|limit| limit.refusal.is_some()).collect();
    std::thread::scope(|scope| {
        let hits: Vec<_> = limits.iter().map(|limit| (limit, scope.spawn(|| hit(limit)))).collect();
        for (limit, answer) in hits {
            let answer = answer.join().unwrap();
            let code = limit.refusal.unwrap();
            assert_eq!(
                (answer.status, answer.code()),
                (code.status(), code.as_str().to_owned()),
                "{}: {}",
                limit.name,
                answer.text()
            );
            // The queue's own bound comes from the configuration; all others name their row.
            if limit.name != "PENDING_TASKS" {
                assert_eq!(answer.json()["detail"]["limit"], limit.name, "{}", answer.text());
            }
        }
    });
}

#[test]
fn what_is_exactly_at_a_limit_is_accepted() {
    let harness = Harness::new();
    let accepted: &[(&str, Value)] = &[
        ("/command/argv", vec!["a"; 16_384].into()),
        ("/command/argv", json!(["echo", "a".repeat(131_071)])),
        ("/name", "é".repeat(200).into()),
        ("/key", "é".repeat(200).into()),
        ("/retries", 100.into()),
        ("/delay_ms", limits::DELAY_MILLIS.max.into()),
        ("/timeout_ms", limits::TIMEOUT_MILLIS.max.into()),
        ("/command/stdin", "a".repeat(4 << 20).into()),
        ("/command/umask", 0o777.into()),
    ];
    for (pointer, value) in accepted {
        let answer = submit(&harness, |body| {
            let (parent, field) = pointer.rsplit_once('/').unwrap();
            body.pointer_mut(parent).unwrap()[field] = value.clone();
        });
        assert_eq!(answer.status, 201, "{pointer}: {}", answer.text());
    }
    let tasks = json!({ "tasks": vec![json!({ "command": { "argv": ["true"], "cwd": "/" } }); 1_000] });
    let answer = harness.post("/api/tasks", tasks.to_string());
    assert_eq!(answer.json()["tasks"].as_array().map(Vec::len), Some(1_000));
}
