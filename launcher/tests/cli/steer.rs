//! Tasks in words: gone on from, spoken to, stopped, looked at and taken back.

use super::program::Home;
use super::sample;
use super::server::{Reply, Server};
use serde_json::{Value, json};

/// A task in words that continues another one.
fn agent() -> Value {
    let mut task = sample::completed();
    task["kind"] = "agent".into();
    task["name"] = "shorter".into();
    task["from"] = json!({ "task": sample::TASK, "number": 3, "round": 2, "fork": true });
    task["agent"] = json!({ "head": "shorter", "route": "ollama/llama", "folder": "/srv/site", "messages": [
        { "number": 1, "at": sample::ago(60), "text": "and\u{1b}[2J this", "taken": 4 },
        { "number": 2, "at": sample::ago(50), "text": "too late", "taken": null },
    ] });
    task
}

fn server(home: &Home) -> Server {
    Server::start(home, |request| match request.line().as_str() {
        "GET /api/models" => Reply::json(200, &sample::models()),
        "GET /api/state" => Reply::json(200, &sample::state(None)),
        "GET /api/tasks/7" => Reply::json(200, &agent()),
        "GET /api/tasks" => Reply::json(200, &json!({ "tasks": [agent()], "next": null })),
        "POST /api/tasks" => Reply::json(201, &sample::accepted()),
        "POST /api/tasks/7/messages" => Reply::json(201, &json!({ "number": 2, "duplicate": false })),
        "POST /api/tasks/8/messages" => {
            Reply::error(409, "not_listening", "Task 8 hears nothing more.", "Go on with a new task.")
        }
        "POST /api/tasks/7/interrupt" => Reply::json(200, &agent()),
        "GET /api/tasks/7/changes" => Reply::json(
            200,
            &json!({ "folder": "/srv/site", "files": [
                { "path": "a.txt", "change": "changed", "foreign": true, "diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n" },
                { "path": "logo.png", "change": "created", "foreign": false, "note": "it is no text" },
                { "path": "b.txt", "change": "same", "foreign": false },
            ] }),
        ),
        "POST /api/tasks/7/undo" => Reply::json(
            200,
            &json!({ "folder": "/srv/site", "dry_run": request.body["dry_run"] == true, "files": [
                { "path": "a.txt", "done": "refused", "why": "a.txt is not what was written there." },
                { "path": "logo.png", "done": "removed" },
                { "path": "c.txt", "done": "restored" },
                { "path": "b.txt", "done": "unchanged" },
            ] }),
        ),
        "GET /api/tasks/01930000-0000-7000-8000-000000000007/transcript" => {
            let whole = transcript();
            let from: usize = request.target.rsplit('=').next().unwrap().parse().unwrap();
            let part: Vec<&Value> = whole.iter().skip(from - 1).take(3).collect();
            Reply::json(200, &json!({ "entries": part, "next": from + part.len() }))
        }
        other => panic!("{other} was not expected"),
    })
}

fn transcript() -> Vec<Value> {
    let long: String = (1..=30).map(|line| format!("line {line}\n")).collect();
    let usage = json!({ "input": 312, "cached": null, "cache_write": null, "cache_write_long": null, "output": 48, "reasoning": null });
    let answer = |parts: Value, cost: Value| {
        json!({ "type": "answered", "answer": {
            "message": { "role": "assistant", "parts": parts }, "stop": "end", "usage": usage, "cost": cost,
            "route": "openai/gpt-5.1", "model": "gpt-5.1", "provider_request": null,
        } })
    };
    let call = json!({ "type": "tool_call", "id": "a", "name": "read_file", "arguments": "{\"path\":\"a.txt\"}" });
    vec![
        json!({ "type": "asked", "text": "what is this?", "guidance": "[ouroboros] AGENTS.md says: be kind" }),
        answer(
            json!([{ "type": "text", "text": "I look.\u{1b}[2J" }, call]),
            json!({ "amount": 2_100_000, "source": "provider" }),
        ),
        json!({ "type": "results", "results": [
            { "call": "a", "name": "read_file", "outcome": "ok", "text": long, "millis": 3 },
            { "call": "b", "name": "search", "outcome": "miss", "code": "no_match", "text": "Nothing.", "millis": 1 },
        ] }),
        json!({ "type": "said", "number": 1, "text": "and this" }),
        json!({ "type": "notice", "text": "[ouroboros] You go in circles." }),
        json!({ "type": "parked", "detail": "a limit is used up" }),
        answer(json!([{ "type": "text", "text": "It is a site." }]), Value::Null),
        json!({ "type": "delivered", "text": "It is a site.", "author": "model" }),
    ]
}

