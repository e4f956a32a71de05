//! Requests: what is left out has its default, what is unknown is refused.

use ouroboros_proto::api::{CommandRequest, CommandSpec, PtySpec, SubmitMany, SubmitOne};
use ouroboros_proto::kind::{Isolation, Priority};
use serde_json::{Value, from_value, json, to_value};

fn full() -> Value {
    json!({
        "command": {
            "argv": ["sh", "-c", "echo é"],
            "cwd": "/tmp",
            "env": { "A": "1", "B": "" },
            "clean_env": true,
            "umask": 0o77,
            "stdin": "in\n",
            "stdin_base64": "AA==",
            "pty": { "columns": 80, "rows": 24 },
        },
        "name": "n",
        "key": "k",
        "priority": "urgent",
        "delay_ms": u64::MAX,
        "after": ["1", "last"],
        "hold": true,
        "rerun": true,
        "retries": 3,
        "timeout_ms": 0,
        "isolation": "host",
    })
}

fn commands() -> Vec<(Value, CommandRequest)> {
    vec![
        (json!({ "command": "stop", "drain": true }), CommandRequest::Stop { drain: true }),
        (json!({ "command": "restart", "drain": false }), CommandRequest::Restart { drain: false }),
        (json!({ "command": "panic" }), CommandRequest::Panic),
        (json!({ "command": "hold_queue" }), CommandRequest::HoldQueue),
        (json!({ "command": "release_queue", "all": true }), CommandRequest::ReleaseQueue { all: true }),
        (json!({ "command": "set_slots", "slots": 3 }), CommandRequest::SetSlots { slots: 3 }),
        (json!({ "command": "reload" }), CommandRequest::Reload),
        (json!({ "command": "collect_garbage" }), CommandRequest::CollectGarbage),
        (
            json!({ "command": "backup", "path": "/b", "output": true }),
            CommandRequest::Backup { path: "/b".to_owned(), output: true },
        ),
        (json!({ "command": "login_code" }), CommandRequest::LoginCode),
    ]
}

#[test]
fn a_task_with_every_field_reads_back_as_written() {
    let task: SubmitOne = from_value(full()).unwrap();
    assert_eq!((task.priority, task.isolation), (Priority::Urgent, Some(Isolation::Host)));
    assert_eq!(task.command.pty, Some(PtySpec { columns: 80, rows: 24 }));
    assert_eq!(to_value(&task).unwrap(), full());
}

#[test]
fn a_task_needs_only_its_arguments() {
    let task: SubmitOne = from_value(json!({ "command": { "argv": ["true"] } })).unwrap();
    let command = CommandSpec { argv: vec!["true".to_owned()], ..CommandSpec::default() };
    assert_eq!(task, SubmitOne { command, ..SubmitOne::default() });
    assert_eq!(to_value(&task).unwrap(), json!({ "command": { "argv": ["true"] } }));
}

/// Names a field that does not exist at every object of the request in turn.
#[test]
fn unknown_fields_are_refused_at_every_depth() {
    for path in ["", "/command", "/command/pty"] {
        let mut request = full();
        request.pointer_mut(path).unwrap()["comand"] = json!(1);
        let error = from_value::<SubmitOne>(request.clone()).unwrap_err().to_string();
        assert!(error.contains("comand"), "{path}: {error}");
        assert!(from_value::<SubmitMany>(json!({ "tasks": [request] })).is_err(), "{path}");
    }
    assert!(from_value::<SubmitMany>(json!({ "tasks": [], "more": 1 })).is_err());
    for (mut request, _) in commands() {
        request["comand"] = json!(1);
        assert!(from_value::<CommandRequest>(request.clone()).is_err(), "{request}");
    }
}

#[test]
fn every_missing_or_mistyped_field_is_refused() {
    for (pointer, wrong) in [
        ("/command", json!(["true"])),
        ("/command/argv", json!("true")),
        ("/command/argv/0", json!(1)),
        ("/command/env/A", json!(1)),
        ("/command/umask", json!(-1)),
        ("/command/clean_env", json!("yes")),
        ("/command/pty/rows", json!(65_536)),
        ("/priority", json!("Urgent")),
        ("/priority", Value::Null),
        ("/delay_ms", json!(1.5)),
        ("/after", json!("last")),
        ("/retries", json!(-1)),
        ("/timeout_ms", json!("1m")),
        ("/isolation", json!("none")),
    ] {
        let mut request = full();
        *request.pointer_mut(pointer).unwrap() = wrong.clone();
        assert!(from_value::<SubmitOne>(request).is_err(), "{pointer} = {wrong}");
    }
    for request in [json!({ "command": {} }), json!({ "ask": {} }), json!(null)] {
        assert!(from_value::<SubmitOne>(request.clone()).is_err(), "{request}");
    }
}

#[test]
fn a_field_given_twice_is_refused() {
    let twice = r#"{"command":{"argv":["true"]},"hold":false,"hold":true}"#;
    assert!(serde_json::from_str::<SubmitOne>(twice).is_err());
}

#[test]
fn every_command_reads_back_as_written() {
    for (json, command) in commands() {
        assert_eq!(from_value::<CommandRequest>(json.clone()).unwrap(), command);
        assert_eq!(to_value(&command).unwrap(), json);
    }
    assert_eq!(
        from_value::<CommandRequest>(json!({ "command": "stop" })).unwrap(),
        CommandRequest::Stop { drain: false }
    );
    for wrong in [json!({}), json!({ "command": "Stop" }), json!({ "command": "set_slots" }), json!("stop")] {
        assert!(from_value::<CommandRequest>(wrong.clone()).is_err(), "{wrong}");
    }
}
