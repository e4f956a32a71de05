//! Identifiers. UUIDs are version 7, so they sort by the time they were made.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

/// The text was not an identifier of the expected form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a valid {kind}: {text:?}")]
pub struct ParseIdError {
    kind: &'static str,
    text: String,
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// A new id of this moment. Not for `domain`: ids reach it inside its inputs.
            #[must_use]
            pub fn mint() -> Self {
                Self(Uuid::now_v7())
            }

            /// The id with these sixteen bytes.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// The sixteen bytes, in the order that sorts by time.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0.as_hyphenated(), f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::try_parse(text)
                    .map(Self)
                    .map_err(|_| ParseIdError { kind: stringify!($name), text: text.to_owned() })
            }
        }
    };
}

macro_rules! counter_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
        #[serde(transparent)]
        pub struct $name(u64);

        impl $name {
            /// The id with this number.
            #[must_use]
            pub const fn new(value: u64) -> Self {
                Self(value)
            }

            /// The number.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }

            /// The id after this one.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse()
                    .map(Self)
                    .map_err(|_| ParseIdError { kind: stringify!($name), text: text.to_owned() })
            }
        }
    };
}

uuid_id!(
    /// What was asked for. Lives for ever.
    TaskId
);
uuid_id!(
    /// One process trying a task.
    AttemptId
);
uuid_id!(
    /// One data directory on one machine. A copied directory gets a new one.
    InstallationId
);
uuid_id!(
    /// One row of the process ledger.
    ProcessId
);
uuid_id!(
    /// One physical send to a model's provider, and its row in the usage ledger.
    SendId
);
uuid_id!(
    /// One pause of a task for want of money. A grant to go on is for one pause only.
    PauseId
);
counter_id!(
    /// The small number of a task, counted per installation; what people type.
    TaskNumber
);
counter_id!(
    /// One life of the server. Grows by one at each start.
    Generation
);
counter_id!(
    /// One worker process, counted within a generation.
    WorkerId
);
counter_id!(
    /// A rule that the owner made with an answer, counted per installation.
    RuleId
);