#[test]
fn a_task_is_gone_on_from_with_the_folder_and_route_that_it_had() {
    let home = Home::new();
    let server = server(&home);
    let asked = |arguments: &[&str]| {
        let ran = home.run(arguments);
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
        let mut body = server.requests().into_iter().rfind(|it| it.line() == "POST /api/tasks").unwrap().body;
        let path = body["agent"].as_object_mut().unwrap().remove("path");
        assert_eq!(path, Some("/usr/bin:/bin".into()), "programs are looked for where the owner's shell does");
        body
    };
    let body = asked(&["run", "-d", "--continue", "7", "shorter"]);
    assert_eq!(
        body["agent"],
        json!({ "prompt": "shorter", "from": { "task": "7" } }),
        "one word is enough, and no folder is said"
    );
    let body =
        asked(&["run", "-d", "--fork", "7@2", "-C", "/srv/other", "-m", "openai/gpt-5.1", "make", "it", "shorter"]);
    let from = json!({ "task": "7", "round": 2 });
    assert_eq!(
        body["agent"],
        json!({ "prompt": "make it shorter", "folder": "/srv/other", "from": from, "route": "openai/gpt-5.1" })
    );
    let body = asked(&["run", "-d", "--continue", "7", "--parallel", "shorter"]);
    assert_eq!(body["agent"]["parallel"], true);
    for wrong in [
        &["run", "--parallel", "--", "true"][..],
        &["run", "--fork", "7", "x y"],
        &["run", "--fork", "7@0", "x y"],
        &["run", "--continue", "7", "--", "true"],
    ] {
        assert_eq!(home.run(wrong).code, Some(2), "{wrong:?}");
    }
    assert_eq!(home.run(&["run", "--continue", "7"]).code, Some(2), "there is nothing to do");
}

#[test]
fn what_is_said_has_a_key_and_a_refusal_says_what_to_do() {
    let home = Home::new();
    let server = server(&home);
    insta::assert_snapshot!("send", home.run(&["send", "7", "use", "tabs"]).shown());
    let sent = server.requests().pop().unwrap();
    assert_eq!(sent.body, json!({ "text": "use tabs" }));
    assert!(sent.header("Idempotency-Key").is_some_and(|key| key.len() == 36), "{}", sent.head);
    home.run(&["send", "--key", "mine", "7", "use tabs"]);
    assert_eq!(server.requests().pop().unwrap().header("Idempotency-Key"), Some("mine"));
    assert_eq!(home.run_with_input(&["send", "7", "-"], b"from a pipe\n").code, Some(0));
    assert_eq!(server.requests().pop().unwrap().body["text"], "from a pipe\n");
    insta::assert_snapshot!("send_refused", home.run(&["send", "8", "use tabs"]).shown());
    assert_eq!(home.run_with_input(&["send", "7"], b"").code, Some(2));
}

#[test]
fn a_turn_is_stopped() {
    let home = Home::new();
    let server = server(&home);
    insta::assert_snapshot!("interrupt", home.run(&["interrupt", "7"]).shown());
    insta::assert_snapshot!("interrupt_hold", home.run(&["interrupt", "--hold", "7"]).shown());
    assert_eq!(server.requests().pop().unwrap().body, json!({ "hold": true }));
}

#[test]
fn what_was_changed_is_a_patch_and_what_is_taken_back_is_listed() {
    let home = Home::new();
    let server = server(&home);
    insta::assert_snapshot!("diff", home.run(&["diff", "7"]).shown());
    insta::assert_snapshot!("undo", home.run(&["undo", "7"]).shown());
    insta::assert_snapshot!("undo_dry_run", home.run(&["undo", "--dry-run", "--force", "7", "a.txt"]).shown());
    let asked = server.requests().pop().unwrap().body;
    assert_eq!(asked, json!({ "files": ["a.txt"], "dry_run": true, "force": true }));
}

#[test]
fn a_conversation_is_shown_part_by_part() {
    let home = Home::new();
    let _server = server(&home);
    insta::assert_snapshot!("show_transcript", home.run(&["show", "--transcript", "7"]).shown());
    let full = home.run(&["show", "--transcript", "--full", "7"]).out();
    assert!(full.contains("line 15\n") && !full.contains("more; --full"), "{full}");
    let json: Value = serde_json::from_str(&home.run(&["show", "--transcript", "--json", "7"]).out()).unwrap();
    assert_eq!((json["entries"].as_array().map(Vec::len), &json["next"]), (Some(8), &9.into()));
    assert_eq!(home.run(&["show", "--full", "7"]).code, Some(2));
    let shown = home.run(&["show", "7"]).out();
    for words in ["forks 3 (round 2)", "1 (taken): and\\u{1b}[2J this", "2 (not taken: the task had ended): too late"] {
        assert!(shown.contains(words), "{words:?} in {shown}");
    }
    assert!(home.run(&["tasks"]).out().contains("forks 3: shorter"));
}
