//! Tasks in words: gone on from, spoken to, stopped, looked at and taken back.

use super::fake::models::PLANTED;
use super::harness::{Harness, exchange, request};
use ouroboros_domain::{Inherit, Input, Spec, TaskCommand};
use ouroboros_proto::agent::Effort;
use ouroboros_proto::api::StoredSpec;
use ouroboros_proto::kind::{Outcome, TaskId};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// A server with a task in words that asked, was answered with calls, and was answered without.
fn begun() -> (Harness, TaskId) {
    let harness = Harness::new();
    let agent =
        json!({ "prompt": "do it", "folder": "/tmp", "route": "openai/gpt-5.1", "effort": "high", "mode": "light" });
    let answer = harness.post("/api/tasks", json!({ "agent": agent, "isolation": "host" }).to_string());
    assert_eq!(answer.status, 201, "{}", answer.text());
    let task = harness.world.id(1);
    let kinds = ["asked", "notice", "answered", "results", "notice", "answered", "delivered"];
    let entries = kinds.iter().map(|kind| format!("{{\"type\":\"{kind}\"}}")).collect();
    harness.world.store().transcripts.insert(task, entries);
    (harness, task)
}

fn continued(harness: &Harness, agent: Value) -> (u16, Value) {
    let answer = harness.post("/api/tasks", json!({ "agent": agent }).to_string());
    (answer.status, answer.json())
}

fn submitted(harness: &Harness) -> (Option<Inherit>, StoredSpec, Value) {
    let store = harness.world.store();
    let task = store.submitted.last().unwrap();
    let Spec::New(bytes) = &task.spec else { panic!("a new task has a new specification") };
    let spec: StoredSpec = serde_json::from_slice(bytes).unwrap();
    let job = super::fake::content(&task.contents, &spec.agent.as_ref().unwrap().request);
    (task.inherit, spec, serde_json::from_slice(job).unwrap())
}

#[test]
fn what_is_not_said_is_taken_from_the_task_that_is_continued() {
    let (harness, task) = begun();
    harness.world.settle(task, Outcome::Completed);
    let (status, body) = continued(&harness, json!({ "prompt": "more", "from": { "task": "last" } }));
    assert_eq!(status, 201, "{body}");
    let (inherit, spec, job) = submitted(&harness);
    assert_eq!(inherit, Some(Inherit { task, entries: Some(7) }));
    assert_eq!((spec.cwd.as_str(), spec.agent.unwrap().route.as_deref()), ("/tmp", Some("openai/gpt-5.1")));
    assert_eq!(
        (&job["effort"], &job["prompt"], &job["route"], &job["mode"]),
        (&"high".into(), &"more".into(), &"openai/gpt-5.1".into(), &"light".into())
    );
    assert_eq!(
        harness.world.store().submitted.last().unwrap().policy.isolation,
        ouroboros_proto::kind::Isolation::Host
    );
    let shown = harness.get("/api/tasks/2").json();
    assert_eq!(shown["from"], json!({ "task": task, "number": 1, "round": 2, "fork": false }), "{shown}");
    let own = json!({ "prompt": "more", "folder": "/", "effort": Effort::Low, "from": { "task": "1" } });
    assert_eq!(continued(&harness, own).0, 201);
    let (_, spec, job) = submitted(&harness);
    assert_eq!((spec.cwd.as_str(), &job["effort"]), ("/", &"low".into()));
}

#[test]
fn a_cut_is_behind_the_results_of_its_round() {
    let (harness, task) = begun();
    let fork = |round: u32| continued(&harness, json!({ "prompt": "more", "from": { "task": "1", "round": round } }));
    assert_eq!(fork(1).0, 201);
    assert_eq!(submitted(&harness).0, Some(Inherit { task, entries: Some(4) }), "its results are in it");
    assert_eq!(fork(2).0, 201);
    assert_eq!(submitted(&harness).0, Some(Inherit { task, entries: Some(6) }), "what was delivered is not");
    for (round, status, code) in [(3, 409, "unknown_round"), (0, 400, "bad_field")] {
        let (found, body) = fork(round);
        assert_eq!((found, &body["code"]), (status, &code.into()), "{body}");
    }
    let (status, _) = continued(&harness, json!({ "prompt": "more", "from": { "task": "1" } }));
    assert_eq!(status, 201, "whether it has settled is the core's to say");
    assert_eq!(submitted(&harness).0, Some(Inherit { task, entries: None }));
}

