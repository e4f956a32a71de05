//! What is written is what is read, for any values.

use super::frame::{Frame, hex};
use super::generator::Random;
use ouroboros_proto::wire::{codec::PREFIX, codec::body_length, encode_into};

const SEED: u64 = 0x0a11_ce00;

#[test]
fn frames_of_any_values_read_back_as_written() {
    for seed in SEED..SEED + 5_000 {
        let frame = Random::new(seed).frame();
        let bytes = frame.encode();
        let (prefix, body) = bytes.split_first_chunk::<PREFIX>().unwrap();
        assert_eq!(body_length(*prefix).unwrap(), body.len(), "seed {seed}");
        assert_eq!(Frame::decode(frame.kind(), body).unwrap(), frame, "seed {seed}");
        assert_eq!(frame.kind().check(body), Ok(true), "seed {seed}: {}", hex(body));
    }
}

#[test]
fn frames_follow_each_other_in_one_buffer() {
    let frames: Vec<Frame> = (0..64).map(|seed| Random::new(seed).frame()).collect();
    let mut stream = Vec::new();
    for frame in &frames {
        match frame {
            Frame::WorkerHello(frame) => encode_into(frame, &mut stream),
            Frame::ServerHello(frame) => encode_into(frame, &mut stream),
            Frame::ToWorker(frame) => encode_into(frame, &mut stream),
            Frame::FromWorker(frame) => encode_into(frame, &mut stream),
        }
        .unwrap();
    }
    let mut rest = stream.as_slice();
    for frame in &frames {
        let (prefix, after) = rest.split_first_chunk::<PREFIX>().unwrap();
        let (body, after) = after.split_at(body_length(*prefix).unwrap());
        assert_eq!(&Frame::decode(frame.kind(), body).unwrap(), frame);
        rest = after;
    }
    assert!(rest.is_empty());
}
