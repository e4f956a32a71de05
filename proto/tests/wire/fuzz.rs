//! The decoders against bytes that nobody meant: damaged frames and noise.
//!
//! The cases are the same in every run. `OUROBOROS_TEST_SEED` gives other ones; `scripts/fuzz` looks for them by coverage.

use super::check::Kind;
use super::frame::hex;
use super::generator::Random;
use super::samples;
use std::panic::{AssertUnwindSafe, catch_unwind};

const SEED: u64 = 0xf0_22;
const CASES: usize = 250_000;
const LONGEST: usize = 2_048;

#[test]
fn any_bytes_decode_or_fail() {
    let seed = std::env::var("OUROBOROS_TEST_SEED").map_or(SEED, |seed| seed.parse().unwrap());
    let mut random = Random::new(seed);
    let mut frames: Vec<(Kind, Vec<u8>)> =
        samples::all().into_iter().map(|(_, frame)| (frame.kind(), frame.body())).collect();
    for _ in 0..200 {
        let frame = random.frame();
        frames.push((frame.kind(), frame.body()));
    }
    frames.retain(|(_, body)| body.len() <= LONGEST);

    let (mut body, mut accepted) = (Vec::new(), 0_usize);
    for case in 0..CASES {
        let kind = make(&mut random, &frames, &mut body);
        let result = catch_unwind(AssertUnwindSafe(|| kind.check(&body))).unwrap_or_else(|_| Err("panics".to_owned()));
        match result {
            Ok(decodes) => accepted += usize::from(decodes),
            Err(fault) => panic!("seed {seed}, case {case}: {kind:?} {fault}\n{}", hex(&body)),
        }
    }
    // Neither everything nor nothing, or the cases are not worth their time.
    assert!((CASES / 100..CASES - CASES / 100).contains(&accepted), "{accepted} of {CASES} cases decode");
}

/// Puts the next case into `body`: mostly a damaged frame for its own decoder, now and then for another's, or noise.
fn make(random: &mut Random, frames: &[(Kind, Vec<u8>)], body: &mut Vec<u8>) -> Kind {
    body.clear();
    if random.below(16) == 0 {
        let length = random.below(256);
        body.extend((0..length).map(|_| random.byte()));
        return random.pick(&Kind::ALL);
    }
    let (kind, frame) = &frames[random.below(frames.len())];
    body.extend_from_slice(frame);
    for _ in 0..=random.below(3) {
        let (_, other) = &frames[random.below(frames.len())];
        damage(random, body, other);
    }
    body.truncate(LONGEST);
    if random.below(16) == 0 { random.pick(&Kind::ALL) } else { *kind }
}

/// One change. `other` is a frame to take parts from.
fn damage(random: &mut Random, body: &mut Vec<u8>, other: &[u8]) {
    if body.is_empty() {
        body.push(random.byte());
    }
    let at = random.below(body.len());
    match random.below(9) {
        0 => body[at] ^= 1 << random.below(8),
        1 => body[at] = random.pick(&[0, 1, 2, 0x7f, 0x80, 0xff]),
        2 => body[at] = random.byte(),
        3 => overwrite(body, at, &random.pick(&[0_u32, 1, 3, 4, 8, 0x7fff_ffff, u32::MAX]).to_le_bytes()),
        4 => {
            let left = u64::try_from(body.len() - at).unwrap();
            let lengths = [0, 1, left, left + 1, 1 << 16, (8 << 20) - 64, 8 << 20, 1 << 40, 1 << 63, u64::MAX];
            overwrite(body, at, &random.pick(&lengths).to_le_bytes());
        }
        5 => body.truncate(at),
        6 => body.extend((0..random.below(24)).map(|_| random.byte())),
        7 => drop(body.drain(at..(at + 1 + random.below(16)).min(body.len()))),
        _ => {
            let from = random.below(other.len());
            let part = other[from..(from + 1 + random.below(64)).min(other.len())].to_vec();
            body.splice(at..at, part);
        }
    }
}

fn overwrite(body: &mut [u8], at: usize, value: &[u8]) {
    for (slot, byte) in body[at..].iter_mut().zip(value) {
        *slot = *byte;
    }
}
