//! Routes, keys and costs.

use super::program::Home;
use super::sample::{self, TASK};
use super::server::{Reply, Server};
use serde_json::{Value, json};

fn server(home: &Home) -> Server {
    Server::start(home, |request| match request.line().as_str() {
        "GET /api/models" | "POST /api/models/refresh" => Reply::json(200, &sample::models()),
        "POST /api/models/test" => Reply::json(
            200,
            &json!({
            "route": request.body["route"], "works": request.body["route"] == "openai/gpt-5.1", "problem": "no tool was called",
            "text": "", "tool_call": null,
            "usage": { "input": 81, "cached": null, "cache_write": null, "cache_write_long": null, "output": null, "reasoning": null },
            "cost": null, "elapsed_ms": 900 }),
        ),
        "GET /api/keys" => Reply::json(200, &sample::keys()),
        "POST /api/keys" => Reply::json(
            200,
            &json!({
            "provider": request.body["provider"], "found": "kept", "ending": "cdef", "set_at": null }),
        ),
        "POST /api/keys/openai/test" => Reply::json(
            200,
            &json!({
            "provider": "openai", "accepted": null, "detail": "The provider cannot be reached." }),
        ),
        "DELETE /api/keys/openai" => Reply::nothing(),
        "GET /api/cost-breakdown" => Reply::json(200, &costs()),
        "POST /api/tasks/7/resume" => Reply::json(200, &sample::task("queued", &Value::Null, None)),
        "POST /api/tasks/8/resume" => {
            Reply::error(409, "not_paused", "The task waits neither for its owner nor for a model.", "Look at it.")
        }
        "GET /api/tasks/7" => Reply::json(200, &asked()),
        other => panic!("{other} was not expected"),
    })
}

fn costs() -> Value {
    let mut unknown = sample::cost(0, 0, 0, 2);
    (unknown["unpriced"], unknown["input_tokens"], unknown["output_tokens"]) = (json!(2), json!(0), json!(0));
    let group = |key: &str, cost: Value| json!({ "key": key, "cost": cost });
    json!({
        "whole": sample::cost(200_000_000, 40_000_000, 5_000_000, 9), "limits": sample::limits(), "by": "route",
        "groups": [
            group("openai/gpt-5.1", sample::cost(200_000_000, 0, 5_000_000, 4)),
            group("anthropic/claude", sample::cost(0, 40_000_000, 0, 1)),
            group("local/unpriced", unknown),
            group("ollama/llama", sample::cost(0, 0, 0, 2)),
        ],
        "warning": null
    })
}

/// A paused question that has sent something.
fn asked() -> Value {
    let mut task = sample::task("paused", &Value::Null, None);
    task["kind"] = json!("ask");
    task["name"] = json!("Why is the sky blue?");
    task["reason"] = json!(
        "The task limit leaves too little for its next call; `ouroboros resume 7 --max-cost DOLLARS` lets it spend more."
    );
    task["ask"] = json!({ "head": "Why is the sky blue?", "route": "openai/gpt-5.1" });
    task["pause"] = json!({ "id": TASK, "limit": "task", "since": sample::ago(9), "phase": "paused" });
    task["max_cost_nanos"] = json!(500_000_000);
    task["cost"] = sample::cost(2_100_000, 0, 30_000_000, 2);
    let send = |ordinal: u32, state: &str, cost: Value| {
        json!({ "id": TASK, "call": 1, "ordinal": ordinal, "route": "openai/gpt-5.1", "model": "gpt-5.1-2026",
            "state": state, "bound_nanos": 30_000_000, "cost": cost, "provider_request": null,
            "usage": { "input": 312, "cached": null, "cache_write": null, "cache_write_long": null, "output": 48, "reasoning": null },
            "reserved_at": sample::ago(9), "ended_at": null })
    };
    let known = json!({ "amount": 2_100_000, "source": "provider" });
    task["sends"] = json!([send(1, "unresolved", Value::Null), send(2, "settled", known)]);
    task
}

