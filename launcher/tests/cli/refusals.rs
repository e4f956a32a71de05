//! What is wrong is said, with an exit code and a way on, and nothing is done.

use super::program::Home;
use super::server::{Reply, Server};
use std::fmt::Write as _;

fn all(home: &Home, lines: &[&[&str]]) -> String {
    let mut text = String::new();
    for line in lines {
        write!(text, "$ ouroboros {}\n{}\n", line.join(" "), home.run(line).shown()).unwrap();
    }
    text
}

#[test]
fn wrong_usage_is_told_in_json_to_who_asks_for_it() {
    let home = Home::new();
    let ran = home.run(&["tasks", "--json", "--nonsense"]);
    let told: serde_json::Value = serde_json::from_str(&ran.err()).unwrap();
    assert_eq!((ran.code, &told["error"]["code"], &told["error"]["exit_code"]), (Some(2), &"usage".into(), &2.into()));
    assert!(told["error"]["message"].as_str().unwrap().contains("--nonsense"), "{told:#}");
    let theirs = home.run(&["run", "--nonsense", "--", "program", "--json"]);
    assert!(theirs.err().starts_with("error: "), "{theirs:?}");
    let help = home.run(&["tasks", "--json", "--help"]);
    assert!((help.code, help.err().as_str()) == (Some(0), "") && help.out().contains("Usage"), "{help:?}");
}

#[test]
fn wrong_usage_is_explained() {
    let home = Home::new();
    let text = all(
        &home,
        &[
            &["tsaks"],
            &["stat"],
            &["run"],
            &["run", "fix"],
            &["run", "fix", "--", "true"],
            &["run", "--timeout", "5", "--", "true"],
            &["run", "--priority", "huge", "--", "true"],
            &["run", "--env", "NOT_SET_HERE", "--", "true"],
            &["show", "seven"],
            &["cancel"],
            &["hold"],
            &["release", "7", "--all"],
            &["tasks", "--status", "dead"],
            &["slots", "257"],
            &["priority", "7", "huge"],
            &["logs"],
            &["logs", "7", "--server"],
            &["up", "--set", "queue.slots"],
            &["up", "--set", "queue.slot=4"],
            &["up", "--set", "queue.slots=many"],
            &["restore", "/does/not/exist"],
            &["completions", "tcsh"],
            &["man", "woman"],
        ],
    );
    insta::assert_snapshot!("usage", text);
    assert!(!home.file("run").exists() && !home.file("launcher.lock").exists(), "something was started");
}

#[test]
fn look_ups_start_nothing() {
    let home = Home::new();
    let text = all(
        &home,
        &[
            &["status"],
            &["status", "--json"],
            &["tasks"],
            &["tasks", "--json"],
            &["show", "7"],
            &["logs", "7"],
            &["logs", "--server"],
            &["ps"],
            &["events"],
            &["export"],
            &["attach", "7"],
            &["wait", "7"],
            &["stop"],
            &["stop", "--json"],
            &["panic"],
        ],
    );
    insta::assert_snapshot!("not_running", text);
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "something was started");
}

#[test]
fn what_the_server_refuses_is_passed_on() {
    let home = Home::new();
    let _server = Server::start(&home, |request| match request.line().as_str() {
        "GET /api/tasks/8" => Reply::error(404, "unknown_task", "There is no task 8.", "`ouroboros tasks` lists them."),
        "GET /api/tasks/9" => Reply(vec![super::server::Step::Send(b"HTTP/1.1 500 X\r\n\r\n<html>".to_vec())]),
        "GET /api/tasks/10" => Reply::bytes(b"{}", ""),
        "GET /api/tasks/11" => Reply(vec![super::server::Step::Send(b"SSH-2.0-x\r\n".to_vec())]),
        "GET /api/tasks/12" => Reply(Vec::new()),
        "POST /api/tasks/7/cancel" => {
            Reply::error(409, "already_settled", "The task has already ended.", "Nothing is to be done.")
        }
        "POST /api/tasks" => Reply::error(429, "queue_full", "The queue is full; nothing was accepted.", "Wait."),
        _ => Reply::error(418, "a_new_code", "A newer server says no.", "Upgrade."),
    });
    let text = all(
        &home,
        &[
            &["show", "8"],
            &["show", "8", "--json"],
            &["show", "9"],
            &["show", "10"],
            &["show", "11"],
            &["show", "12"],
            &["attach", "8"],
            &["cancel", "7", "8"],
            &["run", "--", "true"],
            &["gc"],
        ],
    );
    insta::assert_snapshot!("refused", text);
}

#[test]
fn a_bad_home_is_explained() {
    let home = Home::new();
    let run = |value: &str| {
        let child = home.command(&["paths"]).env("OUROBOROS_HOME", value).spawn().unwrap();
        home.finish(child).shown()
    };
    insta::assert_snapshot!("bad_home", [run("relative"), run(""), run("/a/../b")].join("\n"));
}
