//! Feeds the frame decoders: the first byte of the input chooses one, the rest is a frame's body.
//!
//! Under AFL inputs come from the fuzzer; otherwise one is read from standard input, so that a finding can be looked at with
//! `ouroboros-fuzz < FILE`. Holds the decoders to the promises of proto's own tests.

#[path = "../../../proto/tests/wire/allocation.rs"]
mod allocation;
#[path = "../../../proto/tests/wire/check.rs"]
mod check;

use check::Kind;

fn main() {
    afl::fuzz!(|input: &[u8]| {
        let Some((choice, body)) = input.split_first() else { return };
        let kind = Kind::ALL[usize::from(*choice) % Kind::ALL.len()];
        if let Err(fault) = kind.check(body) {
            panic!("{kind:?}: {fault}");
        }
    });
}
