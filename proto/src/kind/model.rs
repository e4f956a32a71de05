//! Words about calls of models that store, wire and API share.

use super::money::NanoDollars;
use serde::{Deserialize, Serialize};

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
    /// It answered, and never delivered what its task wants.
    NotDelivered,
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
            Self::NotDelivered => "not_delivered",
        }
    }
}

/// Tokens as the provider counted them; `None` when it did not say. Never estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
