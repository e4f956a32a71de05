//! Bytes that are meant to hurt: lengths that are not there, frames past the limit, content left over.

use super::allocation::peak;
use super::check::Kind;
use super::frame::{Frame, hex};
use super::samples;
use ouroboros_proto::limits::FRAME_BYTES;
use ouroboros_proto::wire::codec::{PREFIX, body_length};
use ouroboros_proto::wire::{
    CommandWork, DecodeError, EncodeError, Order, ServerHello, ToWorker, WorkerHello, decode, encode, encode_into,
};

#[test]
fn twelve_bytes_that_name_a_huge_length_cost_nothing() {
    for length in [13, 1 << 16, (8 << 20) - 12, 8 << 20, (8 << 20) + 1, 1 << 40, i64::MAX.cast_unsigned(), u64::MAX] {
        let body = [&1_u32.to_le_bytes()[..], &length.to_le_bytes()].concat();
        let (decoded, held) = peak(|| decode::<WorkerHello>(&body));
        assert!(matches!(decoded, Err(DecodeError::Malformed { bytes: 12, .. })), "{length}: {decoded:?}");
        assert!(held <= 256, "{length}: held {held} bytes");
    }
}

/// Wherever a frame has a length, a false one is refused without memory for it.
#[test]
fn a_false_length_anywhere_in_a_frame_costs_nothing() {
    for (name, frame) in samples::all() {
        let body = frame.body();
        for at in 0..body.len() {
            for length in [1_000, 1 << 16, 1 << 20, (8 << 20) - 128, 8 << 20, 1 << 40, u64::MAX] {
                let mut body = body.clone();
                for (slot, byte) in body[at..].iter_mut().zip(u64::to_le_bytes(length)) {
                    *slot = byte;
                }
                let checked = frame.kind().check(&body);
                assert!(checked.is_ok(), "{name}, {length} at {at}: {checked:?}\n{}", hex(&body));
            }
        }
    }
}

#[test]
fn a_prefix_over_the_limit_is_refused_before_the_body_is_read() {
    let limit = u32::try_from(FRAME_BYTES.max).unwrap();
    for bytes in [0, 1, limit - 1, limit] {
        assert_eq!(u64::try_from(body_length(bytes.to_be_bytes()).unwrap()).unwrap(), u64::from(bytes));
    }
    for bytes in [limit + 1, 1 << 31, u32::MAX] {
        let (refused, held) = peak(|| body_length(bytes.to_be_bytes()));
        assert!(matches!(refused, Err(DecodeError::TooLarge { bytes: named }) if named == u64::from(bytes)));
        assert_eq!(held, 0);
    }
}

#[test]
fn bytes_after_the_content_are_refused() {
    for (name, frame) in samples::all() {
        for more in 1..=16 {
            let mut body = frame.body();
            body.resize(body.len() + more, 0);
            let left = match Frame::decode(frame.kind(), &body) {
                Err(DecodeError::Trailing { left }) => left,
                other => panic!("{name}, {more} more: {other:?}"),
            };
            assert_eq!(left, more, "{name}");
        }
    }
}

#[test]
fn an_empty_body_is_no_frame() {
    for kind in Kind::ALL {
        assert!(matches!(Frame::decode(kind, &[]), Err(DecodeError::Malformed { bytes: 0, .. })), "{kind:?}");
    }
}

#[test]
fn text_that_is_not_utf8_is_refused() {
    let mut body = samples::all().into_iter().find(|(name, _)| *name == "worker_hello").unwrap().1.body();
    let text = body.windows(5).position(|window| window == b"0.1.0").unwrap();
    body[text] = 0xff;
    assert!(matches!(decode::<WorkerHello>(&body), Err(DecodeError::Malformed { .. })));
}

#[test]
fn the_largest_frame_passes_and_one_byte_more_does_not() {
    let limit = usize::try_from(FRAME_BYTES.max).unwrap();
    let fixed = encode(&refusal(0)).unwrap().len() - PREFIX;

    let largest = refusal(limit - fixed);
    let bytes = encode(&largest).unwrap();
    assert_eq!(bytes.len(), limit + PREFIX);
    assert_eq!(decode::<ServerHello>(&bytes[PREFIX..]).unwrap(), largest);

    let mut buffer = b"before".to_vec();
    let refused = encode_into(&refusal(limit - fixed + 1), &mut buffer);
    assert!(matches!(refused, Err(EncodeError::TooLarge { bytes }) if bytes == limit + 1), "{refused:?}");
    assert_eq!(buffer, b"before", "a refused value leaves the buffer as it was");
}

/// The densest content that a frame can have: empty strings, three times as large in memory.
#[test]
fn a_full_frame_of_empty_arguments_keeps_the_bound() {
    let order = Order::Run { task: ouroboros_proto::kind::TaskId::from_bytes([0; 16]), work: Box::new(crowded()) };
    let frame = ToWorker {
        attempt: ouroboros_proto::kind::AttemptId::from_bytes([0; 16]),
        generation: ouroboros_proto::kind::Generation::new(1),
        order,
    };
    let body = Frame::ToWorker(frame).body();
    assert!(body.len() > 7_000_000);
    assert_eq!(Kind::ToWorker.check(&body), Ok(true));
}

fn crowded() -> CommandWork {
    CommandWork {
        argv: vec![String::new(); 500_000],
        env: vec![(String::new(), String::new()); 200_000],
        cwd: String::new(),
        umask: None,
        stdin: ouroboros_proto::wire::Stdin::Null,
        pty: None,
        timeout: None,
        no_new_privs: true,
        output_limit: 0,
        output_base: String::new(),
    }
}

fn refusal(length: usize) -> ServerHello {
    ServerHello {
        protocol: 1,
        build: String::new(),
        generation: ouroboros_proto::kind::Generation::new(1),
        installation: ouroboros_proto::kind::InstallationId::from_bytes([0; 16]),
        refused: Some("x".repeat(length)),
    }
}
