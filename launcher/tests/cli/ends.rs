//! Every way in which a task in words can end or be left, with its exit code, and what is written of it.

use super::program::Home;
use super::sample::{self, TASK, output, started};
use super::server::{Reply, Server};
use serde_json::{Value, json};
use std::fs;

/// A server whose task in words is this one, and whose stream ends with these messages.
fn server(home: &Home, task: Value, tail: Vec<String>) -> Server {
    let stream = [vec![started(2, 1), output(1, "stdout", 0, b"Done.")], tail].concat();
    Server::start(home, move |request| match request.line().as_str() {
        "GET /api/models" => Reply::json(200, &sample::models()),
        "GET /api/state" => Reply::json(200, &sample::state(None)),
        "POST /api/tasks" => Reply::json(201, &sample::accepted()),
        line if line.ends_with("/events") => Reply::events(&stream),
        line if line.ends_with("/logs/stdout") => Reply::bytes(b"Done.", ""),
        line if line.starts_with("GET /api/tasks/") => Reply::json(200, &task),
        other => panic!("{other} was not expected"),
    })
}

fn agent(mut task: Value) -> Value {
    task["kind"] = json!("agent");
    task["cost"] = sample::cost(1_000_000, 0, 0, 1);
    task
}

fn over(exit: u8) -> Value {
    let failed = json!({ "failed": { "ended": { "model_failed": { "failure": "refused" } } } });
    match exit {
        0 => agent(sample::completed()),
        130 => agent(sample::task("cancelled", &json!({ "cancelled": "requested" }), Some(130))),
        exit => agent(sample::task("failed", &failed, Some(exit))),
    }
}

fn waiting(exit: u8) -> (Value, Vec<String>) {
    let caught_up = "event: caught_up\ndata: {}\n\n".to_owned();
    let mut task = agent(sample::running());
    if exit == 4 {
        task = agent(sample::task("paused", &Value::Null, None));
        task["pause"] = json!({ "id": TASK, "limit": "task", "phase": "paused", "since": sample::ago(9) });
        let paused = sample::event(3, &json!({ "type": "paused", "limit": "task" }));
        let ended = json!({ "type": "attempt_ended", "attempt": sample::ATTEMPT, "why": "parked", "not_before": null });
        return (task, vec![paused, sample::event(4, &ended), caught_up]);
    }
    task["request"] = json!({ "task": TASK, "number": 7, "request": 3, "attempt": sample::ATTEMPT, "state": "open",
        "asks": { "type": "question", "text": "Which?", "options": [] },
        "asked_at": sample::ago(9), "expires_at": null, "closed_at": null, "answer": null });
    let opened = json!({ "type": "request_opened", "request": 3, "kind": "question", "expires_at": null });
    (task, vec![sample::event(3, &opened), caught_up])
}

#[test]
fn run_and_attach_give_the_same_exit_codes_and_only_what_delivers_is_written() {
    for exit in [0, 1, 3, 4, 5, 124, 130] {
        let home = Home::new();
        let (task, tail) = match exit {
            4 | 5 => waiting(exit),
            exit => (over(exit), vec![sample::settled(5), sample::END.to_owned()]),
        };
        let _server = server(&home, task, tail);
        fs::write(home.file("out"), "before").unwrap();
        let ran = home.run(&["run", "-o", "out", "paint the door"]);
        assert_eq!(ran.code, Some(i32::from(exit)), "{}", ran.shown());
        let written = fs::read_to_string(home.file("out")).unwrap();
        assert_eq!(written, if exit == 0 { "Done." } else { "before" }, "{exit}");
        let attached = home.run(&["attach", "7"]);
        assert_eq!(attached.code, Some(i32::from(exit)), "{}", attached.shown());
    }
}

#[test]
fn where_nothing_can_be_written_nothing_is_submitted() {
    let home = Home::new();
    let server = server(&home, over(0), vec![sample::settled(5), sample::END.to_owned()]);
    let ran = home.run(&["run", "-o", "no/where", "paint the door"]);
    assert_eq!(ran.code, Some(125), "{}", ran.shown());
    assert!(ran.err().contains("nothing was submitted"), "{}", ran.shown());
    assert!(server.lines().is_empty());
    for wrong in [&["run", "-d", "-o", "out", "paint the door"][..], &["run", "-o", "out", "--", "true"]] {
        assert_eq!(home.run(wrong).code, Some(2), "{wrong:?}");
    }
    assert_eq!(home.run(&["run", "-d", "--max-time", "1m", "paint the door"]).code, Some(0));
    let sent = server.requests().into_iter().find(|request| request.line() == "POST /api/tasks").unwrap();
    assert_eq!(sent.body["timeout_ms"], 60_000);
}
