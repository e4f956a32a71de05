//! A frame of any kind.

use super::check::Kind;
use ouroboros_proto::wire::{
    DecodeError, FromWorker, ServerHello, ToWorker, WorkerHello, codec::PREFIX, decode, encode,
};

/// Any frame.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    WorkerHello(WorkerHello),
    ServerHello(ServerHello),
    ToWorker(ToWorker),
    FromWorker(FromWorker),
}

impl Frame {
    pub fn kind(&self) -> Kind {
        match self {
            Self::WorkerHello(_) => Kind::WorkerHello,
            Self::ServerHello(_) => Kind::ServerHello,
            Self::ToWorker(_) => Kind::ToWorker,
            Self::FromWorker(_) => Kind::FromWorker,
        }
    }

    /// Prefix and body.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::WorkerHello(frame) => encode(frame),
            Self::ServerHello(frame) => encode(frame),
            Self::ToWorker(frame) => encode(frame),
            Self::FromWorker(frame) => encode(frame),
        }
        .unwrap()
    }

    pub fn body(&self) -> Vec<u8> {
        self.encode().split_off(PREFIX)
    }

    pub fn decode(kind: Kind, body: &[u8]) -> Result<Self, DecodeError> {
        Ok(match kind {
            Kind::WorkerHello => Self::WorkerHello(decode(body)?),
            Kind::ServerHello => Self::ServerHello(decode(body)?),
            Kind::ToWorker => Self::ToWorker(decode(body)?),
            Kind::FromWorker => Self::FromWorker(decode(body)?),
        })
    }
}

/// Bytes as they stand in the list of golden frames and in failures.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
