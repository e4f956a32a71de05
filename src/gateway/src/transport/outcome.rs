//! What is known of a request once it is over.

use crate::dialect::{Rejection, StreamFault};
use ouroboros_proto::agent::{ModelAnswer, TokenUsage};

/// An exchange keeps at most this many bytes of the response.
pub(super) const MAX_RECORDED_BYTES: usize = 8 << 20;

/// What became of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Sent {
    /// Proven: no byte of it left.
    Unsent {
        /// What kept it.
        cause: Unsent,
        /// In words.
        reason: String,
    },
    /// It may have reached the provider, and there is no terminal fact about it.
    Unknown {
        /// In words.
        reason: String,
    },
    /// The provider said that there is no answer, in a whole response or inside the stream before a piece of one.
    Rejected(Box<Rejection>),
    /// The provider broke its answer off after pieces of it: what there was of it may have cost.
    BrokenOff(Box<Rejection>),
    /// The provider answered, and what came cannot be used.
    Unusable {
        /// Why.
        fault: StreamFault,
        /// What was counted.
        usage: Option<TokenUsage>,
    },
    /// A whole answer.
    Answered(Box<ModelAnswer>),
}

/// What kept a request from leaving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unsent {
    /// There is no connection: name, TCP, TLS or proxy failed, or took longer than allowed.
    Network,
    /// It cannot be sent as it is: the address, the key or a certificate is none. Trying again does not help.
    Invalid,
    /// The listener said so.
    Held,
}

/// What was seen on the wire. For the record; holds no key unless the provider repeats it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exchange {
    /// The provider's id of the request.
    pub provider_request: Option<String>,
    /// The response's bytes as they came, the first eight MiB of them.
    pub response: Vec<u8>,
    /// How many bytes came in all.
    pub bytes: u64,
    /// How many pieces the listener was given.
    pub pieces: u64,
}
