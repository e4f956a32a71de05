//! The layout of every frame, byte by byte. A change of it is seen here and needs a new protocol number.

use super::check::Kind;
use super::frame::{Frame, hex};
use super::samples;
use ouroboros_proto::kind::{Ending, OutOfMemory, Stream};
use ouroboros_proto::wire::codec::PREFIX;
use ouroboros_proto::wire::{Order, PROTOCOL, Report, Stdin};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wire/golden.txt");

#[test]
fn every_frame_has_the_recorded_bytes() {
    let mut now = String::from(
        "# Every variant of every frame, length prefix included. Make it again after a wanted change of layout with\n\
         # OUROBOROS_TEST_UPDATE=1 cargo test -p ouroboros-proto --test wire golden\n\
         # and change the protocol number when an older side cannot read the new one.\n",
    );
    for (name, frame) in samples::all() {
        writeln!(now, "{name} {}", hex(&frame.encode())).unwrap();
    }
    if std::env::var_os("OUROBOROS_TEST_UPDATE").is_some() {
        std::fs::write(PATH, &now).unwrap();
    }
    let recorded = std::fs::read_to_string(PATH).unwrap();
    for (old, new) in recorded.lines().zip(now.lines()) {
        assert_eq!(old, new, "the layout of this frame has changed; {PATH} says how to record the new one");
    }
    assert_eq!(recorded.lines().count(), now.lines().count(), "frames were added or removed; see {PATH}");
}

#[test]
fn recorded_frames_decode_to_what_they_were() {
    for (name, frame) in samples::all() {
        assert_eq!(Frame::decode(frame.kind(), &frame.body()).unwrap(), frame, "{name}");
    }
}

#[test]
fn names_of_samples_are_unique() {
    let samples = samples::all();
    let names: BTreeSet<_> = samples.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), samples.len());
}

#[test]
fn every_variant_has_a_sample() {
    let seen: BTreeSet<_> = samples::all().iter().flat_map(|(_, frame)| variants(frame)).collect();
    for (family, count) in VARIANTS {
        for place in 0..count {
            assert!(seen.contains(&(family, place)), "no sample has variant {place} of {family}");
        }
    }
    assert_eq!(seen.len(), VARIANTS.iter().map(|(_, count)| count).sum::<usize>(), "a count here is too low");
}

/// How many variants each enum on the wire has.
const VARIANTS: [(&str, usize); 6] =
    [("order", 13), ("stdin", 2), ("report", 9), ("stream", 2), ("ending", 11), ("out of memory", 3)];

/// The variants that a frame has in it. The matches are exhaustive so that a new variant is not forgotten.
fn variants(frame: &Frame) -> Vec<(&'static str, usize)> {
    match frame {
        Frame::WorkerHello(_) | Frame::ServerHello(_) => vec![],
        Frame::ToWorker(frame) => match &frame.order {
            Order::Run { work, .. } => vec![
                ("order", 0),
                match work.stdin {
                    Stdin::Null => ("stdin", 0),
                    Stdin::File { .. } => ("stdin", 1),
                },
            ],
            Order::Release { .. } => vec![("order", 1)],
            Order::Stop { .. } => vec![("order", 2)],
            Order::Acknowledge { .. } => vec![("order", 3)],
            Order::Resend { .. } => vec![("order", 4)],
            Order::Ask { .. } => vec![("order", 5)],
            Order::Piece { .. } => vec![("order", 6)],
            Order::CallOver { .. } => vec![("order", 7)],
            Order::Agent { .. } => vec![("order", 8)],
            Order::Answered { .. } => vec![("order", 9)],
            Order::Message { .. } => vec![("order", 10)],
            Order::Interrupt { .. } => vec![("order", 11)],
            Order::CancelCall { .. } => vec![("order", 12)],
        },
        Frame::FromWorker(frame) => match &frame.report {
            Report::ProcessStarted { .. } => vec![("report", 0)],
            Report::ProcessEnded { .. } => vec![("report", 1)],
            Report::Output { stream: Stream::Stdout, .. } => vec![("report", 2), ("stream", 0)],
            Report::Output { stream: Stream::Stderr, .. } => vec![("report", 2), ("stream", 1)],
            Report::Terminal(report) => [vec![("report", 3)], ending(report.ending)].concat(),
            Report::Call { .. } => vec![("report", 4)],
            Report::CallOff { .. } => vec![("report", 5)],
            Report::Taken { .. } => vec![("report", 6)],
            Report::Entry { .. } => vec![("report", 7)],
            Report::Request { .. } => vec![("report", 8)],
        },
    }
}

fn ending(ending: Ending) -> Vec<(&'static str, usize)> {
    match ending {
        Ending::Exited { .. } => vec![("ending", 0)],
        Ending::Signaled { out_of_memory, .. } => vec![
            ("ending", 1),
            match out_of_memory {
                OutOfMemory::Yes => ("out of memory", 0),
                OutOfMemory::No => ("out of memory", 1),
                OutOfMemory::Unknown => ("out of memory", 2),
            },
        ],
        Ending::TimedOut => vec![("ending", 2)],
        Ending::Stopped => vec![("ending", 3)],
        Ending::NotFound => vec![("ending", 4)],
        Ending::NotExecutable { .. } => vec![("ending", 5)],
        Ending::BadDirectory { .. } => vec![("ending", 6)],
        Ending::SetUpFailed { .. } => vec![("ending", 7)],
        Ending::Answered => vec![("ending", 8)],
        Ending::ModelFailed { .. } => vec![("ending", 9)],
        Ending::Parked => vec![("ending", 10)],
    }
}

#[test]
fn both_hellos_begin_with_the_protocol_number() {
    let hellos =
        samples::all().into_iter().filter(|(_, frame)| matches!(frame.kind(), Kind::WorkerHello | Kind::ServerHello));
    let mut count = 0;
    for (name, frame) in hellos {
        let bytes = frame.encode();
        assert_eq!(bytes[PREFIX..PREFIX + 4], PROTOCOL.to_le_bytes(), "{name}");
        count += 1;
    }
    assert_eq!(count, 3);
}

#[test]
fn the_prefix_is_the_length_of_the_body_in_network_order() {
    for (name, frame) in samples::all() {
        let bytes = frame.encode();
        let length = u32::try_from(bytes.len() - PREFIX).unwrap();
        assert_eq!(bytes[..PREFIX], length.to_be_bytes(), "{name}");
    }
}

#[test]
fn no_truncation_of_a_frame_decodes() {
    for (name, frame) in samples::all() {
        let body = frame.body();
        for length in 0..body.len() {
            assert!(Frame::decode(frame.kind(), &body[..length]).is_err(), "{name} cut to {length} of {}", body.len());
            assert_eq!(frame.kind().check(&body[..length]), Ok(false), "{name} cut to {length}");
        }
    }
}