#[test]
fn only_tasks_in_words_are_continued_spoken_to_and_looked_at() {
    let harness = Harness::new();
    harness.submit();
    for (status, code, answer) in [
        (409, "not_in_words", continued(&harness, json!({ "prompt": "more", "from": { "task": "1" } }))),
        (404, "unknown_task", continued(&harness, json!({ "prompt": "more", "from": { "task": "9" } }))),
        (400, "bad_directory", continued(&harness, json!({ "prompt": "more" }))),
    ] {
        assert_eq!((answer.0, &answer.1["code"]), (status, &code.into()), "{}", answer.1);
    }
    for answer in [harness.get("/api/tasks/1/changes"), harness.post("/api/tasks/1/undo", "")] {
        assert_eq!((answer.status, answer.code().as_str()), (409, "not_in_words"));
    }
    assert_eq!(harness.post("/api/tasks/9/messages", r#"{"text":"x"}"#).status, 404);
    assert_eq!(harness.post("/api/tasks/1/messages", r#"{"text":" "}"#).code(), "empty_prompt");
}

#[test]
fn what_is_said_reaches_the_core_with_its_key_and_is_shown() {
    let (harness, task) = begun();
    let keys: Arc<Mutex<Vec<_>>> = Arc::default();
    let seen = Arc::clone(&keys);
    harness.world.script(move |input| {
        if let Input::Message { message, .. } = input {
            seen.lock().unwrap().push(message.key);
        }
        None
    });
    let answer = harness.post("/api/tasks/last/messages", json!({ "text": PLANTED }).to_string());
    assert_eq!((answer.status, answer.json()), (201, json!({ "number": 1, "duplicate": false })));
    let headers = [("Content-Type", "application/json"), ("Idempotency-Key", "k")];
    for text in ["a", "b"] {
        let body = json!({ "text": text }).to_string();
        exchange(harness.unix(), &request("POST", "/api/tasks/1/messages", &headers, Some(body.as_bytes())));
    }
    let keys = keys.lock().unwrap().clone();
    let (a, b) = (keys[1].unwrap(), keys[2].unwrap());
    assert!(keys[0].is_none() && a.0 == b.0 && a.1 != b.1, "{keys:?}");
    assert_eq!(harness.world.store().messages[&task].len(), 3);
    let shown = harness.get("/api/tasks/1").json();
    assert_eq!(shown["agent"]["messages"][1]["text"], "a", "{shown}");
    let first = &shown["agent"]["messages"][0];
    assert_eq!((&first["text"], &first["taken"]), (&"[secret]".into(), &Value::Null));
}

#[test]
fn a_turn_is_stopped_with_or_without_a_wait() {
    let (harness, _) = begun();
    let asked: Arc<Mutex<Vec<TaskCommand>>> = Arc::default();
    let seen = Arc::clone(&asked);
    harness.world.script(move |input| {
        if let Input::Task { command, .. } = input {
            seen.lock().unwrap().push(*command);
        }
        None
    });
    assert_eq!(harness.post("/api/tasks/1/interrupt", "").status, 200);
    assert_eq!(harness.post("/api/tasks/1/interrupt", r#"{"hold":true}"#).status, 200);
    assert_eq!(harness.post("/api/tasks/1/interrupt", r#"{"how":true}"#).status, 400);
    assert_eq!(harness.post("/api/tasks/1/interrupt", r#"{"call":1,"hold":true}"#).status, 400);
    let hold = |hold| TaskCommand::Interrupt { hold };
    assert_eq!(*asked.lock().unwrap(), [hold(false), hold(true)]);
}

#[test]
fn one_call_is_cancelled_while_its_turn_is_under_way() {
    let (harness, task) = begun();
    let asked: Arc<Mutex<Vec<TaskCommand>>> = Arc::default();
    let seen = Arc::clone(&asked);
    harness.world.script(move |input| {
        if let Input::Task { command, .. } = input {
            seen.lock().unwrap().push(*command);
        }
        None
    });
    let call = |id: &str| json!({ "type": "tool_call", "id": id, "name": "run_command", "arguments": "{}" });
    let turn = |ids: &[&str]| {
        let parts: Vec<Value> = ids.iter().map(|id| call(id)).collect();
        let answer = json!({
            "message": { "role": "assistant", "parts": parts }, "stop": "tool_calls", "usage": {}, "cost": null, "route": "r/m",
            "model": "m", "provider_request": null
        });
        json!({ "type": "answered", "answer": answer }).to_string()
    };
    let results = || json!({ "type": "results", "results": [] }).to_string();
    let said = |entries: Vec<String>| harness.world.store().transcripts.insert(task, entries);
    let cancel = |number: u32| harness.post("/api/tasks/1/interrupt", json!({ "call": number }).to_string());
    said(vec![turn(&["a"]), results(), turn(&["b", "c"])]);
    assert_eq!(cancel(3).status, 200, "{}", cancel(3).text());
    for (number, words) in [(1, "Call 1 is over"), (4, "Call 4 has not been made"), (0, "Call 0 has not been made")] {
        let refused = cancel(number);
        assert_eq!((refused.status, refused.code().as_str()), (409, "call_not_under_way"));
        assert!(refused.text().contains(words) && refused.text().contains("calls 2 to 3"), "{}", refused.text());
    }
    said(vec![turn(&["a"]), results()]);
    assert!(cancel(1).text().contains("No call is under way"), "{}", cancel(1).text());
    assert_eq!(asked.lock().unwrap().first(), Some(&TaskCommand::CancelCall { call: 3 }));
}

#[test]
fn what_was_changed_is_shown_and_taken_back_unless_it_runs() {
    let (harness, task) = begun();
    let changes = harness.get("/api/tasks/1/changes").json();
    assert_eq!((&changes["folder"], &changes["files"][0]["path"]), (&"/tmp".into(), &"a".into()), "{changes}");
    assert_eq!(changes["files"][0]["diff"], "-[secret]\n");
    let undo = |body: &str| harness.post("/api/tasks/1/undo", body);
    assert_eq!(undo(r#"{"files":["a"]}"#).json()["files"][0]["done"], "restored");
    harness.world.start(task);
    assert_eq!(undo("").code(), "already_running");
    assert_eq!(undo(r#"{"dry_run":true}"#).status, 200, "looking is allowed");
    harness.world.settle(task, Outcome::Completed);
    assert_eq!(undo("").status, 200);
}

#[test]
fn who_acts_in_a_folder_names_it_by_its_one_path() {
    let harness = Harness::new();
    let place = tempfile::tempdir().unwrap();
    let real = std::fs::canonicalize(place.path()).unwrap().join("project");
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, place.path().join("link")).unwrap();
    let real = real.to_str().unwrap();
    let spelling = format!("{}/link/../project/.", place.path().display());
    for (more, acts) in [
        (json!({}), true),
        (json!({ "mode": "observe" }), false),
        (json!({ "mode": "cyber_pro" }), true),
        (json!({ "parallel": true }), false),
    ] {
        let mut agent = json!({ "prompt": "go", "folder": spelling });
        agent.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (status, body) = continued(&harness, agent);
        assert_eq!(status, 201, "{body}");
        let (_, spec, _) = submitted(&harness);
        assert_eq!(spec.cwd, real);
        let workspace = harness.world.store().submitted.last().unwrap().workspace.clone();
        assert_eq!(workspace.as_deref(), acts.then_some(real), "{more}");
    }
    let (status, body) = continued(&harness, json!({ "prompt": "go", "folder": "/missing-folder" }));
    assert_eq!((status, &body["code"]), (400, &"bad_directory".into()), "{body}");
}

#[test]
fn who_waits_for_a_folder_is_shown_with_the_task_that_it_waits_for() {
    let (harness, task) = begun();
    harness.world.store().tasks.values_mut().find(|record| record.row.id == task).unwrap().behind =
        Some(ouroboros_proto::kind::TaskNumber::new(7));
    for shown in
        [harness.get("/api/tasks/1").json(), harness.get("/api/tasks?status=waiting").json()["tasks"][0].clone()]
    {
        assert_eq!((&shown["status"], &shown["waiting_workspace"]), (&"waiting".into(), &7.into()), "{shown}");
        assert_eq!(shown["reason"], "Waits for task 7, which works in the same folder.");
    }
}
