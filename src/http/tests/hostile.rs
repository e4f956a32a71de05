//! Clients that are slow, half-open, or mean: they get what they deserve, and nobody else notices.

use super::harness::{Harness, Messages, PATIENCE, exchange, read, request};
use crate::http::Bounds;
use ouroboros_proto::kind::Stream;
use ouroboros_proto::limits::{self, Limit};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::Duration;

/// Reads until the server closes.
fn rest(mut stream: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A reset is a close too.
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

#[test]
fn a_header_that_does_not_come_is_not_waited_for() {
    let harness = Harness::with(Bounds { header: Limit { max: 100, ..limits::HEADER_MILLIS }, ..Bounds::default() });
    let (mut half, silent) = (harness.network(), harness.network());
    half.write_all(b"GET /api/health HTT").unwrap();
    let mut dripping = harness.unix();
    dripping.write_all(b"GET /api/health HTTP/1.1\r\nX: ").unwrap();
    assert_eq!(harness.get("/api/health").status, 200, "others are served meanwhile");
    assert!(rest(half).is_empty());
    assert!(rest(silent).is_empty());
    assert!(rest(dripping).is_empty());
}

#[test]
fn a_half_closed_client_gets_its_answer() {
    let harness = Harness::new();
    let mut stream = harness.unix();
    stream.write_all(b"GET /api/state HTTP/1.1\r\n\r\n").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read(&mut stream).status, 200);
    let mut stream = harness.unix();
    let json = [("Content-Type", "application/json")];
    let body = br#"{"command":{"argv":["true"],"cwd":"/"}}"#;
    stream.write_all(&request("POST", "/api/tasks", &json, Some(body))).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read(&mut stream).status, 201);
}

#[test]
fn nonsense_is_refused_and_closed() {
    let harness = Harness::new();
    let nonsense: &[&[u8]] = &[
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST /api/tasks HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST /api/tasks HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\n\r\n",
        b"\r\n\r\n\r\n\r\n",
    ];
    for bytes in nonsense {
        let mut stream = harness.network();
        stream.write_all(bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let answer = String::from_utf8_lossy(&rest(stream)).into_owned();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.0 4"), "{answer}");
    }
    let huge = "a".repeat(300 << 10);
    let answer = exchange(harness.network(), &request("GET", "/", &[("X", &huge)], None));
    assert_eq!(answer.status, 431);
    assert_eq!(harness.get("/api/health").status, 200);
}

#[test]
fn a_refused_upload_still_reads_its_refusal() {
    let harness = Harness::new();
    // Declared too large, and sent in full whatever the server says.
    let big = vec![b'a'; 10 << 20];
    let answer = harness.post("/api/tasks", &big);
    assert_eq!((answer.status, answer.code().as_str()), (413, "body_too_large"));
    // Too large without saying so beforehand.
    let mut stream = harness.unix();
    let mut writer = stream.try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            writer
                .write_all(
                    b"POST /api/tasks HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
                )
                .unwrap();
            for _ in 0..10 {
                writer.write_all(format!("{:x}\r\n", 1 << 20).as_bytes()).unwrap();
                writer.write_all(&vec![b'a'; 1 << 20]).unwrap();
                writer.write_all(b"\r\n").unwrap();
            }
            writer.write_all(b"0\r\n\r\n").unwrap();
        });
        let answer = read(&mut stream);
        assert_eq!((answer.status, answer.code().as_str()), (413, "body_too_large"));
    });
    // A stranger is not read out, but told all the same.
    let json = [("Content-Type", "application/json")];
    assert_eq!(harness.tcp("POST", "/api/tasks", &json, Some(&vec![b'a'; 100 << 10])).status, 401);
    // Who waits to be told to go on is not made to send.
    let mut stream = harness.unix();
    stream
        .write_all(b"POST /api/tasks HTTP/1.1\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 10485760\r\n\r\n")
        .unwrap();
    assert_eq!(read(&mut stream).status, 413);
}

#[test]
fn a_body_that_is_cut_short_accepts_nothing() {
    let harness = Harness::new();
    let mut stream = harness.unix();
    stream
        .write_all(b"POST /api/tasks HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{\"command\":{\"argv\":[\"true\"]}}")
        .unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    rest(stream);
    assert!(harness.world.store().submitted.is_empty());
}

#[test]
fn a_reader_that_stops_reading_is_dropped() {
    let harness = Harness::with(Bounds { write: Duration::from_millis(200), ..Bounds::default() });
    harness.submit();
    let task = harness.world.id(1);
    let attempt = harness.world.start(task);
    harness.world.write(task, attempt, Stream::Stdout, &vec![b'x'; 64 << 20]);
    let stuck = Messages::open(harness.unix(), "/api/tasks/1/events?output=true", &[]);
    assert_eq!(stuck.status, 200);
    let mut clients = harness.clients();
    harness.runtime.block_on(async {
        tokio::time::timeout(PATIENCE, clients.wait_for(|open| *open == 0)).await.map(|_| ()).unwrap();
    });
    // The gauge falls a moment after the connection is counted out.
    let falls = || harness.get("/metrics").text().contains("ouroboros_http_streams 0\n");
    assert!((0..100_000).any(|_| falls()));
    drop(stuck);
}

#[test]
fn requests_on_one_connection_are_answered_in_order() {
    let harness = Harness::new();
    let mut stream = harness.unix();
    stream
        .write_all(b"GET /api/health HTTP/1.1\r\n\r\nGET /nowhere HTTP/1.1\r\n\r\nHEAD /api/state HTTP/1.1\r\n\r\n")
        .unwrap();
    assert_eq!(read(&mut stream).status, 200);
    assert_eq!(read(&mut stream).status, 404);
    let (status, headers) = super::harness::read_head(&mut stream);
    assert_eq!(status, 200);
    assert_ne!(headers["content-length"], "0", "HEAD says how long the body would be");
    stream.write_all(b"GET /api/health HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    assert_eq!(read(&mut stream).status, 200);
}
