//! A task in words as it is told while it is followed: to a person on a terminal, to a pipe, to a program.

use super::program::Home;
use super::sample::{self, END, TASK, answered, entry, event, output, piece, result, settled, started};
use super::server::{Gate, Reply, Request, Server, Step};
use super::terminal::Terminal;
use ouroboros_process::Status;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

pub fn agent() -> Value {
    let mut task = sample::completed();
    (task["kind"], task["cost"]) = (json!("agent"), sample::cost(4_200_000, 0, 0, 2));
    task["agent"] = json!({ "head": "x", "route": "openai/gpt-5.1", "folder": "/srv/site" });
    task
}

/// A server whose streams are given in the order of the connections.
fn server(home: &Home, streams: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Server {
    let connections = AtomicUsize::new(0);
    Server::start(home, move |request| match request.line().as_str() {
        "GET /api/models" => Reply::json(200, &sample::models()),
        "POST /api/tasks" => Reply::json(201, &sample::accepted()),
        "GET /api/state" => Reply::json(200, &sample::state(None)),
        line if line.ends_with("/events") => streams(connections.fetch_add(1, Ordering::SeqCst), request),
        _ => Reply::json(200, &agent()),
    })
}

const ANSWER: &str = "# Found\n\nIt is **a\x1b[2J** site.\n\n- one\n- two\n";

fn whole() -> Vec<String> {
    let calls = [("read_file", r#"{"path":"src/main.rs"}"#)];
    vec![
        started(2, 1),
        entry(1, &json!({ "type": "asked", "text": "look" })),
        piece(1, 1, 0, "I *look* "),
        output(1, "stderr", 0, "the provider is busy\n> I *look* now.\n· read_file {}\n".as_bytes()),
        entry(2, &answered("I *look* now.", &calls)),
        entry(3, &result("read_file", "miss", "There is none.")),
        piece(1, 2, 0, "# Found\n\nIt "),
        entry(4, &answered(ANSWER, &[])),
        entry(5, &json!({ "type": "delivered", "text": ANSWER, "author": "model" })),
        output(1, "stdout", 0, ANSWER.as_bytes()),
        settled(9),
        END.to_owned(),
    ]
}

#[test]
fn a_pipe_gets_the_bytes_that_were_delivered_and_everything_else_is_said_beside_them() {
    let home = Home::new();
    let server = server(&home, |_, _| Reply::events(&whole()));
    let ran = home.run(&["run", "look at it"]);
    assert_eq!((ran.code, ran.stdout.as_slice()), (Some(0), ANSWER.as_bytes()), "{}", ran.shown());
    let said = "the provider is busy\nI *look* now.\n\
        · read_file src/main.rs — not found, 12 ms\n  round 1: $0.0042 · 1200 in, 80 out\n";
    assert!(ran.err().contains(said), "{}", ran.shown());
    assert!(!ran.err().contains("Found") && ran.err().contains("ouroboros: $0.0042"), "{}", ran.shown());
    let asked = server.requests().into_iter().find(|request| request.line().ends_with("/events")).unwrap();
    assert!(asked.target.contains("entries=true") && asked.target.contains("from_entry=0"), "{}", asked.target);
}

#[test]
fn a_terminal_gets_text_while_it_is_written_and_markdown_where_there_are_colours() {
    let home = Home::new();
    let gate = Gate::default();
    let wait = gate.clone();
    let _server = server(&home, move |_, _| {
        let mut all = whole().into_iter();
        let reply = Reply::events(&all.by_ref().take(7).collect::<Vec<_>>()).and(Step::Wait(wait.clone()));
        all.fold(reply, |reply, message| reply.and_event(&message))
    });
    let Some(mut terminal) = Terminal::open(&home, &["run", "look at it"], true) else { return };
    terminal.expect("\x1b[1mFound\x1b[0m\r\n");
    gate.open();
    let (shown, status) = terminal.end();
    assert_eq!(status, Status::Exited(0), "{shown:?}");
    let text = "\x1b[1mFound\x1b[0m\r\n\r\nIt is \x1b[1ma\\u{1b}[2J\x1b[0m site.\r\n\r\n• one\r\n• two\r\n";
    assert!(shown.contains(text) && shown.matches("Found").count() == 1, "{shown:?}");
    assert!(shown.contains("I \x1b[3mlook\x1b[0m now.\r\n"), "{shown:?}");
    let Some(terminal) = Terminal::open(&home, &["attach", "7"], false) else { return };
    let (shown, _) = terminal.end();
    let text = "I *look* \r\nthe provider is busy\r\nnow.\r\n· read_file";
    assert!(shown.contains(text) && shown.contains("It is **a\\u{1b}[2J** site."), "{shown:?}");
    assert_eq!(shown.matches("# Found").count(), 1, "{shown:?}");
}

#[test]
fn what_was_begun_twice_and_what_was_delivered_otherwise_are_shown_whole() {
    let home = Home::new();
    let _server = server(&home, |connection, request| match connection {
        0 => Reply::events(&[started(2, 1), piece(1, 1, 0, "One "), piece(1, 1, 4, "two ")]),
        _ => {
            assert_eq!(request.header("last-event-id"), Some("2"));
            Reply::events(&[
                piece(1, 1, 0, "One two three "),
                entry(1, &answered("One two three four.", &[])),
                output(1, "stdout", 0, b"Other words."),
                settled(9),
                END.to_owned(),
            ])
        }
    });
    let Some(terminal) = Terminal::open(&home, &["attach", "7"], false) else { return };
    let (shown, _) = terminal.end();
    assert!(shown.contains("One two \r\n") && shown.contains("three four.\r\nOther words.\r\n"), "{shown:?}");
    assert_eq!(shown.matches("One").count(), 1, "{shown:?}");
}

pub fn lines(out: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(out).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

pub fn types(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["type"].as_str().unwrap()).collect()
}

#[test]
fn a_program_gets_a_line_for_each_thing_once_also_over_a_lost_connection() {
    let home = Home::new();
    let _server = server(&home, |connection, request| match connection {
        0 => Reply::events(&whole()[..6]),
        _ => {
            assert!(request.target.contains("from_entry=4"), "{}", request.target);
            let opens = json!({ "type": "request_opened", "request": 3, "kind": "question", "expires_at": null });
            let heard = json!({ "type": "request_answered", "request": 3, "rule": null });
            Reply::events(&[
                // What was given already is passed over.
                started(2, 1),
                whole()[5].clone(),
                event(3, &opens),
                event(4, &heard),
                entry(4, &json!({ "type": "said", "number": 1, "text": "more" })),
                piece(1, 2, 0, "# Found\n\nIt "),
                entry(5, &answered(ANSWER, &[])),
                entry(6, &json!({ "type": "delivered", "text": ANSWER, "author": "model" })),
                output(1, "stdout", 0, ANSWER.as_bytes()),
                settled(9),
                END.to_owned(),
            ])
        }
    });
    let ran = home.run(&["run", "--json", "look at it"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let lines = lines(&ran.stdout);
    let kinds = ["task", "state", "text", "note", "text", "call", "usage", "result", "request", "answer", "message"];
    assert_eq!(&types(&lines)[..11], kinds, "{}", ran.shown());
    assert_eq!(&types(&lines)[11..], ["text", "text", "usage", "state", "end"], "{}", ran.shown());
    let texts = |round: u64| -> String {
        let of = lines.iter().filter(|line| line["type"] == "text" && line["round"] == round);
        of.map(|line| line["text"].as_str().unwrap()).collect()
    };
    assert_eq!((texts(1).as_str(), texts(2).as_str()), ("I *look* now.", ANSWER));
    assert_eq!((&lines[0]["number"], &lines[0]["route"]), (&json!(7), &json!("openai/gpt-5.1")));
    assert_eq!((&lines[5]["arguments"], &lines[5]["number"]), (&json!({ "path": "src/main.rs" }), &json!(1)));
    assert_eq!(
        (&lines[7]["outcome"], &lines[7]["code"], &lines[7]["millis"]),
        (&json!("miss"), &json!("not_found"), &json!(12))
    );
    assert_eq!(lines[6]["cost_nanos"], 4_200_000);
    let end = lines.last().unwrap();
    assert_eq!((&end["state"], &end["exit_code"], &end["output"]), (&json!("settled"), &json!(0), &json!(ANSWER)));
    assert_eq!((&end["author"], &end["status"]), (&json!("model"), &json!("completed")));
}

#[test]
fn errors_are_json_too_and_the_last_line_says_the_exit_code() {
    let home = Home::new();
    let _server = Server::start(&home, |request| match request.line().as_str() {
        "GET /api/models" => Reply::json(200, &sample::models()),
        "POST /api/tasks" => Reply::json(201, &sample::accepted()),
        line if line == format!("GET /api/tasks/{TASK}/events") => Reply::error(500, "internal", "It broke.", "Look."),
        _ => Reply::json(200, &agent()),
    });
    let ran = home.run(&["run", "--json", "look at it"]);
    let lines = lines(&ran.stdout);
    let end = lines.last().unwrap();
    assert_eq!(
        (&end["type"], &end["state"], &end["error"]["code"]),
        (&json!("end"), &json!("lost"), &json!("internal"))
    );
    assert_eq!(end["exit_code"], ran.code.unwrap(), "{}", ran.shown());
    let error: Value = serde_json::from_slice(ran.err().as_bytes()).unwrap();
    assert_eq!(error["error"]["code"], "internal");
}

#[test]
fn a_program_is_told_of_bytes_that_are_gone_and_of_no_delivery_that_did_not_hold() {
    let home = Home::new();
    let _server = server(&home, |_, _| {
        Reply::events(&[
            started(2, 1),
            output(1, "stderr", 0, b"it is bu"),
            output(1, "stderr", 40, b"> of words\nit goes on\n"),
            entry(1, &answered("Half.", &[])),
            entry(2, &json!({ "type": "delivered", "text": "Half.", "author": "model" })),
            entry(3, &json!({ "type": "said", "number": 1, "text": "more" })),
            settled(9),
            END.to_owned(),
        ])
    });
    let ran = home.run(&["run", "--json", "look at it"]);
    let lines = lines(&ran.stdout);
    let notes: Vec<&str> =
        lines.iter().filter(|line| line["type"] == "note").map(|line| line["text"].as_str().unwrap()).collect();
    let gap = "32 bytes of stderr are not kept and are left out here";
    assert_eq!(notes, ["it is bu", gap, "it goes on"], "{}", ran.shown());
    let end = lines.last().unwrap();
    assert_eq!((&end["type"], &end["output"], &end["author"]), (&json!("end"), &Value::Null, &Value::Null));
}

#[test]
fn a_server_that_knows_of_no_transcripts_on_streams_is_said_to_be_too_old() {
    let home = Home::new();
    let _server = server(&home, |_, _| {
        let detail = json!({ "parameter": "entries" });
        let message = "Unknown query parameter \"entries\"; known here: after.";
        Reply::json(400, &json!({ "code": "bad_field", "message": message, "remedy": null, "detail": detail }))
    });
    let ran = home.run(&["attach", "7"]);
    let said = "error[server_too_old]: the running server is too old to tell what a task in words does.\n  \
        `ouroboros restart --drain` starts the installed one; `ouroboros attach` follows the task there.\n";
    assert_eq!((ran.code, ran.out().as_str(), ran.err().as_str()), (Some(125), "", said));
    let ran = home.run(&["attach", "--json", "7"]);
    let lines = lines(&ran.stdout);
    let error = &lines.last().unwrap()["error"];
    assert_eq!((types(&lines), &error["code"]), (vec!["task", "end"], &json!("server_too_old")), "{}", ran.shown());
}
