//! Submitting, listing, showing and acting.

use super::fake::content;
use super::harness::{Harness, exchange, request};
use ouroboros_domain::{Input, Refusal, Reply, Spec, TaskCommand};
use ouroboros_proto::api::{ApiError, Code, StoredSpec};
use ouroboros_proto::kind::{Isolation, Millis, Priority, TaskNumber};
use serde_json::json;
use std::collections::BTreeMap;

fn spec(harness: &Harness, index: usize) -> StoredSpec {
    let store = harness.world.store();
    let Spec::New(bytes) = &store.submitted[index].spec else { panic!("a new task has a new specification") };
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn a_task_is_built_as_it_was_asked_for() {
    let harness = Harness::new();
    harness.submit();
    let body = json!({
        "command": { "argv": ["sh", "-c", "echo \u{1F980}"], "cwd": "/tmp", "env": { "A": "1" }, "umask": 18,
                     "stdin_base64": "AAH/", "pty": { "columns": 80, "rows": 24 } },
        "name": "build", "key": "k1", "priority": "high", "delay_ms": 5, "after": ["1", "last"], "hold": true, "rerun": true,
        "retries": 3, "timeout_ms": 9, "isolation": "host",
    });
    let answer = harness.post("/api/tasks", body.to_string());
    assert_eq!(
        (answer.status, answer.json()["number"].as_u64(), answer.json()["duplicate"].as_bool()),
        (201, Some(2), Some(false))
    );

    let spec = spec(&harness, 1);
    assert_eq!(
        (spec.argv.len(), spec.cwd.as_str(), spec.umask, spec.name.as_deref()),
        (3, "/tmp", Some(18), Some("build"))
    );
    let first = harness.world.id(1);
    let store = harness.world.store();
    let task = &store.submitted[1];
    let env: BTreeMap<String, String> = serde_json::from_slice(content(&task.contents, &spec.env)).unwrap();
    assert_eq!(env, BTreeMap::from([("A".into(), "1".into()), ("PATH".into(), "/bin".into())]));
    assert_eq!(content(&task.contents, &spec.stdin.unwrap()), [0, 1, 255]);
    assert_eq!(
        (task.priority, task.delay, task.hold, task.after.as_slice()),
        (Priority::High, Some(Millis::new(5)), true, &[first][..])
    );
    assert_eq!((task.policy.rerun, task.policy.retries, task.policy.timeout), (true, 3, Some(Millis::new(9))));
    assert_eq!((task.policy.isolation, task.key.is_some()), (Isolation::Host, true));
}

#[test]
fn what_is_left_out_has_a_default() {
    let harness = Harness::new();
    harness.post("/api/tasks", r#"{"command":{"argv":["true"]}}"#);
    harness.post("/api/tasks", r#"{"command":{"argv":["true"],"clean_env":true},"timeout_ms":0}"#);
    let (first, second) = (spec(&harness, 0), spec(&harness, 1));
    assert_eq!((first.cwd.as_str(), first.stdin), ("/", None));
    let store = harness.world.store();
    assert_eq!(store.submitted[0].policy.timeout, Some(Millis::seconds(60)), "the configured bound");
    assert_eq!(store.submitted[1].policy.timeout, None, "none was asked for");
    assert_eq!(content(&store.submitted[1].contents, &second.env), b"{}");
}

#[test]
fn a_key_names_the_request_and_not_its_spelling() {
    let harness = Harness::new();
    let bodies = [
        r#"{"command":{"argv":["true"],"cwd":"/"},"key":"k"}"#,
        "{ \"key\" : \"k\", \"hold\":false, \"command\":{\"cwd\":\"/\", \"argv\":[\"true\"]} }",
        r#"{"command":{"argv":["false"],"cwd":"/"},"key":"k"}"#,
        r#"{"command":{"argv":["true"],"cwd":"/"},"key":"other"}"#,
    ];
    for body in bodies {
        assert_eq!(harness.post("/api/tasks", body).status, 201);
    }
    let by_header = [("Content-Type", "application/json"), ("Idempotency-Key", "k")];
    let plain = br#"{"command":{"argv":["true"],"cwd":"/"}}"#;
    assert_eq!(exchange(harness.unix(), &request("POST", "/api/tasks", &by_header, Some(plain))).status, 201);
    {
        let store = harness.world.store();
        let keys: Vec<_> = store.submitted.iter().map(|task| task.key.unwrap()).collect();
        assert_eq!(keys[0], keys[1]);
        assert_eq!(keys[0], keys[4]);
        assert!(keys[0].0 == keys[2].0 && keys[0].1 != keys[2].1);
        assert!(keys[0].0 != keys[3].0 && keys[0].1 == keys[3].1);
    }
    let refused: &[&[u8]] =
        &[br#"{"command":{"argv":["true"]},"key":"z"}"#, br#"{"tasks":[{"command":{"argv":["true"]}}]}"#];
    for body in refused {
        let answer = exchange(harness.unix(), &request("POST", "/api/tasks", &by_header, Some(body)));
        assert_eq!(answer.code(), "bad_field", "{}", answer.text());
    }
    harness.world.script(|_| Some(Ok(Reply::Refused(Refusal::KeyConflict { task: TaskNumber::new(1) }))));
    let answer = harness.post("/api/tasks", bodies[2]);
    assert_eq!((answer.status, answer.code().as_str()), (409, "key_conflict"));
    harness.world.script(|input| match input {
        Input::Submit { tasks, .. } => Some(Ok(Reply::Accepted(vec![(tasks[0].id, TaskNumber::new(1), true)]))),
        _ => None,
    });
    assert_eq!(harness.post("/api/tasks", bodies[0]).status, 200, "nothing new was made");
}

#[test]
fn bad_submissions_are_refused_with_a_reason() {
    let harness = Harness::new();
    let file = harness.directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let file = file.display().to_string();
    let cases: &[(&str, &str)] = &[
        ("", "bad_json"),
        ("{", "bad_json"),
        ("[]", "empty_argv"),
        ("{}", "empty_argv"),
        (r#"{"ask":{}}"#, "bad_field"),
        (r#"{"ask":{"prompt":" "}}"#, "empty_prompt"),
        (r#"{"ask":{"prompt":"why"},"command":{"argv":["true"]}}"#, "empty_prompt"),
        (r#"{"ask":{"prompt":"why","route":"nobody/none"}}"#, "no_model_route"),
        (r#"{"ask":{"prompt":"why"},"max_cost":"much"}"#, "bad_field"),
        (r#"{"ask":{"prompt":"why"},"max_cost":"99999999999"}"#, "bad_field"),
        ("null", "bad_field"),
        (r#"{"command":{"argv":["true"]}} {}"#, "bad_json"),
        (r#"{"command":{"argv":["true"]},"colour":"red"}"#, "bad_field"),
        (r#"{"command":{"argv":["true"],"shell":true}}"#, "bad_field"),
        (r#"{"command":{"argv":["true"]},"tasks":[]}"#, "bad_field"),
        (r#"{"tasks":[],"name":"x"}"#, "bad_field"),
        (r#"{"tasks":[]}"#, "bad_field"),
        (r#"{"command":{"argv":"true"}}"#, "bad_field"),
        (r#"{"command":{"argv":["true"]},"priority":"now"}"#, "bad_field"),
        (r#"{"command":{"argv":["true"]},"isolation":"vm"}"#, "bad_field"),
        (r#"{"command":{"argv":["true"]},"delay_ms":-1}"#, "bad_field"),
        (r#"{"command":{"argv":["true"]},"name":"a\nb"}"#, "bad_field"),
        (r#"{"command":{"argv":["true"]},"key":""}"#, "key_too_long"),
        (r#"{"command":{}}"#, "bad_field"),
        (r#"{"command":{"argv":[]}}"#, "empty_argv"),
        (r#"{"command":{"argv":[""]}}"#, "empty_argv"),
        (r#"{"command":{"argv":["a\u0000b"]}}"#, "bad_field"),
        (r#"{"command":{"argv":["true"],"umask":512}}"#, "bad_field"),
        (r#"{"command":{"argv":["true"],"pty":{"columns":0,"rows":1}}}"#, "bad_field"),
        (r#"{"command":{"argv":["true"],"stdin":"a","stdin_base64":"YQ=="}}"#, "bad_field"),
        (r#"{"command":{"argv":["true"],"stdin_base64":"!"}}"#, "bad_field"),
        (r#"{"command":{"argv":["true"],"env":{"":"1"}}}"#, "bad_env"),
        (r#"{"command":{"argv":["true"],"env":{"A=B":"1"}}}"#, "bad_env"),
        (r#"{"command":{"argv":["true"],"env":{"A":"1\u0000"}}}"#, "bad_env"),
        (r#"{"command":{"argv":["true"],"cwd":"relative"}}"#, "bad_directory"),
        (r#"{"command":{"argv":["true"],"cwd":""}}"#, "bad_directory"),
        (r#"{"command":{"argv":["true"],"cwd":"/does/not/exist"}}"#, "bad_directory"),
        (r#"{"command":{"argv":["true"]},"after":["99"]}"#, "unknown_dependency"),
        (r#"{"command":{"argv":["true"]},"after":["x"]}"#, "unknown_dependency"),
    ];
    for (body, code) in cases {
        let answer = harness.post("/api/tasks", body);
        assert_eq!(answer.code(), *code, "{body}: {}", answer.text());
    }
    let answer = harness.post("/api/tasks", json!({ "command": { "argv": ["true"], "cwd": file } }).to_string());
    assert_eq!(answer.code(), "bad_directory");
    assert_eq!(harness.post("/api/tasks", b"{\"command\":{\"argv\":[\"\xff\"]}}").code(), "bad_json");
    let second = r#"{"tasks":[{"command":{"argv":["true"],"cwd":"/"}},{"command":{"argv":[]}}]}"#;
    let answer = harness.post("/api/tasks", second);
    assert_eq!((answer.code().as_str(), answer.json()["detail"]["task"].as_u64()), ("empty_argv", Some(1)));
    assert!(harness.world.store().submitted.is_empty(), "nothing was accepted");
}

#[test]
fn bodies_must_be_json_and_refusals_of_the_server_reach_the_caller() {
    let harness = Harness::new();
    for media in [&[("Content-Type", "text/plain")][..], &[]] {
        let answer = exchange(harness.unix(), &request("POST", "/api/tasks", media, Some(b"{}")));
        assert_eq!((answer.status, answer.code().as_str()), (415, "bad_media_type"));
    }
    let media = [("Content-Type", "Application/JSON; charset=utf-8")];
    let body = br#"{"command":{"argv":["true"],"cwd":"/"}}"#;
    assert_eq!(exchange(harness.unix(), &request("POST", "/api/tasks", &media, Some(body))).status, 201);
    harness.world.store().admission = Some(ApiError::new(Code::DiskFull, "The disk is too full."));
    let answer = harness.post("/api/tasks", body);
    assert_eq!((answer.status, answer.code().as_str()), (507, "disk_full"));
}

#[test]
fn large_bodies_go_to_the_content_store_first() {
    let harness = Harness::new();
    let body = json!({ "command": { "argv": ["cat"], "cwd": "/", "stdin": "a".repeat(20_000) } });
    assert_eq!(harness.post("/api/tasks", json!({ "tasks": [body, body] }).to_string()).status, 201);
    let store = harness.world.store();
    assert_eq!(store.contents.len(), 1, "the same bytes are written once");
    let stdin = &store.submitted[1].contents[1];
    assert!(stdin.in_file && stdin.bytes.is_empty() && stdin.hash == store.contents[0]);
}

#[test]
fn lists_page_and_filter() {
    let harness = Harness::new();
    for index in 0..5 {
        let body =
            json!({ "command": { "argv": ["true"], "cwd": "/" }, "name": format!("Job {index}"), "hold": index == 2 });
        harness.post("/api/tasks", body.to_string());
    }
    harness.world.start(harness.world.id(4));
    let numbers = |path: &str| {
        let page = harness.get(path).json();
        let numbers: Vec<u64> =
            page["tasks"].as_array().unwrap().iter().map(|task| task["number"].as_u64().unwrap()).collect();
        (numbers, page["next"].as_str().map(str::to_owned))
    };
    assert_eq!(numbers("/api/tasks?limit=2"), (vec![5, 4], Some("4".to_owned())));
    assert_eq!(numbers("/api/tasks?limit=2&cursor=4"), (vec![3, 2], Some("2".to_owned())));
    assert_eq!(numbers("/api/tasks?limit=2&cursor=2"), (vec![1], None));
    assert_eq!(numbers("/api/tasks?limit=5"), (vec![5, 4, 3, 2, 1], None));
    assert_eq!(numbers("/api/tasks?status=running,held").0, [4, 3]);
    assert_eq!(numbers("/api/tasks?status=completed").0, [0; 0]);
    assert_eq!(numbers("/api/tasks?name=job%201").0, [2]);
    for bad in ["limit=0", "limit=x", "status=odd", "cursor=x", "sort=name"] {
        assert_eq!(harness.get(&format!("/api/tasks?{bad}")).code(), "bad_field", "{bad}");
    }
}

#[test]
fn a_task_is_shown_by_any_of_its_names_without_its_secrets() {
    let harness = Harness::new();
    let body =
        json!({ "command": { "argv": ["echo", "hi"], "cwd": "/", "env": { "SECRET": "s3cr3t" }, "stdin": "private" } });
    let id = harness.post("/api/tasks", body.to_string()).json()["id"].as_str().unwrap().to_owned();
    let task = harness.world.id(1);
    let attempt = harness.world.start(task);
    harness.world.finish(task, attempt, 3);
    for name in ["1", "last", id.as_str()] {
        let answer = harness.get(&format!("/api/tasks/{name}"));
        let view = answer.json();
        assert_eq!(
            (view["name"].as_str(), view["status"].as_str(), view["exit_code"].as_u64()),
            (Some("echo hi"), Some("failed"), Some(3))
        );
        assert_eq!(view["reason"], "Exited with code 3.");
        assert_eq!(
            (view["command"]["argv"][1].as_str(), view["attempt_list"][0]["ordinal"].as_u64()),
            (Some("hi"), Some(1))
        );
        assert!(!answer.text().contains("s3cr3t") && !answer.text().contains("private"));
    }
    for name in ["2", "0", "first", "%31", "99999999999999999999999"] {
        let answer = harness.get(&format!("/api/tasks/{name}"));
        assert_eq!((answer.status, answer.code().as_str()), (404, "unknown_task"), "{name}");
    }
}

#[test]
fn acts_reach_the_supervisor_and_refusals_come_back() {
    let harness = Harness::new();
    harness.submit();
    let (sender, commands) = std::sync::mpsc::sync_channel(16);
    harness.world.script(move |input| {
        if let Input::Task { command, .. } = input {
            sender.send(*command).unwrap();
            return Some(Ok(if *command == TaskCommand::Remove {
                Reply::Refused(Refusal::NotSettled)
            } else {
                Reply::Done
            }));
        }
        None
    });
    assert_eq!(harness.post("/api/tasks/1/hold", "").json()["number"], 1);
    assert_eq!(harness.post("/api/tasks/1/release", "").status, 200);
    assert_eq!(harness.post("/api/tasks/1/cancel", "").status, 200);
    assert_eq!(harness.post("/api/tasks/last/cancel", r#"{"grace_ms":0}"#).status, 200);
    assert_eq!(harness.post("/api/tasks/1/priority", r#"{"priority":"urgent"}"#).status, 200);
    let removed = exchange(harness.unix(), &request("DELETE", "/api/tasks/1", &[], None));
    assert_eq!((removed.status, removed.code().as_str()), (409, "not_settled"));
    let expected = [
        TaskCommand::Hold,
        TaskCommand::Release,
        TaskCommand::Cancel { grace: None },
        TaskCommand::Cancel { grace: Some(Millis::ZERO) },
        TaskCommand::Reprioritise(Priority::Urgent),
        TaskCommand::Remove,
    ];
    assert_eq!(commands.try_iter().collect::<Vec<_>>(), expected);
    for (path, body) in
        [("hold", "{}"), ("priority", ""), ("priority", r#"{"priority":"x"}"#), ("cancel", r#"{"grace":1}"#)]
    {
        assert_eq!(harness.post(&format!("/api/tasks/1/{path}"), body).status / 100, 4, "{path} {body}");
    }
    assert_eq!(commands.try_iter().count(), 0);
    assert_eq!(harness.post("/api/tasks/9/hold", "").code(), "unknown_task");
}

#[test]
fn a_settled_task_is_tried_again_as_a_new_one() {
    let harness = Harness::new();
    harness.submit();
    let answer = harness.post("/api/tasks/1/retry", "");
    assert_eq!((answer.status, answer.json()["number"].as_u64()), (201, Some(2)));
    assert_eq!(harness.get("/api/tasks/2").json()["retry_of"], harness.get("/api/tasks/1").json()["id"]);
}

#[test]
fn commands_do_what_they_say() {
    let harness = Harness::new();
    let command = |body: &str| harness.post("/api/command", body);
    assert_eq!(command(r#"{"command":"stop","drain":true}"#).json()["tasks"], json!([1]));
    assert_eq!(command(r#"{"command":"restart"}"#).status, 200);
    assert_eq!(command(r#"{"command":"hold_queue"}"#).status, 200);
    assert_eq!(command(r#"{"command":"release_queue","all":true}"#).status, 200);
    assert_eq!(command(r#"{"command":"set_slots","slots":4}"#).status, 200);
    assert_eq!(command(r#"{"command":"reload"}"#).json()["needs_restart"], json!(["server.listen"]));
    assert_eq!(command(r#"{"command":"collect_garbage"}"#).json()["freed_bytes"], 7);
    assert_eq!(command(r#"{"command":"backup","path":"/tmp/does/not/exist"}"#).status, 200);
    let whole = command(r#"{"command":"backup","path":"/tmp/does/not/exist","output":true}"#).json();
    let message = whole["message"].as_str().unwrap();
    assert!(message.contains("12 bytes of output are in /tmp/does/not/exist.output"), "{message}");
    assert!(message.contains("1 large bodies are not in it"), "{message}");
    assert_eq!(command(r#"{"command":"backup","path":"copy.db"}"#).code(), "bad_field");
    assert_eq!(command(r#"{"command":"explode"}"#).code(), "bad_field");
    assert_eq!(command(r#"{"command":"panic","now":true}"#).code(), "bad_field");
    assert_eq!(command(r#"{"command":"panic"}"#).status, 200);
    assert_eq!(harness.world.panics.load(std::sync::atomic::Ordering::SeqCst), 1);
}

#[test]
fn the_system_shows_itself_and_unknown_is_not_zero() {
    let harness = Harness::new();
    assert_eq!(harness.get("/api/health").json()["ready"], true);
    let state = harness.get("/api/state").json();
    assert_eq!(
        (state["generation"].as_u64(), state["disk"]["output"].is_null(), state["api"].as_u64()),
        (Some(3), true, Some(1))
    );
    assert_eq!(state["url"], format!("http://{}", harness.tcp));
    assert_eq!(harness.get("/api/processes").json().as_array().map(Vec::len), Some(5));
    assert_eq!(harness.get("/api/config").json()["queue.slots"]["value"], "2");
    let metrics = harness.get("/metrics").text();
    assert!(metrics.contains("ouroboros_tasks{status=\"settled\"} 5\n"), "{metrics}");
    assert!(!metrics.contains("what=\"output\""), "{metrics}");
    harness.world.set_status(|status| status.ready = false);
    assert_eq!(harness.get("/api/health").json()["ready"], false);
}
