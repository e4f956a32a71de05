//! Raw output.

use super::harness::{Answer, Harness, exchange, read_chunk, read_head, request};
use ouroboros_proto::kind::{AttemptId, Stream, TaskId};
use std::io::Write as _;

fn running(harness: &Harness) -> (TaskId, AttemptId) {
    harness.submit();
    let task = harness.world.id(1);
    (task, harness.world.start(task))
}

fn ranged(harness: &Harness, range: &str) -> Answer {
    exchange(harness.unix(), &request("GET", "/api/tasks/1/logs/stdout", &[("Range", range)], None))
}

#[test]
fn output_is_given_whole_and_in_ranges() {
    let harness = Harness::new();
    let (task, attempt) = running(&harness);
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    harness.world.write(task, attempt, Stream::Stdout, &bytes);
    harness.world.write(task, attempt, Stream::Stderr, b"oops");
    assert!(harness.get("/api/tasks/1/logs/stdout").body == bytes, "while it runs");
    harness.world.finish(task, attempt, 0);
    let answer = harness.get("/api/tasks/1/logs/stdout");
    assert_eq!((answer.status, answer.body.len(), answer.headers["content-length"].as_str()), (200, 300_000, "300000"));
    assert!(answer.body == bytes);
    assert_eq!(harness.get("/api/tasks/last/logs/stderr").body, b"oops");
    let answer = ranged(&harness, "bytes=10-19");
    assert_eq!((answer.status, answer.headers["content-range"].as_str()), (206, "bytes 10-19/300000"));
    assert_eq!(answer.body, &bytes[10..20]);
    assert_eq!(ranged(&harness, "bytes=-3").body, &bytes[299_997..]);
    assert_eq!(ranged(&harness, "bytes=100000-").body, &bytes[100_000..]);
    let answer = ranged(&harness, "bytes=300000-");
    assert_eq!(
        (answer.status, answer.code().as_str(), answer.json()["detail"]["written"].as_u64()),
        (416, "bad_range", Some(300_000))
    );
}

#[test]
fn what_is_not_kept_is_marked() {
    let harness = Harness::new();
    let (task, attempt) = running(&harness);
    harness.world.write(task, attempt, Stream::Stdout, b"0123456789");
    harness.world.store().kept.insert((attempt, Stream::Stdout), (3, 2));
    harness.world.finish(task, attempt, 0);
    let answer = harness.get("/api/tasks/1/logs/stdout");
    assert_eq!((answer.body.as_slice(), answer.headers["ouroboros-gap"].as_str()), (&b"01289"[..], "3-7"));
    assert_eq!(answer.headers["ouroboros-written"], "10");
    assert_eq!(ranged(&harness, "bytes=1-").body, b"12", "up to where bytes are missing");
    assert_eq!(ranged(&harness, "bytes=8-").body, b"89");
    assert_eq!(ranged(&harness, "bytes=5-").code(), "bad_range");
    assert_eq!(harness.get("/api/tasks/1/logs/stdout?tail=1").body, b"9");
    assert_eq!(harness.get("/api/tasks/1/logs/stdout?tail=9").body, b"89", "in one piece");
    let silent = harness.get("/api/tasks/1/logs/stderr?tail=9");
    assert_eq!((silent.status, silent.body.len()), (200, 0), "nothing is no error");
    harness.world.store().expired = true;
    let answer = harness.get("/api/tasks/1/logs/stdout");
    assert_eq!((answer.status, answer.code().as_str()), (410, "expired"));
}

#[test]
fn dropped_bytes_of_a_running_attempt_are_a_bad_range_and_not_expired() {
    let harness = Harness::new();
    let (task, attempt) = running(&harness);
    harness.world.write(task, attempt, Stream::Stdout, b"0123456789");
    harness.world.store().kept.insert((attempt, Stream::Stdout), (3, 4));
    let answer = ranged(&harness, "bytes=4-");
    assert_eq!((answer.status, answer.code().as_str()), (416, "bad_range"));
    assert_eq!(ranged(&harness, "bytes=6-").body, b"6789");
    // Between the look at what is kept and the read of it the worker goes on.
    harness.world.store().overtaken = 8;
    let answer = ranged(&harness, "bytes=6-");
    assert_eq!((answer.status, answer.code().as_str()), (416, "bad_range"));
    assert_eq!(answer.json()["detail"]["tail_from"], 6);
    harness.world.finish(task, attempt, 0);
    let answer = ranged(&harness, "bytes=6-");
    assert_eq!((answer.status, answer.code().as_str()), (410, "expired"), "of what is over nothing should be lost");
}

#[test]
fn attempts_are_chosen_by_number() {
    let harness = Harness::new();
    let (task, first) = running(&harness);
    harness.world.write(task, first, Stream::Stdout, b"first");
    harness.world.end_attempt(task, first);
    let second = harness.world.start(task);
    harness.world.write(task, second, Stream::Stdout, b"second");
    assert_eq!(harness.get("/api/tasks/1/logs/stdout").body, b"second");
    assert_eq!(harness.get("/api/tasks/1/logs/stdout?attempt=1").body, b"first");
    assert_eq!(harness.get("/api/tasks/1/logs/stdout?attempt=1&follow=true").body, b"first", "it is over");
    assert_eq!(harness.get("/api/tasks/1/logs/stdout?attempt=3").code(), "bad_field");
    assert_eq!(harness.get("/api/tasks/1/logs/stdin").code(), "unknown_path");
    assert_eq!(harness.get("/api/tasks/1/logs/stdout?from=1").code(), "bad_field");
    assert_eq!(ranged(&harness, "lines=1").code(), "bad_range");
    harness.submit();
    assert_eq!(harness.get("/api/tasks/2/logs/stdout").body, b"");
}

#[test]
fn output_is_followed_from_before_its_attempt_to_its_end() {
    let harness = Harness::new();
    harness.submit();
    let task = harness.world.id(1);
    let mut stream = harness.unix();
    stream.write_all(&request("GET", "/api/tasks/1/logs/stdout?follow=true&from=2", &[], None)).unwrap();
    assert_eq!(read_head(&mut stream).0, 200);
    let attempt = harness.world.start(task);
    harness.world.write(task, attempt, Stream::Stderr, b"not this");
    harness.world.write(task, attempt, Stream::Stdout, b"hello");
    assert_eq!(read_chunk(&mut stream).unwrap(), b"llo");
    harness.world.write(task, attempt, Stream::Stdout, b" world");
    harness.world.end_attempt(task, attempt);
    let mut rest = Vec::new();
    while let Some(chunk) = read_chunk(&mut stream) {
        rest.extend(chunk);
    }
    assert_eq!(rest, b" world", "and it ends with its attempt");
    let again = harness.world.start(task);
    harness.world.write(task, again, Stream::Stdout, b"0123456789");
    harness.world.store().kept.insert((again, Stream::Stdout), (3, 2));
    let mut stream = harness.unix();
    stream.write_all(&request("GET", "/api/tasks/1/logs/stdout?follow=true", &[], None)).unwrap();
    assert_eq!(read_head(&mut stream).0, 200);
    harness.world.finish(task, again, 0);
    let mut whole = Vec::new();
    while let Some(chunk) = read_chunk(&mut stream) {
        whole.extend(chunk);
    }
    assert_eq!(String::from_utf8(whole).unwrap(), "012\n[ouroboros: 5 bytes are not kept]\n89");
}
