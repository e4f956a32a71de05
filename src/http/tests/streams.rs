//! Streams: no gap, no event twice, all output before the event that ends it.

use super::fake::models::PLANTED;
use super::harness::{Harness, Message, Messages};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ouroboros_proto::kind::{Event, Stream};
use serde_json::json;

fn types(messages: &[Message]) -> Vec<String> {
    messages
        .iter()
        .map(|message| match message.event.as_str() {
            "event" => message.data["event"]["type"].as_str().unwrap().to_owned(),
            other => other.to_owned(),
        })
        .collect()
}

fn output(messages: &[Message], attempt: u64, stream: &str) -> String {
    let mut bytes = Vec::new();
    for message in messages.iter().filter(|message| message.event == "output") {
        if message.data["attempt"] == attempt && message.data["stream"] == stream {
            assert_eq!(message.data["offset"].as_u64().unwrap(), bytes.len() as u64, "in order, once");
            bytes.extend(STANDARD.decode(message.data["data"].as_str().unwrap()).unwrap());
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn all<S: std::io::Read + std::io::Write>(mut stream: Messages<S>) -> Vec<Message> {
    std::iter::from_fn(|| stream.next()).collect()
}

#[test]
fn a_task_is_followed_from_its_beginning_to_its_end() {
    let harness = Harness::new();
    harness.submit();
    let task = harness.world.id(1);
    let mut stream = Messages::open(harness.unix(), "/api/tasks/1/events?output=true", &[]);
    assert_eq!(stream.until("caught_up").unwrap().data, serde_json::json!({}));
    let attempt = harness.world.start(task);
    harness.world.write(task, attempt, Stream::Stdout, b"hel");
    assert_eq!(stream.until("output").unwrap().data["data"], STANDARD.encode("hel"));
    harness.world.write(task, attempt, Stream::Stdout, b"lo");
    harness.world.write(task, attempt, Stream::Stderr, b"oops");
    harness.world.finish(task, attempt, 0);
    let rest = all(stream);
    assert_eq!(rest.last().unwrap().event, "end");
    let kinds = types(&rest);
    let settled = kinds.iter().position(|kind| kind == "settled").unwrap();
    assert!(kinds[..settled].iter().all(|kind| kind == "output") && settled >= 2, "{kinds:?}");
    assert_eq!(output(&rest, 1, "stderr"), "oops");
}

#[test]
fn a_settled_task_is_replayed_whole_with_each_attempts_output_in_its_place() {
    let harness = Harness::new();
    harness.submit();
    let task = harness.world.id(1);
    let first = harness.world.start(task);
    let long = "0123456789".repeat(20_000);
    harness.world.write(task, first, Stream::Stdout, long.as_bytes());
    harness.world.end_attempt(task, first);
    let second = harness.world.start(task);
    harness.world.write(task, second, Stream::Stdout, b"again");
    harness.world.finish(task, second, 0);
    let messages = all(Messages::open(harness.unix(), "/api/tasks/1/events?output", &[]));
    assert_eq!(output(&messages, 1, "stdout"), long);
    assert_eq!(output(&messages, 2, "stdout"), "again");
    let kinds = types(&messages);
    let pieces = kinds.iter().filter(|kind| *kind == "output").count() - 1;
    let mut expected = vec!["submitted", "started", "process_started"];
    expected.extend(vec!["output"; pieces]);
    expected.extend(["attempt_ended", "started", "process_started", "output", "settled", "end"]);
    assert_eq!(kinds, expected);
    let ids: Vec<u64> = messages.iter().filter_map(|message| message.id).collect();
    assert_eq!(ids, (1..=7).collect::<Vec<_>>());
}

#[test]
fn a_reader_goes_on_where_it_was() {
    let harness = Harness::new();
    harness.submit();
    let task = harness.world.id(1);
    let attempt = harness.world.start(task);
    harness.world.write(task, attempt, Stream::Stdout, b"0123456789");
    let path = "/api/tasks/1/events?output=true&from_stdout=4";
    let mut stream = Messages::open(harness.unix(), path, &[("Last-Event-ID", "3")]);
    let piece = stream.until("output").unwrap();
    assert_eq!((piece.data["offset"].as_u64(), piece.data["data"].as_str()), (Some(4), Some("NDU2Nzg5")));
    harness.world.finish(task, attempt, 0);
    assert_eq!(types(&all(stream)), ["settled", "end"]);
    // A reader that has seen the end is told so at once.
    assert_eq!(types(&all(Messages::open(harness.unix(), "/api/tasks/1/events?after=4&output=true", &[]))), ["end"]);
    // The header wins over the parameter, as browsers repeat the address when they come back.
    let again = Messages::open(harness.unix(), "/api/tasks/1/events?after=0", &[("Last-Event-ID", "3")]);
    assert_eq!(types(&all(again)), ["settled", "end"]);
}

#[test]
fn a_gap_in_kept_output_is_told() {
    let harness = Harness::new();
    harness.submit();
    let task = harness.world.id(1);
    let attempt = harness.world.start(task);
    harness.world.write(task, attempt, Stream::Stdout, b"0123456789");
    harness.world.store().kept.insert((attempt, Stream::Stdout), (3, 2));
    harness.world.finish(task, attempt, 0);
    let messages = all(Messages::open(harness.unix(), "/api/tasks/1/events?output=true", &[]));
    let pieces: Vec<_> = messages
        .iter()
        .filter(|message| message.event == "output")
        .map(|message| (message.data["offset"].as_u64().unwrap(), message.data["gap"].as_u64().unwrap()))
        .collect();
    assert_eq!(pieces, [(0, 0), (8, 5)]);
    // Without its files a task still tells how it ended.
    harness.world.store().expired = true;
    let kinds = types(&all(Messages::open(harness.unix(), "/api/tasks/1/events?output=true", &[])));
    assert_eq!(kinds, ["submitted", "started", "process_started", "settled", "end"]);
}

#[test]
fn events_that_are_no_longer_kept_are_said_to_be_gone() {
    let harness = Harness::new();
    harness.submit();
    let task = harness.world.id(1);
    let attempt = harness.world.start(task);
    harness.world.finish(task, attempt, 0);
    harness.submit();
    harness.world.drop_events(4);
    let ask = |path: &str| {
        let answer = harness.get(path);
        (answer.status, answer.code())
    };
    assert_eq!(ask("/api/tasks/1/events?after=2"), (410, "events_expired".to_owned()));
    assert_eq!(ask("/api/tasks/1/events"), (410, "events_expired".to_owned()), "its end is not kept");
    assert_eq!(ask("/api/events?after=3&follow=false"), (410, "events_expired".to_owned()));
    assert_eq!(harness.get("/api/events?after=3").json()["detail"]["oldest"], 5);
    assert_eq!(types(&all(Messages::open(harness.unix(), "/api/events?after=4&follow=false", &[]))), ["submitted"]);
    assert_eq!(types(&all(Messages::open(harness.unix(), "/api/events?follow=false", &[]))), ["submitted"]);
}

#[test]
fn an_attempt_whose_start_is_no_longer_kept_is_followed_all_the_same() {
    let harness = Harness::new();
    harness.submit();
    let task = harness.world.id(1);
    let attempt = harness.world.start(task);
    harness.world.write(task, attempt, Stream::Stdout, b"early ");
    harness.world.drop_events(3);
    let mut stream = Messages::open(harness.unix(), "/api/tasks/1/events?output=true", &[]);
    let mut seen = vec![stream.next().unwrap(), stream.next().unwrap()];
    harness.world.write(task, attempt, Stream::Stdout, b"late");
    harness.world.finish(task, attempt, 0);
    seen.extend(all(stream));
    assert_eq!(output(&seen, 1, "stdout"), "early late");
    assert_eq!(seen.last().unwrap().event, "end");
}

#[test]
fn everything_is_seen_once_by_a_reader_that_lags() {
    let harness = Harness::new();
    harness.submit();
    let task = harness.world.id(1);
    let mut stream = Messages::open(harness.unix(), "/api/events?after=0", &[]);
    let writer = {
        let world = harness.world.clone();
        std::thread::spawn(move || {
            // Far more than the broadcast keeps for a slow reader.
            for _ in 0..2_000 {
                world.event(Some(task), Event::Released);
            }
        })
    };
    let mut seen = Vec::new();
    while seen.len() < 2_001 {
        seen.extend(stream.next().unwrap().id);
    }
    writer.join().unwrap();
    assert_eq!(seen, (1..=2_001).collect::<Vec<_>>());
}

#[test]
fn events_are_chosen_by_task_and_type() {
    let harness = Harness::new();
    harness.submit();
    harness.submit();
    harness.world.event(None, Event::SlotsChanged { slots: 4 });
    let id = harness.world.id(2);
    harness.world.event(Some(id), Event::Released);
    let ask =
        |query: &str| types(&all(Messages::open(harness.unix(), &format!("/api/events?follow=false&{query}"), &[])));
    assert_eq!(ask(""), ["submitted", "submitted", "slots_changed", "released"]);
    assert_eq!(ask("task=2"), ["submitted", "released"]);
    assert_eq!(ask("type=slots_changed,released"), ["slots_changed", "released"]);
    assert_eq!(ask("tail=1"), ["released"]);
    assert_eq!(ask("tail=99"), ask(""));
    for bad in ["type=explosion", "tail=1&after=1", "after=x", "task=9", "follow=maybe"] {
        assert_eq!(harness.get(&format!("/api/events?{bad}")).status / 100, 4, "{bad}");
    }
    assert_eq!(harness.get("/api/tasks/9/events").code(), "unknown_task");
}

#[test]
fn a_transcript_is_followed_with_the_text_that_is_being_written_before_its_answer() {
    let harness = Harness::new();
    harness.submit();
    let task = harness.world.id(1);
    let attempt = harness.world.start(task);
    let entry = |kind: &str| json!({ "type": kind, "text": PLANTED });
    harness.world.record(task, attempt, &entry("asked"));
    let mut stream = Messages::open(harness.unix(), "/api/tasks/1/events?entries=true", &[]);
    let first = stream.until("entry").unwrap();
    assert_eq!((&first.data["place"], &first.data["entry"]["type"]), (&json!(1), &json!("asked")));
    assert!(!first.data.to_string().contains(PLANTED), "{:?}", first.data);
    harness.world.hear(task, attempt, 1, "I look at the fi");
    let piece = stream.until("piece").unwrap();
    assert_eq!(piece.data, json!({ "attempt": 1, "call": 1, "offset": 0, "text": "I look at the " }));
    harness.world.hear(task, attempt, 1, &format!("le {PLANTED} now"));
    let piece = stream.until("piece").unwrap();
    assert_eq!(piece.data["offset"], 14);
    assert!(piece.data["text"].as_str().unwrap().starts_with("file ") && !piece.data.to_string().contains(PLANTED));
    // The rest is in the entry, which comes before what is written after it.
    harness.world.heard_out(task, attempt, 1);
    harness.world.record(task, attempt, &entry("answered"));
    harness.world.record(task, attempt, &entry("results"));
    harness.world.hear(task, attempt, 2, "Done. -----BEGIN PRIVATE KEY-----\nMIIE\n");
    harness.world.record(task, attempt, &entry("delivered"));
    harness.world.finish(task, attempt, 0);
    let rest = all(stream);
    let kinds = types(&rest);
    let words: Vec<&str> = kinds.iter().map(String::as_str).filter(|kind| *kind != "piece").collect();
    assert_eq!(words, ["entry", "entry", "entry", "settled", "end"]);
    let early = kinds.iter().position(|kind| kind == "piece");
    assert!(early.is_none_or(|at| at >= 2), "{kinds:?}");
    let pieces = rest.iter().filter(|message| message.event == "piece");
    assert!(
        pieces.into_iter().all(|piece| piece.data["text"] == "Done. "),
        "a key of several lines is not shown in pieces"
    );
    let again =
        all(Messages::open(harness.unix(), "/api/tasks/1/events?entries=true&from_entry=3", &[("Last-Event-ID", "3")]));
    assert_eq!(types(&again), ["entry", "entry", "settled", "end"], "from there on, and none twice");
}
