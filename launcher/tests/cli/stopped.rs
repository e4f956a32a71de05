//! Ctrl-C while a task in words is followed on a terminal.

use super::program::Home;
use super::sample::{self, END, TASK, output, started};
use super::server::{Gate, Reply, Server, Step};
use super::terminal::Terminal;
use ouroboros_process::Status;
use serde_json::{Value, json};

/// What a server that works says to a stop, and to words.
struct Says {
    interrupt: fn(&Value) -> Reply,
    message: fn() -> Reply,
}

const FINE: Says = Says {
    interrupt: |_| Reply::json(200, &agent("running", None)),
    message: || Reply::json(201, &json!({ "number": 1, "duplicate": false })),
};

fn agent(status: &str, exit: Option<u8>) -> Value {
    let outcome = if exit.is_some() { json!({ "cancelled": "requested" }) } else { Value::Null };
    let mut task = sample::task(status, &outcome, exit);
    (task["kind"], task["cost"]) = (json!("agent"), sample::cost(0, 0, 0, 0));
    task
}

/// A task in words that goes on until the gate opens.
fn server(home: &Home, gate: &Gate, says: Says) -> Server {
    let wait = gate.clone();
    Server::start(home, move |request| match request.line().as_str() {
        "GET /api/models" => Reply::json(200, &sample::models()),
        "POST /api/tasks" => Reply::json(201, &sample::accepted()),
        "GET /api/state" => Reply::json(200, &sample::state(None)),
        line if line.ends_with("/events") => Reply::events(&[started(2, 1), output(1, "stderr", 0, b"ready\n")])
            .and(Step::Wait(wait.clone()))
            .and_event(END),
        line if line.ends_with("/cancel") => Reply::json(200, &agent("running", None)),
        line if line.ends_with("/interrupt") => (says.interrupt)(&request.body),
        line if line.ends_with("/messages") => (says.message)(),
        _ => Reply::json(200, &agent("cancelled", Some(130))),
    })
}

fn open(home: &Home) -> Option<Terminal> {
    let mut terminal = Terminal::open(home, &["run", "paint the door"], false)?;
    terminal.expect("ready");
    Some(terminal)
}

/// What was asked of the task, with the body that says how.
fn asked(server: &Server) -> Vec<(String, Value)> {
    let asked =
        server.requests().into_iter().filter(|request| request.line().starts_with(&format!("POST /api/tasks/{TASK}/")));
    asked.map(|request| (request.line().rsplit('/').next().unwrap().to_owned(), request.body)).collect()
}

fn hold(hold: bool) -> (String, Value) {
    ("interrupt".to_owned(), if hold { json!({ "hold": true }) } else { json!({}) })
}

#[test]
fn ctrl_c_stops_the_turn_and_what_is_typed_then_is_said() {
    let (home, gate) = (Home::new(), Gate::default());
    let server = server(&home, &gate, FINE);
    let Some(mut terminal) = open(&home) else { return };
    terminal.press("typed before\n\x03");
    terminal.expect("What to do instead?");
    terminal.press("paint it blue\n");
    terminal.expect("said to task 7; it goes on with that");
    gate.open();
    let (shown, status) = terminal.end();
    assert_eq!(status, Status::Exited(130), "{shown:?}");
    assert_eq!(asked(&server), [hold(true), ("messages".to_owned(), json!({ "text": "paint it blue" }))]);
}

#[test]
fn enter_lets_it_go_on_and_so_does_the_question_after_a_second_ctrl_c() {
    for keys in ["\n", "\x03x"] {
        let (home, gate) = (Home::new(), Gate::default());
        let server = server(&home, &gate, FINE);
        let Some(mut terminal) = open(&home) else { return };
        terminal.press("\x03");
        terminal.expect("What to do instead?");
        let (first, second) = keys.split_at(1);
        terminal.press(first);
        if !second.is_empty() {
            terminal.expect("[c]ancel");
            terminal.press(second);
        }
        gate.open();
        let (shown, status) = terminal.end();
        assert_eq!(status, Status::Exited(130), "{shown:?}");
        assert_eq!(asked(&server), [hold(true), hold(false)], "{keys:?}");
    }
}

