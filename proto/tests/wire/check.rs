//! What must hold when a decoder meets any bytes at all. Shared by the tests and the fuzz program.

use crate::allocation::peak;
use ouroboros_proto::wire::codec::PREFIX;
use ouroboros_proto::wire::{FromWorker, ServerHello, ToWorker, WorkerHello, decode, encode};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A kind of frame; each has a decoder of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    WorkerHello,
    ServerHello,
    ToWorker,
    FromWorker,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::WorkerHello, Self::ServerHello, Self::ToWorker, Self::FromWorker];

    /// Decodes `body`; whether it is a frame of this kind. A broken promise is an error that says which:
    /// memory is bounded by the body, and what decodes is exactly what encoding its value gives.
    pub fn check(self, body: &[u8]) -> Result<bool, String> {
        match self {
            Self::WorkerHello => check::<WorkerHello>(body),
            Self::ServerHello => check::<ServerHello>(body),
            Self::ToWorker => check::<ToWorker>(body),
            Self::FromWorker => check::<FromWorker>(body),
        }
    }
}

/// The most memory that decoding a body of this size may hold at once. Elements of a list are up to three times as large in
/// memory as on the wire, and a list grows by doubling; the rest is for fixed parts and error texts.
fn allowance(body: usize) -> usize {
    8 * body + 1_024
}

fn check<T: Serialize + DeserializeOwned>(body: &[u8]) -> Result<bool, String> {
    let (decoded, held) = peak(|| decode::<T>(body));
    if held > allowance(body.len()) {
        return Err(format!("held {held} bytes to decode {}", body.len()));
    }
    let Ok(value) = decoded else { return Ok(false) };
    match encode(&value) {
        Ok(frame) if frame.get(PREFIX..) == Some(body) => Ok(true),
        Ok(_) => Err("decodes, and encodes to other bytes".to_owned()),
        Err(error) => Err(format!("decodes, and does not encode: {error}")),
    }
}
