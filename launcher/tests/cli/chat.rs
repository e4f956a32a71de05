//! A conversation on a terminal.

use super::program::Home;
use super::sample::{self, END, TASK, event, output, started};
use super::server::{Gate, Reply, Server, Step};
use super::terminal::Terminal;
use nix::sys::signal::Signal;
use ouroboros_process::Status;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicU32, Ordering};

const NEXT: &str = "01930000-0000-7000-8000-000000000008";
const CAUGHT_UP: &str = "event: caught_up\ndata: {}\n\n";

/// A task in words with this number and exit code; `None` while it works.
fn agent(number: u32, exit: Option<u8>) -> Value {
    let mut task = if exit.is_some() { sample::completed() } else { sample::running() };
    let id = if number == 7 { TASK } else { NEXT };
    (task["kind"], task["id"], task["number"], task["exit_code"]) =
        (json!("agent"), json!(id), json!(number), json!(exit));
    task["agent"] = json!({ "head": "x", "route": null, "folder": "/srv/site", "messages": [] });
    task["cost"] = sample::cost(2_100_000, 0, 0, 1);
    task
}

/// What every conversation needs; `None` for what is special.
fn usual(line: &str) -> Option<Reply> {
    Some(match line {
        "GET /api/models" => Reply::json(200, &sample::models()),
        "GET /api/state" => Reply::json(200, &sample::state(None)),
        _ => return None,
    })
}

fn bodies(server: &Server, line: &str) -> Vec<Value> {
    server.requests().into_iter().filter(|request| request.line() == line).map(|request| request.body).collect()
}