#[test]
fn who_leaves_lets_it_go_on_and_who_cancels_need_not() {
    for (key, told) in [("d", hold(false)), ("c", ("cancel".to_owned(), json!({})))] {
        let (home, gate) = (Home::new(), Gate::default());
        let server = server(&home, &gate, FINE);
        let Some(mut terminal) = open(&home) else { return };
        terminal.press("\x03");
        terminal.expect("What to do instead?");
        terminal.press("\x03");
        terminal.expect("[c]ancel");
        terminal.press(key);
        terminal.expect(if key == "d" { "task 7 goes on; `ouroboros attach 7`" } else { "cancelling task 7" });
        gate.open();
        let (shown, status) = terminal.end();
        assert_eq!(status, Status::Exited(if key == "d" { 0 } else { 130 }), "{shown:?}");
        assert_eq!(asked(&server), [hold(true), told]);
    }
}

#[test]
fn ctrl_d_leaves_and_says_so() {
    let (home, gate) = (Home::new(), Gate::default());
    let server = server(&home, &gate, FINE);
    let Some(mut terminal) = open(&home) else { return };
    terminal.press("\x03");
    terminal.expect("What to do instead?");
    terminal.press("\x04");
    let (shown, status) = terminal.end();
    gate.open();
    assert_eq!(status, Status::Exited(0), "{shown:?}");
    assert!(shown.contains("task 7 goes on; `ouroboros attach 7`"), "{shown:?}");
    assert_eq!(asked(&server), [hold(true), hold(false)]);
}

#[test]
fn a_second_ctrl_c_that_comes_before_the_turn_is_stopped_reaches_the_question() {
    let (home, gate, stops) = (Home::new(), Gate::default(), Gate::default());
    let (wait, stopping) = (gate.clone(), stops.clone());
    let server = Server::start(&home, move |request| match request.line().as_str() {
        "GET /api/models" => Reply::json(200, &sample::models()),
        "POST /api/tasks" => Reply::json(201, &sample::accepted()),
        "GET /api/state" => Reply::json(200, &sample::state(None)),
        line if line.ends_with("/events") => Reply::events(&[started(2, 1), output(1, "stderr", 0, b"ready\n")])
            .and(Step::Wait(wait.clone()))
            .and_event(END),
        line if line.ends_with("/interrupt") => {
            stopping.wait();
            Reply::json(200, &agent("running", None))
        }
        _ => Reply::json(200, &agent("cancelled", Some(130))),
    });
    let Some(mut terminal) = open(&home) else { return };
    terminal.press("\x03");
    while asked(&server).is_empty() {
        std::thread::yield_now();
    }
    // The first one is read before: the second one empties what was not.
    terminal.expect("^C");
    terminal.press("\x03");
    terminal.expect_times("^C", 2);
    stops.open();
    terminal.expect("[c]ancel");
    terminal.press("d");
    let (shown, status) = terminal.end();
    gate.open();
    assert_eq!(status, Status::Exited(0), "{shown:?}");
    assert_eq!(asked(&server), [hold(true), hold(false)]);
}

#[test]
fn without_a_turn_there_is_the_question_at_once() {
    let (home, gate) = (Home::new(), Gate::default());
    let says = Says { interrupt: |_| Reply::error(409, "not_running", "No turn is under way.", ""), ..FINE };
    let server = server(&home, &gate, says);
    let Some(mut terminal) = open(&home) else { return };
    terminal.press("\x03");
    terminal.expect("[c]ancel");
    assert!(!terminal.shown.contains("What to do instead?"), "{:?}", terminal.shown);
    terminal.press("d");
    terminal.end();
    gate.open();
    assert_eq!(asked(&server), [hold(true)]);
}

#[test]
fn what_was_not_heard_and_a_turn_that_waits_are_said() {
    let (home, gate) = (Home::new(), Gate::default());
    let says = Says { message: || Reply::error(409, "not_listening", "It has delivered.", ""), ..FINE };
    let _server = server(&home, &gate, says);
    let Some(mut terminal) = open(&home) else { return };
    terminal.press("\x03");
    terminal.expect("What to do instead?");
    terminal.press("more\n");
    terminal.expect("`ouroboros run --continue 7");
    gate.open();
    terminal.end();

    let (home, gate) = (Home::new(), Gate::default());
    let says = Says {
        interrupt: |body| match body["hold"].as_bool() {
            Some(true) => Reply::json(200, &agent("running", None)),
            _ => Reply::error(503, "storage", "The disk is full.", ""),
        },
        ..FINE
    };
    let _server = server(&home, &gate, says);
    let Some(mut terminal) = open(&home) else { return };
    terminal.press("\x03");
    terminal.expect("What to do instead?");
    terminal.press("\x04");
    let (shown, _) = terminal.end();
    gate.open();
    assert!(shown.contains("task 7 is stopped and waits for `ouroboros send 7"), "{shown:?}");
    assert!(!shown.contains("task 7 goes on"), "{shown:?}");
}