#[test]
fn routes_keys_and_costs_are_tables_and_sentences() {
    let home = Home::new();
    let _server = server(&home);
    let mut text = String::new();
    for line in [
        "models",
        "models --refresh",
        "models test openai/gpt-5.1",
        "models test ollama/llama",
        "keys",
        "keys list",
        "keys test openai",
        "keys rm openai",
        "costs --by route",
        "resume 7",
        "resume --max-cost 2 7 8",
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        text.push_str(&format!("$ ouroboros {line}\n{}\n", home.run(&arguments).shown()));
    }
    insta::assert_snapshot!("money", text);
}

#[test]
fn each_answers_in_json() {
    let home = Home::new();
    let _server = server(&home);
    for line in
        ["models", "models test openai/gpt-5.1", "keys", "keys test openai", "keys rm openai", "costs", "resume 7"]
    {
        let arguments: Vec<&str> = line.split(' ').chain(["--json"]).collect();
        let ran = home.run(&arguments);
        assert_eq!(ran.json()["api"], 1, "{line}: {}", ran.shown());
    }
}

#[test]
fn a_question_is_shown_with_what_it_cost() {
    let home = Home::new();
    let _server = server(&home);
    let shown = home.run(&["show", "7"]).out();
    let kept = |line: &&str| {
        ["status", "question", "route", "pause", "limit", "cost", "call"].iter().any(|word| line.starts_with(word))
    };
    insta::assert_snapshot!("show_question", shown.lines().filter(kept).collect::<Vec<_>>().join("\n"));
}

#[test]
fn costs_are_asked_for_as_they_are_wanted() {
    let home = Home::new();
    let server = server(&home);
    home.run(&["costs", "--by", "day", "--since", "2026-11-30", "--task", "7", "--route", "openai/gpt-5.1"]);
    let target = server.requests().pop().unwrap().target;
    assert_eq!(
        target,
        "/api/cost-breakdown?by=day&since=2026-11-30T00%3A00%3A00.000000Z&task=7&route=openai%2Fgpt-5.1"
    );
    for wrong in [&["costs", "--by", "colour"][..], &["costs", "--since", "soon"]] {
        assert_eq!(home.run(wrong).code, Some(2));
    }
}

#[test]
fn a_damaged_ledger_is_said_and_seen_in_the_exit_code() {
    let home = Home::new();
    let _server = Server::start(&home, |_| {
        let mut damaged = costs();
        damaged["warning"] = json!("The ledger does not add up.");
        Reply::json(200, &damaged)
    });
    let ran = home.run(&["costs"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out().ends_with("warning: The ledger does not add up.\n"), "{}", ran.out());
}

#[test]
fn a_key_comes_from_standard_input_or_a_variable_and_is_never_shown() {
    let home = Home::new();
    let server = server(&home);
    let piped = home.run_with_input(&["keys", "set", "openai"], b"sk-piped\n");
    insta::assert_snapshot!("keys_set", piped.shown());
    let with = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        home.finish(command.env("OPENAI_KEY", "sk-env").env("MINE", "sk-mine").spawn().unwrap())
    };
    let from = [
        with(&["keys", "set", "openai", "--from-env"]),
        with(&["keys", "set", "openai", "--from-env", "MINE"]),
        with(&["keys", "set", "openai", "--from-env", "--json"]),
    ];
    for ran in &from {
        assert!(ran.code == Some(0) && !ran.shown().contains("sk-"), "{}", ran.shown());
    }
    let sent: Vec<Value> =
        server.requests().into_iter().filter(|r| r.line() == "POST /api/keys").map(|r| r.body).collect();
    let keys: Vec<&Value> = sent.iter().map(|body| &body["key"]).collect();
    assert_eq!(keys, ["sk-piped", "sk-env", "sk-mine", "sk-env"]);
    for refused in [
        with(&["keys", "set", "anthropic", "--from-env"]),
        with(&["keys", "set", "nobody", "--from-env"]),
        with(&["keys", "set", "openai", "--from-env", "UNSET"]),
        home.run(&["keys", "set", "openai"]),
    ] {
        assert_eq!(refused.code, Some(2), "{}", refused.shown());
    }
    assert_eq!(server.requests().iter().filter(|r| r.line() == "POST /api/keys").count(), 4);
}
