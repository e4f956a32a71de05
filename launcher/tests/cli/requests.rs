//! What tasks ask their owner, and rules.

use super::program::Home;
use super::sample::{self, TASK, started};
use super::server::{Reply, Server};
use serde_json::{Value, json};

fn request(number: u32, state: &str, asks: Value, answer: Value) -> Value {
    json!({ "task": TASK, "number": 7, "request": number, "attempt": sample::ATTEMPT, "state": state, "asks": asks,
        "asked_at": sample::ago(5_400), "expires_at": null, "closed_at": null, "answer": answer })
}

fn question() -> Value {
    json!({ "type": "question", "text": "Which colour?\nIt is for the door.", "options": ["red", "\u{1b}[2Jblue"] })
}

fn approval() -> Value {
    json!({ "type": "approval", "tool": "run_command", "summary": "rm -rf build", "why": "it deletes", "rule": { "argv": ["rm"] } })
}

fn open() -> Value {
    request(3, "open", question(), Value::Null)
}

fn server(home: &Home) -> Server {
    Server::start(home, |request_| match request_.line().as_str() {
        "GET /api/requests" => {
            let decided = json!({ "type": "deny", "reason": "not there" });
            let requests = match request_.target.split_once('?').map(|(_, query)| query) {
                Some("state=open") => json!([request(4, "open", approval(), Value::Null), open()]),
                Some("state=all") => json!([open(), request(2, "answered", approval(), decided)]),
                Some(query) if query == format!("state=open&task={TASK}") => json!([open()]),
                other => panic!("{other:?} was not expected"),
            };
            Reply::json(200, &json!({ "requests": requests }))
        }
        "GET /api/tasks/7" => Reply::json(200, &sample::running()),
        "GET /api/requests/7/4" => Reply::json(200, &request(4, "open", approval(), Value::Null)),
        line if line == format!("POST /api/requests/{TASK}/3/answer") => {
            let answer = json!({ "type": "option", "number": 1, "text": "red" });
            Reply::json(200, &request(3, "answered", question(), answer))
        }
        line if line == format!("POST /api/requests/{TASK}/4/answer") => {
            Reply::json(200, &request(4, "answered", approval(), json!({ "type": "always" })))
        }
        "GET /api/rules" => Reply::json(
            200,
            &json!({ "rules": [
                { "id": 1, "scope": { "in": "folder", "path": "/work" }, "tool": "run_command", "pattern": { "argv": ["rm"] },
                    "effect": "allow", "created_at": sample::ago(5_400), "from_task": TASK, "from_request": 4 },
                { "id": 2, "scope": { "in": "installation" }, "tool": "fetch", "pattern": { "host": "example.org" },
                    "effect": "deny", "created_at": sample::ago(5_400), "from_task": TASK, "from_request": 5 },
            ] }),
        ),
        "DELETE /api/rules/1" => Reply::nothing(),
        "DELETE /api/rules/9" => {
            Reply::error(404, "unknown_rule", "There is no such rule.", "Look at `ouroboros rules`.")
        }
        other => panic!("{other} was not expected"),
    })
}

#[test]
fn requests_and_rules_are_listed_answered_and_taken_back() {
    let home = Home::new();
    let server = server(&home);
    let mut text = String::new();
    for line in [
        "requests",
        "requests --all",
        "answer 7",
        "answer 7/4",
        "answer 7 --option 1",
        "answer 7/4 --always --everywhere",
        "answer 7/4 --once --always",
        "answer 7/4 yes --deny",
        "rules",
        "rules remove 1 9",
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        text.push_str(&format!("$ ouroboros {line}\n{}\n", home.run(&arguments).shown()));
    }
    insta::assert_snapshot!("requests", text);
    let sent: Vec<Value> = server
        .requests()
        .into_iter()
        .filter(|request| request.line().starts_with("POST"))
        .map(|request| request.body)
        .collect();
    assert_eq!(sent, [json!({ "option": 1 }), json!({ "decision": "always", "scope": "installation" })]);
}

#[test]
fn words_and_reasons_are_sent_as_they_are() {
    let home = Home::new();
    let server = server(&home);
    for (arguments, body) in [
        (vec!["answer", "7", "the", "left one"], json!({ "text": "the left one" })),
        (vec!["answer", "7", "--deny"], json!({ "decision": "deny" })),
        (vec!["answer", "7", "--deny", "not there"], json!({ "decision": "deny", "reason": "not there" })),
        (vec!["answer", "7", "--task"], json!({ "decision": "task" })),
    ] {
        assert_eq!(home.run(&arguments).code, Some(0), "{arguments:?}");
        let sent = server.requests().into_iter().rfind(|request| request.line().starts_with("POST")).unwrap();
        assert_eq!(sent.body, body, "{arguments:?}");
    }
}

#[test]
fn who_follows_without_a_terminal_leaves_with_five_and_is_told_how_to_answer() {
    let home = Home::new();
    let mut task = sample::running();
    (task["kind"], task["request"]) = (json!("agent"), open());
    let _server = Server::start(&home, move |request| match request.line().as_str() {
        "GET /api/models" => Reply::json(200, &sample::models()),
        "POST /api/tasks" => Reply::json(201, &sample::accepted()),
        "GET /api/state" => Reply::json(200, &sample::state(None)),
        line if line == format!("GET /api/tasks/{TASK}") => Reply::json(200, &task),
        line if line == format!("GET /api/tasks/{TASK}/events") => Reply::events(&[
            started(2, 1),
            sample::event(
                3,
                &json!({ "type": "request_opened", "request": 3, "kind": "question", "expires_at": null }),
            ),
            "event: caught_up\ndata: {}\n\n".to_owned(),
        ]),
        other => panic!("{other} was not expected"),
    });
    insta::assert_snapshot!("run_asks", home.run(&["run", "paint the door"]).shown());
    let json = home.run(&["run", "--json", "paint the door"]);
    let lines: Vec<Value> = json.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let asks = lines.iter().find(|line| line["type"] == "request").unwrap();
    assert_eq!((&asks["request"], &asks["asks"]["type"]), (&json!(3), &json!("question")), "{lines:#?}");
    let last = lines.last().unwrap();
    assert_eq!(
        (json.code, &last["type"], &last["state"], &last["exit_code"]),
        (Some(5), &json!("end"), &json!("asks"), &json!(5))
    );
}