#[test]
fn a_conversation_is_a_chain_of_tasks_that_is_spoken_to_while_it_works() {
    let (home, gate) = (Home::new(), Gate::default());
    std::fs::write(home.file("notes.txt"), "").unwrap();
    let (wait, count) = (gate.clone(), AtomicU32::new(7));
    let server = Server::start(&home, move |request| match request.line().as_str() {
        "POST /api/tasks" => {
            let number = count.fetch_add(1, Ordering::SeqCst);
            let id = if number == 7 { TASK } else { NEXT };
            Reply::json(201, &json!({ "id": id, "number": number, "duplicate": false }))
        }
        line if line == format!("POST /api/tasks/{TASK}/messages") => {
            gate.open();
            Reply::json(201, &json!({ "number": 1, "duplicate": false }))
        }
        line if line == format!("GET /api/tasks/{TASK}/events") => Reply::events(&[
            started(2, 1),
            CAUGHT_UP.to_owned(),
            output(1, "stderr", 0, "it waits\n> I look.\n· read_file {}\n".as_bytes()),
            sample::piece(1, 1, 0, "I look\n"),
            sample::entry(2, &sample::answered("I look\nnow.", &[("read_file", r#"{"path":"a\u001b[2J"}"#)])),
            sample::entry(3, &sample::result("read_file", "ok", "one\ntwo")),
        ])
        .and(Step::Wait(wait.clone()))
        .and_event(&output(1, "stdout", 0, b"It is\na site."))
        .and_event(&sample::settled(9))
        .and_event(END),
        line if line == format!("GET /api/tasks/{NEXT}/events") => {
            Reply::events(&[started(2, 1), output(1, "stdout", 0, b"Shorter."), sample::settled(9), END.to_owned()])
        }
        line if line == format!("GET /api/tasks/{NEXT}") => Reply::json(200, &agent(8, Some(0))),
        line if line == format!("GET /api/tasks/{TASK}") => Reply::json(200, &agent(7, Some(0))),
        "GET /api/tasks/8" => Reply::json(200, &agent(8, Some(0))),
        "GET /api/tasks/8/changes" => Reply::json(200, &json!({ "folder": "/srv", "files": [] })),
        line => usual(line).unwrap_or_else(|| panic!("{line} was not expected")),
    });
    let folder = home.path().to_str().unwrap();
    let Some(mut terminal) = Terminal::open(&home, &["chat", "-m", "openai/gpt-5.1", "-C", folder], false) else {
        return;
    };
    terminal.expect("/help lists");
    terminal.press("what is @no\t?\r");
    terminal.expect("· read_file a\\u{1b}[2J — 2 lines, 12 ms");
    for words in ["it waits", "I look\r\n", "now."] {
        assert_eq!(terminal.shown.matches(words).count(), 1, "{words:?}: {:?}", terminal.shown);
    }
    terminal.press("and\x1b\ronly short\r");
    terminal.expect("a site.");
    terminal.expect("$0.0021");
    terminal.press("\x1b[200~shorter\nplease\x1b[201~\r");
    terminal.expect("Shorter.");
    terminal.press("/cost\r");
    terminal.expect("task 8: $0.0021");
    terminal.press("/diff\r");
    terminal.expect("it changed nothing");
    terminal.press("/nothing\r");
    terminal.expect("/nothing is no command");
    terminal.press("\x04");
    let (shown, status) = terminal.end();
    assert_eq!(status, Status::Exited(0), "{shown:?}");
    let asked = bodies(&server, "POST /api/tasks");
    assert_eq!(asked[0]["agent"]["prompt"], "what is @notes.txt ?", "{shown:?}");
    assert_eq!(asked[0]["agent"]["route"], "openai/gpt-5.1");
    assert_eq!(asked[1]["agent"]["prompt"], "shorter\nplease");
    assert_eq!(asked[1]["agent"]["from"], json!({ "task": TASK }));
    assert_eq!(asked[1]["agent"].get("folder"), None, "that task's");
    let told = bodies(&server, &format!("POST /api/tasks/{TASK}/messages"));
    assert_eq!(told, [json!({ "text": "and\nonly short" })]);
    let history = home.file("chat.history");
    assert_eq!(history.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(std::fs::read_to_string(history).unwrap().contains("@notes.txt"));
}

#[test]
fn ctrl_c_and_escape_stop_the_turn_and_leaving_ends_nothing() {
    let (home, gate) = (Home::new(), Gate::default());
    let wait = gate.clone();
    let server = Server::start(&home, move |request| match request.line().as_str() {
        "GET /api/tasks/7" => Reply::json(200, &agent(7, None)),
        line if line == format!("GET /api/tasks/{TASK}") => Reply::json(200, &agent(7, None)),
        line if line == format!("POST /api/tasks/{TASK}/interrupt") => Reply::json(200, &agent(7, None)),
        line if line == format!("POST /api/tasks/{TASK}/messages") => {
            Reply::json(201, &json!({ "number": 1, "duplicate": false }))
        }
        line if line == format!("POST /api/tasks/{TASK}/cancel") => Reply::json(200, &agent(7, None)),
        line if line == format!("GET /api/tasks/{TASK}/events") => {
            Reply::events(&[started(2, 1), CAUGHT_UP.to_owned()]).and(Step::Wait(wait.clone()))
        }
        line => usual(line).unwrap_or_else(|| panic!("{line} was not expected")),
    });
    let Some(mut terminal) = Terminal::open(&home, &["chat", "--resume", "7"], false) else { return };
    terminal.expect("/help lists");
    terminal.press("\x03");
    terminal.expect("stopped; it waits for what you say");
    terminal.press("\x03");
    terminal.expect("it is stopped and waits");
    terminal.press("go on\r");
    terminal.press("/stop\r");
    terminal.expect("cancelling task 7");
    terminal.shown.clear();
    terminal.press("\x1b");
    terminal.expect("stopped; it waits for what you say");
    terminal.press("/quit\r");
    let (shown, status) = terminal.end();
    gate.open();
    assert_eq!(status, Status::Exited(0), "{shown:?}");
    assert!(shown.contains("task 7 goes on; `ouroboros chat --resume 7`"), "{shown:?}");
    let stops = bodies(&server, &format!("POST /api/tasks/{TASK}/interrupt"));
    assert_eq!(stops, [json!({ "hold": true }), json!({ "hold": true })]);
}

#[test]
fn what_it_asks_is_answered_with_the_next_line_and_what_it_did_not_hear_is_not_lost() {
    let (home, gate) = (Home::new(), Gate::default());
    let wait = gate.clone();
    let request = json!({ "task": TASK, "number": 7, "request": 3, "attempt": sample::ATTEMPT, "state": "open",
        "asks": { "type": "question", "text": "Which colour?", "options": ["red", "blue"] },
        "asked_at": sample::ago(9), "expires_at": null, "closed_at": null, "answer": null });
    let answered = std::sync::atomic::AtomicBool::new(false);
    let server = Server::start(&home, move |asked| match asked.line().as_str() {
        "GET /api/tasks/7" => Reply::json(200, &agent(7, None)),
        line if line == format!("GET /api/tasks/{TASK}") => {
            let over = answered.load(Ordering::SeqCst);
            let mut task = agent(7, over.then_some(0));
            if over {
                task["agent"]["messages"] =
                    json!([{ "number": 1, "at": sample::ago(1), "text": "and the frame", "taken": null }]);
            } else {
                task["request"] = request.clone();
            }
            Reply::json(200, &task)
        }
        line if line.ends_with("/3/answer") => {
            answered.store(true, Ordering::SeqCst);
            gate.open();
            Reply::json(200, &request)
        }
        "POST /api/tasks" => Reply::json(201, &json!({ "id": NEXT, "number": 8, "duplicate": false })),
        line if line == format!("GET /api/tasks/{TASK}/events") => {
            let opens = json!({ "type": "request_opened", "request": 3, "kind": "question", "expires_at": null });
            let heard = json!({ "type": "request_answered", "request": 3, "rule": null });
            Reply::events(&[started(2, 1), event(3, &opens), CAUGHT_UP.to_owned()])
                .and(Step::Wait(wait.clone()))
                .and_event(&event(4, &heard))
                .and_event(&output(1, "stdout", 0, b"Blue it is."))
                .and_event(&sample::settled(5))
                .and_event(END)
        }
        line if line == format!("GET /api/tasks/{NEXT}/events") => {
            Reply::events(&[started(2, 1), output(1, "stdout", 0, b"The frame too."), sample::settled(9), END.into()])
        }
        line if line == format!("GET /api/tasks/{NEXT}") => Reply::json(200, &agent(8, Some(3))),
        line => usual(line).unwrap_or_else(|| panic!("{line} was not expected")),
    });
    let Some(mut terminal) = Terminal::open(&home, &["chat", "--resume", "7"], false) else { return };
    terminal.expect("2) blue");
    terminal.press("\r");
    terminal.expect("an answer has words");
    terminal.press("2\r");
    terminal.expect("Blue it is.");
    terminal.expect("task 8 goes on with it");
    terminal.expect("The frame too.");
    terminal.expect("task 8:");
    terminal.press("/quit\r");
    let (shown, status) = terminal.end();
    assert_eq!(status, Status::Exited(3), "the exit code is the last task's: {shown:?}");
    assert_eq!(bodies(&server, &format!("POST /api/requests/{TASK}/3/answer")), [json!({ "option": 2 })]);
    assert_eq!(bodies(&server, "POST /api/tasks")[0]["agent"]["prompt"], "and the frame");
}

#[test]
fn the_newest_conversation_in_this_folder_is_found_and_a_pipe_is_no_terminal() {
    let home = Home::new();
    let ran = home.run(&["chat"]);
    assert_eq!(ran.code, Some(2), "{}", ran.shown());
    assert!(ran.err().contains("needs a terminal"), "{}", ran.shown());
    let here = home.path().to_str().unwrap().to_owned();
    let _server = Server::start(&home, move |request| match request.line().as_str() {
        "GET /api/tasks" => Reply::json(
            200,
            &json!({ "tasks": [sample::completed(), agent(8, Some(0)), agent(7, Some(0))], "next": null }),
        ),
        line if line == format!("GET /api/tasks/{NEXT}") => Reply::json(200, &agent(8, Some(0))),
        line if line == format!("GET /api/tasks/{TASK}") => {
            let mut task = agent(7, Some(0));
            task["agent"]["folder"] = json!(here);
            Reply::json(200, &task)
        }
        line => usual(line).unwrap_or_else(|| panic!("{line} was not expected")),
    });
    let Some(mut terminal) = Terminal::open(&home, &["chat", "--last", "-C", home.path().to_str().unwrap()], false)
    else {
        return;
    };
    terminal.expect("task 7: make -j2");
    terminal.press("\x04");
    assert_eq!(terminal.end().1, Status::Exited(0));
    let Some(terminal) = Terminal::open(&home, &["chat", "--last", "-C", "/srv"], false) else { return };
    let (shown, status) = terminal.end();
    assert_eq!(status, Status::Exited(1), "{shown:?}");
    assert!(shown.contains("no_conversation"), "{shown:?}");
    let Some(mut terminal) = Terminal::open(&home, &[], false) else { return };
    terminal.expect("/help lists");
    terminal.press("\x04");
    assert_eq!(terminal.end().1, Status::Exited(0));
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was_and_the_task_going_on() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let (home, gate) = (Home::new(), Gate::default());
        let wait = gate.clone();
        let server = Server::start(&home, move |request| match request.line().as_str() {
            "GET /api/tasks/7" => Reply::json(200, &agent(7, None)),
            line if line == format!("GET /api/tasks/{TASK}") => Reply::json(200, &agent(7, None)),
            line if line == format!("GET /api/tasks/{TASK}/events") => {
                Reply::events(&[started(2, 1), CAUGHT_UP.to_owned()]).and(Step::Wait(wait.clone()))
            }
            line => usual(line).unwrap_or_else(|| panic!("{line} was not expected")),
        });
        let Some(mut terminal) = Terminal::open(&home, &["chat", "--resume", "7"], false) else { return };
        terminal.expect("> ");
        terminal.press("half a line");
        terminal.expect("half a line");
        assert!(!terminal.is_as_before());
        terminal.signal(signal);
        terminal.expect("\x1e");
        assert!(terminal.is_as_before(), "{signal}");
        let (shown, status) = terminal.end();
        gate.open();
        assert_eq!(status, Status::Exited(code), "{shown:?}");
        assert!(shown.contains("task 7 goes on; `ouroboros chat --resume 7`"), "{shown:?}");
        assert!(shown.contains("\x1b[?2004l"), "{shown:?}");
        assert!(server.lines().iter().all(|line| line.starts_with("GET ")), "{:?}", server.lines());
    }
}
