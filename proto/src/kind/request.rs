//! What an attempt asks its owner, as far as decisions depend on it.

use serde::{Deserialize, Serialize};

/// What kind of answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// Words, or one of some options.
    Question,
    /// Whether something may be done.
    Approval,
}

/// Where a request stands. Only an open one can be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestState {
    /// It waits for its owner.
    Open,
    /// The owner answered.
    Answered,
    /// Nobody answered within the time.
    Expired,
    /// Its task ended, or went on without it.
    Withdrawn,
}

impl RequestKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Question, Self::Approval];

    /// A word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Approval => "approval",
        }
    }
}

impl RequestState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Open, Self::Answered, Self::Expired, Self::Withdrawn];

    /// A word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Answered => "answered",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// Where a rule of the owner holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "in", rename_all = "snake_case")]
pub enum RuleScope {
    /// Everywhere.
    Installation,
    /// For work in this folder, absolute, and beneath it.
    Folder {
        /// It.
        path: String,
    },
    /// For the task that asked, in all its attempts; gone when that has ended.
    Task,
}

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleEffect {
    /// What it matches may be done without asking.
    Allow,
    /// What it matches is refused without asking.
    Deny,
}
