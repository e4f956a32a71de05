//! What a model that is asked for a second look says of a call.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Which calls are looked at by a model before they are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// All that may do harm.
    Full,
    /// Those that reach beyond what is confined and can be undone.
    #[default]
    Light,
    /// None.
    Off,
}

impl Coverage {
    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Light => "light",
            Self::Off => "off",
        }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What came of the second look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Judgement {
    /// There was none: the setting waves such calls through.
    WavedThrough {
        /// The setting.
        coverage: Coverage,
    },
    /// Nothing speaks against it.
    Safe {
        /// Why, in the model's words.
        reason: String,
    },
    /// It may be done, with care.
    Suspicious {
        /// Why, in the model's words.
        reason: String,
    },
    /// It should not be done.
    Dangerous {
        /// Why, in the model's words.
        reason: String,
    },
    /// There is no judgement: the call failed, or its answer was none.
    Failed {
        /// Why.
        reason: String,
    },
    /// There is no judgement now; there may be one later.
    Unavailable {
        /// Why.
        reason: String,
    },
    /// What would have to be judged is longer than is judged as a whole.
    TooLarge {
        /// Characters.
        characters: u64,
    },
    /// There is no route to a model that could be asked.
    NoRoute {
        /// What was said of that.
        reason: String,
    },
}
