//! What comes back from a model: pieces while it is written, then one end.

use super::message::Message;
use crate::kind::{LimitScope, NanoDollars, UtcMicros, WaitReason};
use serde::{Deserialize, Serialize};

/// A piece of an answer that is being written. For showing: the [`ModelAnswer`] at the end is what counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// Text.
    Text(String),
    /// Thinking.
    Reasoning(String),
    /// A tool call begins.
    ToolCall {
        /// Counted from 0 within the answer.
        index: u32,
        /// The tool.
        name: String,
    },
    /// More of its arguments.
    Arguments {
        /// Which call.
        index: u32,
        /// Characters of JSON.
        text: String,
    },
    /// What is waited for, in words: a model that is being loaded, a pause before the next try. For people.
    Status(String),
    /// What was shown so far does not count: the request is sent once more.
    Restart,
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelEnd {
    /// A whole answer. What it cost is recorded.
    Answer(Box<ModelAnswer>),
    /// There is none, and asking the same again would not change that.
    Failed {
        /// Why.
        failure: ModelFailure,
        /// What the provider or the transport said, for people; secrets are masked.
        detail: String,
    },
    /// There is none yet: the task waits, under the same id, and its slot is free meanwhile.
    Parked {
        /// What for.
        park: Parked,
        /// For people.
        detail: String,
    },
}

/// What a parked task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parked {
    /// Money: until the owner resumes it.
    Paused {
        /// The limit that is used up.
        limit: LimitScope,
    },
    /// The model: it wakes by itself.
    Waiting {
        /// For what.
        reason: WaitReason,
        /// When it looks again; `None` when only an event wakes it.
        until: Option<UtcMicros>,
    },
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFailure {
    /// No route goes by that name, or there is none at all.
    NoRoute,
    /// The request does not fit the model's window.
    ContextOverflow,
    /// The provider says that the request is wrong.
    BadRequest,
    /// The provider's policy turned the request or the answer down.
    Refused,
    /// The key is missing or not accepted.
    Auth,
    /// The account has no credit or quota left.
    Quota,
    /// The provider failed or was busy, as often as we were willing to ask.
    Unavailable,
    /// Nothing reached the provider, as often as we were willing to try.
    Unreachable,
    /// It was sent, and no answer came back whole: it may have cost, and is not sent again.
    Unknown,
    /// What came is no answer in the provider's own format.
    Malformed,
    /// The answer is larger than we keep.
    TooLarge,
    /// The time given was over.
    Deadline,
    /// It was called off.
    Cancelled,
    /// The request is not one that this server can make.
    Invalid,
}

impl ModelFailure {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoRoute => "no_route",
            Self::ContextOverflow => "context_overflow",
            Self::BadRequest => "bad_request",
            Self::Refused => "refused",
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::Unavailable => "unavailable",
            Self::Unreachable => "unreachable",
            Self::Unknown => "unknown",
            Self::Malformed => "malformed",
            Self::TooLarge => "too_large",
            Self::Deadline => "deadline",
            Self::Cancelled => "cancelled",
            Self::Invalid => "invalid",
        }
    }
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelAnswer {
    /// The model's turn, ready to be added to the conversation.
    pub message: Message,
    /// Why it ended.
    pub stop: StopReason,
    /// What the provider counted.
    pub usage: TokenUsage,
    /// What it cost; `None` when that is not known.
    pub cost: Option<Cost>,
    /// The route that answered.
    pub route: String,
    /// The model that answered, in the provider's words.
    pub model: String,
    /// The provider's id of the request.
    pub provider_request: Option<String>,
    /// What was odd and was let pass, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anomalies: Vec<String>,
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model was done.
    End,
    /// The bound on tokens was reached: the answer is cut.
    Length,
    /// It calls tools.
    ToolCalls,
    /// One of the request's stop texts came.
    StopText,
    /// The model declined.
    Refusal,
    /// The provider's filter cut it.
    Filtered,
    /// The provider paused a long turn; it goes on when the conversation is sent again as it is.
    Paused,
    /// Something else, in the provider's word.
    Other(String),
}

/// Tokens as the provider counted them; `None` when it did not say. Never estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct TokenUsage {
    /// All of the prompt, with what came from or went to a cache.
    pub input: Option<u64>,
    /// Of those, read from a cache.
    pub cached: Option<u64>,
    /// Of those, written to a cache.
    pub cache_write: Option<u64>,
    /// Of those written, how many for an hour instead of minutes.
    pub cache_write_long: Option<u64>,
    /// All of the answer, with thinking.
    pub output: Option<u64>,
    /// Of those, thinking.
    pub reasoning: Option<u64>,
}

/// A cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// How much.
    pub amount: NanoDollars,
    /// Who says so.
    pub source: CostSource,
}

/// Who says what something cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostSource {
    /// The provider, in this answer or in a receipt.
    Provider,
    /// We, from its tokens and the catalogue's prices.
    Catalogue,
    /// The route costs nothing: the model runs here.
    Local,
    /// An error without usage: providers do not charge for these.
    Error,
    /// The owner corrected it.
    Owner,
}
