//! `ask` asks a model.

use super::program::Home;
use super::sample::{self, END, TASK, output, settled, started};
use super::server::{Reply, Request, Server};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

fn question(status: &str, outcome: &Value, exit: Option<u8>) -> Value {
    let mut task = sample::task(status, outcome, exit);
    task["kind"] = json!("ask");
    task["name"] = json!("Why?");
    task["ask"] = json!({ "head": "Why?", "route": null });
    task["cost"] = sample::cost(2_100_000, 0, 0, 1);
    task
}

fn answered() -> Value {
    question("completed", &json!("completed"), Some(0))
}

fn paused() -> Value {
    let mut task = question("paused", &Value::Null, None);
    task["reason"] = json!("The task limit leaves too little.");
    task["pause"] = json!({ "id": TASK, "limit": "task", "since": sample::ago(9), "phase": "paused" });
    task
}

/// A server that answers with this task at the end, and with this stream.
fn server(home: &Home, models: Value, last: Value, stream: Vec<String>) -> Server {
    Server::start(home, move |request| match request.line().as_str() {
        "GET /api/models" => Reply::json(200, &models),
        "GET /api/keys" => Reply::json(200, &sample::keys()),
        "POST /api/tasks" if models["default"].is_null() && request.body["ask"]["wait_model"].is_null() => {
            Reply::error(409, "no_model_route", "There is no route to a model: no key was found.", "Set a key.")
        }
        "POST /api/tasks" => Reply::json(201, &sample::accepted()),
        "GET /api/state" => Reply::json(200, &sample::state(None)),
        line if line == format!("GET /api/tasks/{TASK}") => Reply::json(200, &last),
        line if line == format!("GET /api/tasks/{TASK}/events") => Reply::events(&stream),
        other => panic!("{other} was not expected"),
    })
}

fn answer() -> Vec<String> {
    vec![started(2, 1), output(1, "stdout", 0, b"Because."), settled(3), END.to_owned()]
}

fn no_models() -> Value {
    let mut models = sample::models();
    (models["default"], models["routes"]) = (Value::Null, json!([]));
    models
}

fn asked(server: &Server) -> Vec<Request> {
    server.requests().into_iter().filter(|request| request.line() == "POST /api/tasks").collect()
}

#[test]
fn the_answer_is_the_output_and_everything_else_is_said_beside_it() {
    let home = Home::new();
    let _server = server(&home, sample::models(), answered(), answer());
    let ran = home.run(&["ask", "Why?"]);
    assert_eq!(ran.stdout, b"Because.");
    insta::assert_snapshot!("ask", ran.shown());
    let quiet = home.run(&["ask", "-q", "Why?"]);
    assert_eq!((quiet.code, quiet.out().as_str(), quiet.err().as_str()), (Some(0), "Because.", ""));
    let json = home.run(&["ask", "--json", "Why?"]);
    let lines: Vec<Value> = json.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let end = lines.last().unwrap();
    assert_eq!((&end["message"], &end["task"]["cost"]["settled_nanos"]), (&json!("end"), &json!(2_100_000)));
    assert_eq!(json.err(), "");
}

#[test]
fn where_answer_and_words_go_to_one_place_each_has_lines_of_its_own() {
    let home = Home::new();
    let _server = server(&home, sample::models(), answered(), answer());
    let both = File::create(home.file("both")).unwrap();
    let ran = home.command(&["ask", "Why?"]).stdout(both.try_clone().unwrap()).stderr(both).status().unwrap();
    let said = std::fs::read_to_string(home.file("both")).unwrap();
    assert!(ran.success() && said.contains("Because.\nouroboros: "), "{said}");
}

