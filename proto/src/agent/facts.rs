//! What is known beforehand of the route and the means of a task in words.

use super::safety::Coverage;
use crate::kind::NanoDollars;
use serde::{Deserialize, Serialize};

/// What a worker is told when it begins.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// The route that will be asked first, as far as that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// Its window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Most tokens of an answer there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// What the task may spend; `None` when there is no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<NanoDollars>,
    /// Whether that route takes images, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// Which of its calls are looked at by a model before they are done.
    #[serde(default)]
    pub safety: Coverage,
    /// The route that is asked for that; the task's own when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safety_route: Option<String>,
}

/// Tokens that prompt and answer may have together on a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Window {
    /// How many.
    pub tokens: u64,
    /// Who says so.
    pub source: WindowSource,
}

/// Who says how large a window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowSource {
    /// The owner, in `models.windows`.
    Owner,
    /// The provider's catalogue.
    Reported,
    /// The provider, when a request did not fit.
    Learned,
    /// We: a request of about this size did not fit, and nobody said what would.
    Inferred,
}

impl WindowSource {
    /// In words, after the number.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Owner => "set in models.windows",
            Self::Reported => "reported by the provider",
            Self::Learned => "learned from a request that did not fit",
            Self::Inferred => "inferred from a request that did not fit",
        }
    }
}
