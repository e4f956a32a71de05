//! How answers look, plain and as JSON.

use super::program::Home;
use super::sample::{self, TASK};
use super::server::{Reply, Server};
use serde_json::json;

fn server(home: &Home) -> Server {
    Server::start(home, |request| match request.line().as_str() {
        "GET /api/state" => Reply::json(200, &sample::state(Some("owner"))),
        "GET /api/tasks" if request.target.contains("cursor=") => {
            Reply::json(200, &json!({ "tasks": [sample::failed(3)], "next": null }))
        }
        "GET /api/tasks" => {
            Reply::json(200, &json!({ "tasks": [sample::running(), sample::completed()], "next": "c+1" }))
        }
        "GET /api/processes" => {
            let process = |pid, parent, role, recorded| {
                json!({ "pid": pid, "parent": parent, "role": role, "task": 7,
                "command": "sh -c x", "age_seconds": 65, "cpu_micros": 1_500_000, "resident_bytes": null, "recorded": recorded })
            };
            Reply::json(
                200,
                &json!([
                    process(10, 1, "server", true),
                    process(11, 10, "worker", true),
                    process(12, 11, "tool", false)
                ]),
            )
        }
        "GET /api/events" => Reply::events(&[
            sample::event(1, &json!({ "type": "server_started", "generation": 3 })),
            sample::started(2, 1),
            sample::settled(3),
            "event: caught_up\ndata: {}\n\n".to_owned(),
        ]),
        "GET /api/tasks/7" => {
            let mut task = sample::failed(3);
            task["reason"] = json!("exited with code 3");
            task["command"] = json!({ "argv": ["sh", "-c", "exit 3"], "cwd": "/src", "env": { "A": "" } });
            let stream = |written: u64, cut: bool| json!({ "written": written, "head": 1, "tail": 0, "truncated": cut, "expired": false });
            task["attempt_list"] = json!([{ "id": sample::ATTEMPT, "ordinal": 1, "generation": 3, "started_at": sample::ago(9),
                "ended_at": sample::ago(8), "released": true, "isolation": "namespace",
                "ending": { "kind": "exited", "code": 3, "signal": null, "out_of_memory": null, "text": "exited with code 3" },
                "usage": { "user_micros": 10_000, "system_micros": 0, "max_resident_bytes": 2_097_152, "elapsed_ms": 65_000 },
                "stdout": stream(2_000_000, true), "stderr": stream(0, false) }]);
            Reply::json(200, &task)
        }
        "GET /api/tasks/7/logs/stdout" => Reply::bytes(b"head\ntail\n", "ouroboros-gap: 5-99\r\n"),
        "POST /api/tasks/7/retry" | "POST /api/tasks/7/hold" if request.header("content-length") != Some("0") => {
            Reply::error(400, "bad_field", "This request takes no body; nothing was done.", "Send none.")
        }
        "POST /api/tasks/7/retry" => Reply::json(201, &json!({ "id": TASK, "number": 8, "duplicate": false })),
        "POST /api/tasks/7/cancel" | "POST /api/tasks/7/hold" | "POST /api/tasks/7/priority" => {
            Reply::json(200, &sample::running())
        }
        "DELETE /api/tasks/7" => Reply::nothing(),
        "POST /api/command" => Reply::json(
            200,
            &json!({ "message": "Done.", "url": "http://127.0.0.1:8765/login?code=x",
            "freed_bytes": 2_048 }),
        ),
        other => panic!("{other} was not expected"),
    })
}

/// Times are of now; only that there is one matters.
fn without_times(text: &str) -> String {
    let line = |line: &str| match line.split_whitespace().next() {
        Some(word @ ("submitted" | "started" | "settled")) => {
            let (time, rest) = line.split_once('Z').unwrap();
            assert!(time.contains("20"), "{line}");
            format!("{word:<11} [TIME]{rest}\n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
fn answers_are_tables_and_sentences() {
    let home = Home::new();
    let _server = server(&home);
    let mut text = String::new();
    for line in [
        "status",
        "tasks",
        "tasks --all",
        "tasks --limit 2 --status running,failed --name a&b",
        "show 7",
        "ps",
        "events",
        "retry 7",
        "cancel --grace 5s 7",
        "hold 7",
        "hold --queue",
        "release --all",
        "priority 7 high",
        "rm 7",
        "gc",
        "slots 3",
        "open",
        "logs 7",
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        text.push_str(&format!("$ ouroboros {line}\n{}\n", without_times(&home.run(&arguments).shown())));
    }
    insta::assert_snapshot!("answers", text);
}

#[test]
fn answers_in_json_name_their_version() {
    let home = Home::new();
    let _server = server(&home);
    for line in [
        "status",
        "tasks",
        "show 7",
        "ps",
        "retry 7",
        "cancel 7",
        "hold --queue",
        "rm 7",
        "gc",
        "slots 3",
        "open",
        "paths",
        "config list",
        "config get queue.slots",
        "config path",
        "config check",
        "doctor",
        "service status",
    ] {
        let arguments: Vec<&str> = line.split(' ').chain(["--json"]).collect();
        let ran = home.run(&arguments);
        assert_eq!(ran.json()["api"], 1, "{line}: {}", ran.shown());
    }
    for line in ["events", "export --brief"] {
        let arguments: Vec<&str> = line.split(' ').chain(["--json"]).collect();
        let ran = home.run(&arguments);
        assert!(ran.out().lines().count() >= 3, "{line}: {}", ran.shown());
        for line in ran.out().lines() {
            assert_eq!(serde_json::from_str::<serde_json::Value>(line).unwrap()["api"], 1, "{line}");
        }
    }
}

#[test]
fn requests_say_what_was_asked() {
    let home = Home::new();
    let server = server(&home);
    home.run(&["tasks", "--limit", "2", "--status", "running,failed", "--name", "a&b"]);
    home.run(&["tasks", "--all"]);
    home.run(&["cancel", "--grace", "1m30s", "7"]);
    home.run(&["priority", "#7", "urgent"]);
    home.run(&["release", "--queue"]);
    let requests = server.requests();
    assert_eq!(requests[0].target, "/api/tasks?limit=2&status=running%2Cfailed&name=a%26b");
    assert_eq!(requests[1].target, "/api/tasks?limit=1000");
    assert_eq!(requests[2].target, "/api/tasks?limit=1000&cursor=c%2B1");
    assert_eq!(requests[3].body, json!({ "grace_ms": 90_000 }));
    assert_eq!(requests[4].body, json!({ "priority": "urgent" }));
    assert_eq!(requests[5].body, json!({ "command": "release_queue", "all": false }));
}

#[test]
fn logs_are_copied_byte_for_byte() {
    let home = Home::new();
    let _server = Server::start(&home, |_| Reply::bytes(b"a\x00\xff\r\n\x1b[1m", ""));
    assert_eq!(home.run(&["logs", "7"]).stdout, b"a\x00\xff\r\n\x1b[1m");
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let home = Home::new();
    let _server = server(&home);
    let mut child = home.spawn(&["tasks", "--all"]);
    drop(child.stdout.take());
    let ran = home.finish(child);
    assert_eq!((ran.code, ran.err().as_str()), (Some(0), ""));
}