#[test]
fn a_silent_standard_input_is_waited_for_and_that_is_said() {
    let home = Home::new();
    let server = server(&home, sample::models(), answered(), answer());
    let mut child = home.command(&["ask", "Why?"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = said.next().unwrap().unwrap();
    assert!(first.contains("standard input is open and silent"), "{first}");
    child.stdin.take().unwrap().write_all(b"these logs").unwrap();
    said.for_each(drop);
    assert_eq!(home.finish(child).out(), "Because.");
    assert_eq!(asked(&server)[0].body["ask"]["prompt"], "Why?\n\nthese logs");
}

#[test]
fn everything_that_was_asked_is_sent() {
    let home = Home::new();
    let server = server(&home, sample::models(), answered(), answer());
    std::fs::write(home.file("picture.txt"), b"\x89PNG\r\n\x1a\n").unwrap();
    std::fs::write(home.file("schema.json"), br#"{"type":"object"}"#).unwrap();
    let ran = home.run(&[
        "ask",
        "-d",
        "-m",
        "openai/gpt-5.1",
        "--system",
        "Be brief.",
        "--effort",
        "low",
        "--max-tokens",
        "99",
        "--max-cost",
        "0.50",
        "--image",
        "picture.txt",
        "--output-schema",
        "schema.json",
        "--wait-model",
        "--timeout",
        "1m",
        "--name",
        "n",
        "--key",
        "k",
        "--parent",
        "3",
        "Why",
        "so?",
    ]);
    assert_eq!((ran.code, ran.out().as_str()), (Some(0), "7\n"), "{}", ran.shown());
    let ask = json!({
        "prompt": "Why so?", "system": "Be brief.", "route": "openai/gpt-5.1", "max_output_tokens": 99, "effort": "low",
        "output_schema": { "type": "object" }, "images": [{ "media_type": "image/png", "data": "iVBORw0KGgo=" }],
        "wait_model": true
    });
    let expected =
        json!({ "ask": ask, "name": "n", "key": "k", "timeout_ms": 60_000, "max_cost": "0.50", "parent": "3" });
    assert_eq!(asked(&server)[0].body, expected);
}

#[test]
fn the_question_comes_from_words_a_pipe_or_both() {
    let home = Home::new();
    let server = server(&home, sample::models(), answered(), answer());
    home.run_with_input(&["ask", "-"], "Why?\n".as_bytes());
    home.run_with_input(&["ask", "Explain", "this:"], b"fn main() {}\n");
    home.run(&["ask", "Why?"]);
    let prompts: Vec<Value> = asked(&server).into_iter().map(|request| request.body["ask"]["prompt"].clone()).collect();
    assert_eq!(prompts, ["Why?\n", "Explain this:\n\nfn main() {}\n", "Why?"]);
    let nothing = home.run(&["ask"]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.shown());
    let bytes = home.run_with_input(&["ask", "-"], b"\xff");
    assert_eq!(bytes.code, Some(2), "{}", bytes.shown());
    let missing = home.run(&["ask", "--image", "nowhere.png", "What is it?"]);
    assert_eq!(missing.code, Some(1), "{}", missing.shown());
    assert_eq!(asked(&server).len(), 3);
}

/// Of an attempt that is paused in the middle of its answer.
fn pausing() -> Vec<String> {
    let pause = sample::event(3, &json!({ "type": "paused", "limit": "task" }));
    let left = sample::event(
        4,
        &json!({ "type": "attempt_ended", "attempt": sample::ATTEMPT, "why": "parked", "not_before": null }),
    );
    let caught_up = "event: caught_up\ndata: {}\n\n".to_owned();
    vec![started(2, 1), caught_up, output(1, "stdout", 0, b"Bec"), pause, left]
}

#[test]
fn a_question_that_is_paused_is_left_with_what_to_do() {
    let home = Home::new();
    let _server = server(&home, sample::models(), paused(), pausing());
    let ran = home.run(&["ask", "Why?"]);
    assert_eq!(ran.code, Some(4));
    insta::assert_snapshot!("ask_paused", ran.shown());
    let json = home.run(&["ask", "--json", "Why?"]);
    let last: Value = serde_json::from_str(json.out().lines().last().unwrap()).unwrap();
    assert_eq!((json.code, &last["message"], &last["task"]["status"]), (Some(4), &json!("parked"), &json!("paused")));
}

#[test]
fn who_attaches_to_a_paused_question_or_task_in_words_is_told_the_same() {
    for kind in ["ask", "agent"] {
        let home = Home::new();
        let mut task = paused();
        task["kind"] = json!(kind);
        let _server = server(&home, sample::models(), task, pausing());
        let (asked, attached) = (home.run(&["ask", "Why?"]), home.run(&["attach", TASK]));
        assert_eq!((attached.code, attached.out()), (Some(4), asked.out()), "{kind}");
        let said = asked.err();
        let (_model, rest) = said.split_once('\n').unwrap();
        assert_eq!(attached.err(), rest, "{kind}");
        assert!(attached.err().contains("`ouroboros resume 7 --max-cost DOLLARS`"), "{}", attached.err());
    }
}

#[test]
fn who_attaches_to_a_question_that_waits_for_a_model_follows_on() {
    let home = Home::new();
    let wait = json!({ "type": "waits_for_model", "reason": "unavailable", "until": 1_796_040_000_000_000_u64 });
    let caught_up = "event: caught_up\ndata: {}\n\n".to_owned();
    let stream = [vec![sample::event(1, &wait), caught_up], answer()].concat();
    let connections = AtomicUsize::new(0);
    let server = Server::start(&home, move |request| match request.line().as_str() {
        line if line.ends_with("/events") => match connections.fetch_add(1, Ordering::SeqCst) {
            0 => Reply::events(&stream),
            _ => Reply::events(&[END.to_owned()]),
        },
        _ => Reply::json(200, &answered()),
    });
    let ran = home.run(&["attach", TASK]);
    assert_eq!((ran.code, ran.out().as_str()), (Some(0), "Because."));
    assert_eq!(ran.err(), "ouroboros: $0.0021 · 312 in, 48 out\n");
    assert_eq!(server.lines().iter().filter(|line| line.ends_with("/events")).count(), 1);
}

#[test]
fn a_pause_names_the_price_that_is_not_known() {
    let send = |route: &str, state: &str, cost: Value| {
        json!({ "id": TASK, "call": 1, "ordinal": 1, "route": route, "model": null, "state": state,
            "bound_nanos": 30_000_000, "cost": cost, "provider_request": null, "reserved_at": sample::ago(9), "ended_at": null,
            "usage": { "input": 312, "cached": null, "cache_write": null, "cache_write_long": null, "output": 48,
                "reasoning": null } })
    };
    let mut task = paused();
    (task["cost"]["unpriced"], task["cost"]["sends"]) = (json!(3), json!(5));
    task["sends"] = json!([
        send("ollama/llama", "settled", Value::Null),
        send("ollama/llama", "settled", Value::Null),
        // Its price was told meanwhile.
        send("openai/gpt-5.1", "settled", Value::Null),
        send("groq/known", "settled", json!({ "amount": 2_100_000, "source": "provider" })),
        send("groq/lost", "unresolved", Value::Null),
    ]);
    let home = Home::new();
    let _server = server(&home, sample::models(), task, pausing());
    insta::assert_snapshot!("ask_paused_without_a_price", home.run(&["attach", TASK]).shown());
}

#[test]
fn a_question_that_waits_for_a_model_is_left_or_followed() {
    let home = Home::new();
    let mut waiting = question("waiting", &Value::Null, None);
    waiting["reason"] = json!("The provider is overloaded or fails.");
    // It was paused before, and resumed.
    waiting["pause"] = json!({ "id": TASK, "limit": "task", "since": sample::ago(9), "phase": "resumed" });
    waiting["wait"] = json!({ "reason": "unavailable", "since": sample::ago(9), "until": sample::ago(0) });
    let wait = json!({ "type": "waits_for_model", "reason": "unavailable", "until": 1_796_040_000_000_000_u64 });
    let caught_up = "event: caught_up\ndata: {}\n\n".to_owned();
    let _server = server(&home, sample::models(), waiting, vec![sample::event(2, &wait), caught_up]);
    let ran = home.run(&["ask", "Why?"]);
    assert_eq!(ran.code, Some(5));
    insta::assert_snapshot!("ask_waits", ran.shown());

    let home = Home::new();
    let caught_up = "event: caught_up\ndata: {}\n\n".to_owned();
    let stream = [vec![sample::event(1, &wait), caught_up], answer()].concat();
    let _server = server(&home, sample::models(), answered(), stream);
    let ran = home.run(&["ask", "--wait", "Why?"]);
    assert_eq!((ran.code, ran.out().as_str()), (Some(0), "Because."), "{}", ran.shown());
}

#[test]
fn every_end_without_an_answer_has_its_exit_code() {
    for (failure, exit) in [("unavailable", 1), ("refused", 3), ("deadline", 124), ("cancelled", 130)] {
        let home = Home::new();
        let outcome = json!({ "failed": { "ended": { "model_failed": { "failure": failure } } } });
        let mut task = question("failed", &outcome, Some(exit));
        task["reason"] = json!("Because.");
        task["cost"] = sample::cost(0, 0, 30_000_000, 1);
        let _server = server(&home, sample::models(), task, vec![settled(2), END.to_owned()]);
        let ran = home.run(&["ask", "Why?"]);
        assert_eq!((ran.code, ran.out().as_str()), (Some(i32::from(exit)), ""), "{failure}");
        assert!(ran.err().contains("task 7: Because.") && ran.err().contains("≤ $0.03 ·"), "{}", ran.err());
    }
}

#[test]
fn without_a_route_nothing_is_asked() {
    let home = Home::new();
    let server = server(&home, no_models(), answered(), answer());
    let ran = home.run(&["ask", "Why?"]);
    insta::assert_snapshot!("ask_no_route", ran.shown());
    let waits = home.run(&["ask", "--wait-model", "Why?"]);
    assert_eq!(waits.code, Some(0), "{}", waits.shown());
    assert_eq!(asked(&server).len(), 2);
}

#[test]
fn a_key_that_is_only_here_is_named_with_the_command_that_gives_it() {
    let home = Home::new();
    let server = server(&home, no_models(), answered(), answer());
    let here = |arguments: &[&str]| {
        home.finish(
            home.command(arguments).env("OPENAI_KEY", "sk-secret").env("ANTHROPIC_API_KEY", "x").spawn().unwrap(),
        )
    };
    let ran = here(&["ask", "Why?"]);
    assert!(!ran.err().contains("sk-secret"), "{}", ran.err());
    insta::assert_snapshot!("ask_key_not_in_server", ran.shown());
    let json = here(&["ask", "--json", "Why?"]);
    let told: Value = serde_json::from_str(&json.err()).unwrap();
    assert_eq!((json.code, &told["error"]["code"]), (Some(3), &json!("key_not_in_server")));
    assert!(asked(&server).is_empty());
    let other = here(&["ask", "-m", "anthropic/claude", "Why?"]);
    assert!(other.err().contains("no_model_route"), "{}", other.err());
}
