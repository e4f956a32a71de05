//! Words about spending that store, wire and API share.

use serde::{Deserialize, Serialize};

/// A limit on spending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitScope {
    /// Everything this installation ever spent.
    Total,
    /// What was spent in the last hour.
    Hour,
    /// A task with everything that it started.
    Tree,
    /// One task.
    Task,
}

impl LimitScope {
    /// All, widest first.
    pub const ALL: [Self; 4] = [Self::Total, Self::Hour, Self::Tree, Self::Task];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Hour => "hour",
            Self::Tree => "tree",
            Self::Task => "task",
        }
    }
}

/// What a task waits for before it can use a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// A route to a model.
    NoRoute,
    /// A key that the provider accepts.
    Auth,
    /// The provider's quota or credit.
    Quota,
    /// A provider that takes no more requests for some time.
    RateLimit,
    /// A provider that is not overloaded.
    Unavailable,
    /// A connection to the provider.
    Network,
    /// The spending limit of the hour.
    HourLimit,
}

impl WaitReason {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoRoute => "no_route",
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::RateLimit => "rate_limit",
            Self::Unavailable => "unavailable",
            Self::Network => "network",
            Self::HourLimit => "hour_limit",
        }
    }
}

/// Where a physical send to a provider stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendState {
    /// Its bound is set aside; it may leave at any moment.
    Reserved,
    /// It was handed to the network.
    Dispatched,
    /// The provider answered, well or badly.
    Settled,
    /// It may have reached the provider, and what came of it is not known: its bound stays set aside.
    Unresolved,
    /// Proven: no byte of it was sent.
    Released,
}

impl SendState {
    /// Whether it may still change by itself.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Reserved | Self::Dispatched)
    }

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Dispatched => "dispatched",
            Self::Settled => "settled",
            Self::Unresolved => "unresolved",
            Self::Released => "released",
        }
    }
}
