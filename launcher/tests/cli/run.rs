//! `run` and `submit`: what is sent.

use super::program::Home;
use super::sample::{self, TASK};
use super::server::{Reply, Server};
use serde_json::{Value, json};
use std::os::unix::ffi::OsStrExt;

fn server(home: &Home, held: Option<&'static str>) -> Server {
    Server::start(home, move |request| match request.line().as_str() {
        "POST /api/tasks" => match request.body.get("tasks").and_then(Value::as_array) {
            Some(tasks) => {
                let answers: Vec<Value> =
                    (1..=tasks.len()).map(|n| json!({ "id": TASK, "number": n, "duplicate": false })).collect();
                Reply::json(201, &json!({ "tasks": answers }))
            }
            None => Reply::json(201, &sample::accepted()),
        },
        "GET /api/state" => Reply::json(200, &sample::state(held)),
        other => panic!("{other} was not expected"),
    })
}

#[test]
fn everything_that_was_asked_is_sent() {
    let home = Home::new();
    let server = server(&home, None);
    let arguments = [
        "run",
        "-d",
        "-v",
        "--name",
        "n",
        "--cwd",
        "sub/./dir",
        "--env",
        "A=b=c",
        "--env",
        "MY_TOKEN",
        "--timeout",
        "1m",
        "--delay",
        "5s",
        "--after",
        "3",
        "--after",
        "last",
        "--priority",
        "high",
        "--rerun",
        "--retries",
        "2",
        "--host",
        "-t",
        "--key",
        "k",
        "--hold",
        "--",
        "echo",
        "--json",
        "-x",
    ];
    let child = home.command(&arguments).env("MY_TOKEN", "t").env("OTHER_TOKEN", "u").spawn().unwrap();
    let ran = home.finish(child);
    assert_eq!((ran.code, ran.out().as_str()), (Some(0), "7\n"), "{}", ran.shown());
    assert_eq!(ran.err(), "ouroboros: left out of the environment: OTHER_TOKEN OUROBOROS_HOME\n");
    let mut body = server.requests()[0].body.clone();
    let umask = body["command"]["umask"].take();
    assert!(umask.as_u64().is_some_and(|umask| umask <= 0o777), "{umask}");
    let here = home.path().to_str().unwrap();
    let env = json!({ "A": "b=c", "MY_TOKEN": "t", "HOME": here, "PATH": "/usr/bin:/bin" });
    let command = json!({ "argv": ["echo", "--json", "-x"], "cwd": format!("{here}/sub/dir"), "env": env, "umask": null,
        "pty": { "columns": 80, "rows": 24 } });
    let expected = json!({ "command": command, "name": "n", "key": "k", "priority": "high", "delay_ms": 5_000,
        "after": ["3", "last"], "hold": true, "rerun": true, "retries": 2, "timeout_ms": 60_000, "isolation": "host" });
    assert_eq!(body, expected);
}

#[test]
fn a_plain_run_has_a_key_of_its_own_and_no_input() {
    let home = Home::new();
    let server = server(&home, None);
    for _ in 0..2 {
        home.run(&["run", "-d", "--clean-env", "--", "true"]);
    }
    let bodies: Vec<Value> = server.requests().into_iter().filter(|r| r.method == "POST").map(|r| r.body).collect();
    assert_ne!(bodies[0]["key"], bodies[1]["key"]);
    let command = &bodies[0]["command"];
    assert_eq!((command.get("stdin"), command.get("env"), &command["clean_env"]), (None, None, &json!(true)));
}

#[test]
fn input_is_sent_whole_or_not_at_all() {
    let home = Home::new();
    let server = server(&home, None);
    home.run_with_input(&["run", "-d", "-i", "--", "cat"], "hé\n".as_bytes());
    home.run_with_input(&["run", "-d", "-i", "--", "cat"], b"\xff");
    let bodies: Vec<Value> = server.requests().into_iter().filter(|r| r.method == "POST").map(|r| r.body).collect();
    assert_eq!(bodies[0]["command"]["stdin"], "hé\n");
    assert_eq!(bodies[1]["command"]["stdin_base64"], "/w==");
    let ran = home.run_with_input(&["run", "-d", "-i", "--", "cat"], &vec![b'x'; (4 << 20) + 1]);
    assert_eq!((ran.code, ran.out().as_str()), (Some(2), ""));
    assert!(ran.err().contains("nothing was submitted"), "{}", ran.err());
    assert_eq!(server.requests().iter().filter(|r| r.method == "POST").count(), 2);
}

#[test]
fn bytes_that_are_not_text_are_refused() {
    let home = Home::new();
    let child = home.command(&["run", "-d", "--"]).arg(std::ffi::OsStr::from_bytes(b"a\xffb")).spawn().unwrap();
    let ran = home.finish(child);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err().contains("is not valid UTF-8; nothing was submitted"), "{}", ran.err());
}

#[test]
fn a_held_queue_is_named() {
    let home = Home::new();
    let _server = server(&home, Some("panic"));
    let ran = home.run(&["run", "-d", "--", "true"]);
    assert_eq!(ran.out(), "7\n");
    assert!(ran.err().contains("`ouroboros release --all`"), "{}", ran.err());
    let ran = home.run(&["run", "-d", "--json", "--", "true"]);
    assert_eq!(ran.json(), json!({ "api": 1, "id": TASK, "number": 7, "duplicate": false }));
}

#[test]
fn an_answer_that_was_lost_is_asked_for_again_with_the_same_key() {
    let home = Home::new();
    let tries = std::sync::atomic::AtomicU32::new(0);
    let server = Server::start(&home, move |request| match request.line().as_str() {
        "POST /api/tasks" => match tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => Reply(Vec::new()),
            1 => Reply::error(503, "commit_unknown", "Storage failed.", "Repeat it with the same key."),
            _ => Reply::json(200, &json!({ "id": TASK, "number": 7, "duplicate": true })),
        },
        _ => Reply::json(200, &sample::state(None)),
    });
    let ran = home.run(&["run", "-d", "--", "true"]);
    assert_eq!((ran.code, ran.out().as_str()), (Some(0), "7\n"), "{}", ran.shown());
    let keys: Vec<Value> =
        server.requests().into_iter().filter(|r| r.method == "POST").map(|r| r.body["key"].clone()).collect();
    assert!(keys.len() == 3 && keys.iter().all(|key| key == &keys[0] && key.is_string()), "{keys:?}");
}

#[test]
fn many_tasks_go_in_batches() {
    let home = Home::new();
    let server = server(&home, None);
    let line = "{\"command\":{\"argv\":[\"true\"]}}\n";
    let ran = home.run_with_input(&["submit"], line.repeat(2_500).as_bytes());
    assert_eq!((ran.code, ran.out().lines().count()), (Some(0), 2_500), "{}", ran.err());
    let sizes: Vec<usize> = server.requests().iter().map(|r| r.body["tasks"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [1_000, 1_000, 500]);
    let bad = format!("{}{{\"comand\":1}}\n", line.repeat(3));
    let ran = home.run_with_input(&["submit", "--batch", "2"], bad.as_bytes());
    insta::assert_snapshot!("submit_bad_line", ran.shown());
}
