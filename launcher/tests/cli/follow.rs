//! `run`, `attach` and `wait` follow a task.

use super::program::{Home, Ran};
use super::sample::{self, END, TASK, output, settled, started};
use super::server::{Gate, Reply, Request, Server, Step};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A server with one task, whose streams are given in order of the connections.
fn server(home: &Home, last: Value, streams: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Server {
    let connections = AtomicUsize::new(0);
    Server::start(home, move |request| match request.line().as_str() {
        "POST /api/tasks" => Reply::json(201, &sample::accepted()),
        "GET /api/state" => Reply::json(200, &sample::state(None)),
        line if line == format!("GET /api/tasks/{TASK}") || line == "GET /api/tasks/7" => {
            let followed = connections.load(Ordering::SeqCst) > 0;
            Reply::json(200, &if followed { last.clone() } else { sample::running() })
        }
        line if line == format!("GET /api/tasks/{TASK}/events") => {
            streams(connections.fetch_add(1, Ordering::SeqCst), request)
        }
        line if line.ends_with("/cancel") => Reply::json(200, &sample::running()),
        other => panic!("{other} was not expected"),
    })
}

fn stream(messages: &[String]) -> Reply {
    Reply::events(messages)
}

#[test]
fn output_is_copied_byte_for_byte_and_the_exit_code_is_the_commands() {
    let home = Home::new();
    let _server = server(&home, sample::failed(3), |_, _| {
        stream(&[
            started(2, 1),
            output(1, "stdout", 0, b"a\x00\xff\n\r"),
            output(1, "stderr", 0, b"oops\n"),
            output(1, "stdout", 5, b"no newline"),
            settled(3),
            END.to_owned(),
        ])
    });
    let ran = home.run(&["run", "-q", "--", "x"]);
    assert_eq!(ran.code, Some(3));
    assert_eq!(ran.stdout, b"a\x00\xff\n\rno newline");
    assert_eq!(ran.stderr, b"oops\n");
    let ran = home.run(&["attach", "7"]);
    assert_eq!((ran.code, ran.stdout.as_slice()), (Some(3), &b"a\x00\xff\n\rno newline"[..]));
}

#[test]
fn every_ending_has_its_exit_code() {
    let ended = |ending: Value| json!({ "failed": { "ended": ending } });
    let cases = [
        (ended(json!({ "signaled": { "signal": 9, "out_of_memory": "unknown" } })), 137),
        (ended(json!("timed_out")), 124),
        (ended(json!("not_found")), 127),
        (ended(json!({ "not_executable": { "errno": 13 } })), 126),
        (json!({ "failed": "interrupted" }), 125),
        (json!({ "cancelled": "requested" }), 130),
    ];
    for (outcome, code) in cases {
        let home = Home::new();
        let mut last = sample::task("failed", &outcome, Some(code));
        last["reason"] = json!("because");
        let _server = server(&home, last, |_, _| stream(&[settled(3), END.to_owned()]));
        let ran = home.run(&["run", "--", "x"]);
        assert_eq!((ran.code, ran.out()), (Some(i32::from(code)), String::new()), "{outcome}");
        assert_eq!(ran.err(), "ouroboros: task 7 accepted\nouroboros: task 7: because\n", "{outcome}");
    }
}

#[test]
fn a_lost_connection_is_taken_up_where_it_broke() {
    let home = Home::new();
    let server = server(&home, sample::completed(), |connection, _| match connection {
        0 => stream(&[started(2, 1), output(1, "stdout", 0, b"one "), output(1, "stderr", 0, b"e")]),
        1 => Reply::error(503, "stopping", "The server is stopping.", "Wait."),
        // Some of it comes again, as from a server that knows less about us.
        2 => stream(&[started(2, 1), output(1, "stdout", 0, b"one two ")]),
        _ => stream(&[output(1, "stdout", 8, b"three"), settled(3), END.to_owned()]),
    });
    let ran = home.run(&["run", "-q", "--", "x"]);
    assert_eq!((ran.code, ran.out().as_str(), ran.err().as_str()), (Some(0), "one two three", "e"));
    let asked: Vec<Request> = server.requests().into_iter().filter(|r| r.line().ends_with("/events")).collect();
    assert!(asked[0].target.ends_with("/events?output=true&from_stdout=0&from_stderr=0"), "{}", asked[0].target);
    assert_eq!(asked[0].header("last-event-id"), None);
    assert!(asked[3].target.ends_with("&from_stdout=8&from_stderr=1"), "{}", asked[3].target);
    assert_eq!(asked[3].header("last-event-id"), Some("2"));
}

#[test]
fn a_second_attempt_begins_at_its_beginning() {
    let home = Home::new();
    let again = json!({ "type": "attempt_ended", "attempt": sample::ATTEMPT, "why": "retry", "not_before": null });
    let server = server(&home, sample::completed(), move |connection, _| match connection {
        0 => stream(&[started(2, 1), output(1, "stdout", 0, b"first "), sample::event(3, &again)]),
        _ => stream(&[started(4, 2), output(2, "stdout", 0, b"second"), settled(5), END.to_owned()]),
    });
    assert_eq!(home.run(&["run", "-q", "--", "x"]).out(), "first second");
    let asked: Vec<Request> = server.requests().into_iter().filter(|r| r.line().ends_with("/events")).collect();
    assert!(asked[1].target.ends_with("&from_stdout=0&from_stderr=0"), "{}", asked[1].target);
}

#[test]
fn what_is_not_kept_is_said() {
    let home = Home::new();
    let _server = server(&home, sample::completed(), |_, _| {
        stream(&[output(1, "stdout", 0, b"head"), output(1, "stdout", 100, b"tail"), END.to_owned()])
    });
    let ran = home.run(&["run", "--", "x"]);
    assert_eq!(ran.out(), "headtail");
    assert!(ran.err().contains("96 bytes of stdout are not kept"), "{}", ran.err());
}

#[test]
fn a_server_that_stays_away_is_told_with_what_is_known() {
    let home = Home::new();
    let _server = server(&home, sample::completed(), |connection, _| match connection {
        0 => stream(&[started(2, 1), output(1, "stdout", 0, b"abc")]),
        _ => Reply::error(503, "stopping", "The server is stopping.", "Wait."),
    });
    let ran = home.run(&["run", "--reconnect", "50ms", "--", "x"]);
    insta::assert_snapshot!("server_gone", ran.shown());
}

#[test]
fn following_in_json_is_a_document_a_line() {
    let home = Home::new();
    let _server = server(&home, sample::completed(), |_, _| {
        stream(&[started(2, 1), output(1, "stdout", 0, b"hi"), settled(3), END.to_owned()])
    });
    let ran = home.run(&["run", "--json", "--", "x"]);
    let lines: Vec<Value> = ran.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&Value> = lines.iter().map(|line| &line["message"]).collect();
    assert_eq!(kinds, ["event", "output", "event", "end"]);
    assert!(lines.iter().all(|line| line["api"] == 1));
    assert_eq!((&lines[1]["data"], &lines[3]["task"]["exit_code"]), (&json!("aGk="), &json!(0)));
}

/// A run that has shown `ready` and whose task goes on until the gate opens.
fn long_run(home: &Home, last: Value) -> (Server, Child, Gate) {
    long(home, last, &["run", "--", "x"])
}

/// The same with this command line.
fn long(home: &Home, last: Value, arguments: &[&str]) -> (Server, Child, Gate) {
    let gate = Gate::default();
    let wait = gate.clone();
    let server = server(home, last, move |_, _| {
        stream(&[started(2, 1), output(1, "stdout", 0, b"ready\n")]).and(Step::Wait(wait.clone())).and_event(END)
    });
    let mut child = home.spawn(arguments);
    let mut line = String::new();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    reader.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child.stdout = Some(reader.into_inner());
    (server, child, gate)
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Reads standard error up to a line with these words.
fn heard(child: &mut Child, words: &str) -> Vec<u8> {
    let mut stderr = BufReader::with_capacity(1, child.stderr.take().unwrap());
    let mut all = Vec::new();
    loop {
        let before = all.len();
        assert!(stderr.read_until(b'\n', &mut all).unwrap() > 0, "{}", String::from_utf8_lossy(&all));
        if String::from_utf8_lossy(&all[before..]).contains(words) {
            child.stderr = Some(stderr.into_inner());
            return all;
        }
    }
}

#[test]
fn without_a_terminal_a_signal_cancels_and_a_second_one_waits_no_longer() {
    for first in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let home = Home::new();
        let cancelled = sample::task("cancelled", &json!({ "cancelled": "requested" }), Some(130));
        let (server, mut child, gate) = long_run(&home, cancelled);
        signal(&child, first);
        heard(&mut child, "cancelling task 7");
        signal(&child, rustix::process::Signal::TERM);
        heard(&mut child, "cancelling task 7");
        gate.open();
        assert_eq!(home.finish(child).code, Some(130));
        let bodies: Vec<Value> =
            server.requests().into_iter().filter(|r| r.line().ends_with("/cancel")).map(|r| r.body).collect();
        assert_eq!(bodies, [json!({}), json!({ "grace_ms": 0 })]);
    }
}

fn went_on(server: &Server, ran: &Ran) {
    assert_eq!((ran.code, ran.err().as_str()), (Some(0), "ouroboros: task 7 accepted\n"));
    assert!(!server.lines().iter().any(|line| line.ends_with("/cancel")));
}

#[test]
fn the_task_goes_on_when_who_watches_it_is_ended() {
    let home = Home::new();
    let (server, child, _gate) = long(&home, sample::completed(), &["attach", "7"]);
    signal(&child, rustix::process::Signal::TERM);
    assert_eq!(home.finish(child).code, Some(0));
    assert!(!server.lines().iter().any(|line| line.ends_with("/cancel")));
}

#[test]
fn the_task_goes_on_when_the_terminal_or_the_reader_leaves() {
    let home = Home::new();
    let (server, child, _gate) = long_run(&home, sample::completed());
    signal(&child, rustix::process::Signal::HUP);
    went_on(&server, &home.finish(child));
    drop(server);

    let home = Home::new();
    let (server, mut child, _gate) = long_run(&home, sample::completed());
    drop(child.stdout.take());
    went_on(&server, &home.finish(child));
}

#[test]
fn logs_follow_one_stream() {
    let home = Home::new();
    let _server = server(&home, sample::completed(), |_, _| {
        stream(&[
            output(1, "stdout", 0, b"out"),
            output(1, "stderr", 0, b"err"),
            output(2, "stderr", 0, b"2"),
            END.to_owned(),
        ])
    });
    assert_eq!(home.run(&["logs", "-f", "7"]).shown(), "exit code 0\n--- stdout\nout");
    assert_eq!(home.run(&["logs", "-f", "7", "--stderr", "--attempt", "1"]).out(), "err");
}

#[test]
fn output_of_a_task_whose_events_are_gone_is_still_copied() {
    let home = Home::new();
    let _server = Server::start(&home, |request| match request.line() {
        line if line.ends_with("/events") => Reply::error(410, "events_expired", "They are gone.", "Read the task."),
        line if line.ends_with("/logs/stdout") => Reply::bytes(b"kept", ""),
        line if line.ends_with("/logs/stderr") => Reply::bytes(b"", ""),
        _ => Reply::json(200, &sample::failed(3)),
    });
    let ran = home.run(&["attach", "7"]);
    assert_eq!((ran.code, ran.out().as_str(), ran.err().as_str()), (Some(3), "kept", ""));
}

#[test]
fn waiting_gives_the_first_code_that_is_not_zero() {
    let home = Home::new();
    let _server = server(&home, sample::failed(4), |connection, _| match connection {
        0 => stream(&[started(2, 1)]),
        _ => stream(&[settled(3), END.to_owned()]),
    });
    let ran = home.run(&["wait", "7", "7"]);
    assert_eq!(ran.shown(), "exit code 4\n--- stdout\n7 failed 4\n7 failed 4\n");
}

#[test]
fn events_are_followed_until_the_server_ends_them() {
    let home = Home::new();
    let gate = Gate::default();
    let wait = gate.clone();
    let server = Server::start(&home, move |_| {
        Reply::events(&[started(2, 1), "event: caught_up\ndata: {}\n\n".into()])
            .and(Step::Wait(wait.clone()))
            .and_event(&settled(3))
    });
    let mut child = home.spawn(&["events", "-f", "--tail", "1", "--type", "started,settled"]);
    let mut first = [0; 10];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    gate.open();
    let ran = home.finish(child);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out().contains("completed") && ran.err().contains("server ended the stream"), "{}", ran.shown());
    assert_eq!(server.requests()[0].target, "/api/events?type=started%2Csettled&follow=true&tail=1");
}
