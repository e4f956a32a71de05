//! Words about tasks that store, wire and API share.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What kind of work a task is. All kinds share queue, custody, cancel and delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    /// An argument vector run under custody.
    Command,
    /// One question to a model, without tools.
    Ask,
    /// A task in words: a model works on it with tools, in a folder, until it delivers.
    Agent,
    /// An inference server on this machine, run while it is needed. It takes no slot: the work that takes one needs it.
    Model,
}

impl WorkKind {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Ask => "ask",
            Self::Agent => "agent",
            Self::Model => "model",
        }
    }

    /// Whether its attempts take a slot.
    #[must_use]
    pub const fn takes_slot(self) -> bool {
        match self {
            Self::Command | Self::Ask | Self::Agent => true,
            Self::Model => false,
        }
    }

    /// Whether it cannot go on without a model.
    #[must_use]
    pub const fn uses_models(self) -> bool {
        match self {
            Self::Command | Self::Model => false,
            Self::Ask | Self::Agent => true,
        }
    }

    /// Whether an attempt goes on where the one before it was lost: what it did is on record.
    #[must_use]
    pub const fn continues(self) -> bool {
        match self {
            Self::Command | Self::Ask | Self::Model => false,
            Self::Agent => true,
        }
    }
}

/// How soon a queued task starts relative to others. Higher first; equal ones in order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// After everything else.
    Low,
    /// The default.
    #[default]
    Normal,
    /// Before normal work.
    High,
    /// Before everything else.
    Urgent,
}

impl Priority {
    /// All, lowest first.
    pub const ALL: [Self; 4] = [Self::Low, Self::Normal, Self::High, Self::Urgent];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
            Self::Urgent => "urgent",
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text names no priority.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown priority {0:?}; it is one of low, normal, high, urgent")]
pub struct ParsePriorityError(String);

impl FromStr for Priority {
    type Err = ParsePriorityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|priority| priority.as_str() == text)
            .ok_or_else(|| ParsePriorityError(text.to_owned()))
    }
}

/// Whether an attempt runs in namespaces of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// In its own PID and mount namespace where the machine allows it.
    #[default]
    Namespace,
    /// On the host: it sees other processes and may use set-uid programs.
    Host,
}

/// An output stream of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Stdout, Self::Stderr];

    /// The word for it; also the file extension.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}
