//! What is known of a request once it is over.

use crate::dialect::{Rejection, StreamFault};
use ouroboros_proto::agent::{ModelAnswer, TokenUsage};
use ouroboros_proto::kind::UtcMicros;

/// An exchange keeps at most this many bytes of the response.
pub const MAX_RECORDED_BYTES: usize = 8 << 20;

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
        /// What was counted before the answer broke off.
        usage: Option<TokenUsage>,
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
    /// When the request was about to leave.
    pub left_at: Option<UtcMicros>,
    /// When the response's head was there.
    pub head_at: Option<UtcMicros>,
    /// When the first event of the answer was there.
    pub first_event_at: Option<UtcMicros>,
    /// When it was over.
    pub ended_at: Option<UtcMicros>,
    /// The response's status.
    pub status: Option<u16>,
    /// The provider's id of the request.
    pub provider_request: Option<String>,
    /// Headers about limits and waiting, names in lower case.
    pub limits: Vec<(String, String)>,
    /// The response's bytes as they came, the first [`MAX_RECORDED_BYTES`] of them.
    pub response: Vec<u8>,
    /// How many bytes came in all.
    pub bytes: u64,
    /// How many pieces the listener was given.
    pub pieces: u64,
}
