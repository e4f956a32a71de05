//! `run` with a task in words.

use super::program::Home;
use super::sample;
use super::server::{Reply, Server};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

fn server(home: &Home) -> Server {
    Server::start(home, |request| match request.line().as_str() {
        "GET /api/models" => Reply::json(200, &sample::models()),
        "POST /api/tasks" => Reply::json(201, &sample::accepted()),
        "GET /api/state" => Reply::json(200, &sample::state(None)),
        other => panic!("{other} was not expected"),
    })
}

fn prompts(server: &Server) -> Vec<Value> {
    let accepted = server.requests().into_iter().filter(|request| request.line() == "POST /api/tasks");
    accepted.map(|request| request.body["agent"]["prompt"].clone()).collect()
}

#[test]
fn the_task_comes_from_words_a_pipe_or_both() {
    let home = Home::new();
    let server = server(&home);
    let cases: [(&[&str], &[u8]); 5] = [
        (&["run", "-d", "fix this"], b"error: x\n"),
        (&["run", "-d", "Fix", "this"], b"error: x\n"),
        (&["run", "-d", "-"], b"fix it\n"),
        (&["run", "-d", "fix this", "-"], b"error: x\n"),
        (&["run", "-d", "fix this"], b""),
    ];
    for (arguments, input) in cases {
        let ran = home.run_with_input(arguments, input);
        assert_eq!((ran.code, ran.out().as_str()), (Some(0), "7\n"), "{}", ran.shown());
    }
    let both = "fix this\n\nerror: x\n";
    assert_eq!(prompts(&server), [both, "Fix this\n\nerror: x\n", "fix it\n", both, "fix this"]);
    let nothing = home.run_with_input(&["run", "-d", "-"], b"\n");
    assert!(nothing.code == Some(2) && nothing.err().contains("there is nothing to do"), "{}", nothing.shown());
    assert_eq!(prompts(&server).len(), 5);
}

#[test]
fn a_silent_standard_input_is_waited_for_and_that_is_said() {
    let home = Home::new();
    let server = server(&home);
    let mut child = home.command(&["run", "-d", "fix this"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = said.next().unwrap().unwrap();
    assert!(first.contains("standard input is open and silent"), "{first}");
    child.stdin.take().unwrap().write_all(b"error: x").unwrap();
    said.for_each(drop);
    assert_eq!(home.finish(child).out(), "7\n");
    assert_eq!(prompts(&server), ["fix this\n\nerror: x"]);
}

#[test]
fn a_command_whose_dashes_were_forgotten_costs_nothing() {
    let home = Home::new();
    let server = server(&home);
    let (script, plain) = (home.file("build.sh"), home.file("notes"));
    for path in [&script, &plain] {
        std::fs::write(path, "#!/bin/sh\n").unwrap();
    }
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, executable).unwrap();
    for words in [&["env", "X=a b", "make"][..], &["./build.sh", "all"], &["-C", "/usr/bin", "./env", "true"]] {
        let ran = home.run(&[&["run"], words].concat());
        assert_eq!((ran.code, ran.out().as_str()), (Some(2), ""), "{}", ran.shown());
        assert!(ran.err().contains("is a program; nothing was submitted"), "{}", ran.err());
    }
    insta::assert_snapshot!("run_program", home.run(&["run", "env", "X=a b", "make"]).shown());
    assert_eq!(prompts(&server), Vec::<Value>::new());
    for words in [&["env X=1 is not set, find out why"][..], &["./notes", "say", "what?"], &["Env", "is", "wrong"]] {
        let ran = home.run(&[&["run", "-d"], words].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
    }
    assert_eq!(prompts(&server).len(), 3);
}

#[test]
fn an_empty_task_is_called_empty() {
    let home = Home::new();
    for empty in ["", " "] {
        let ran = home.run(&["run", "--json", empty]);
        let told: Value = serde_json::from_str(&ran.err()).unwrap();
        assert_eq!((ran.code, &told["error"]["message"]), (Some(2), &json!("the task is empty")));
    }
}
