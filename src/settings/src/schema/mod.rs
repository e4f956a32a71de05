//! The one table of settings, and what can be said about a row of it.
//!
//! `table.rs` is the table; the snapshot type [`Settings`] and the enum [`Key`] are made from the same rows, so that no
//! setting exists in one and not in the other.

mod define;
mod table;

pub use table::{ALL, Key, Settings};

use crate::problem::UnknownKey;
use crate::value::{Kind, Raw, Refusal, Value};
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// What environment names of settings start with.
pub const PREFIX: &str = "OUROBOROS_";

/// Shown in place of a secret value.
pub const MASK: &str = "********";

/// Fewest slots by default, and most.
const DEFAULT_SLOTS: (u32, u32) = (2, 256);

/// When a changed value is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// At the reload, for running tasks too.
    Immediate,
    /// For attempts that start after the reload.
    NextTask,
    /// At the next start of the server.
    Restart,
}

/// The value of a setting that no source names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// Always this, as it would be written in a variable.
    Fixed(&'static str),
    /// As many as the machine has processors, at least 2 and at most 256.
    Processors,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its key.
    pub key: Key,
    /// One sentence, ended by a full stop.
    pub description: &'static str,
    /// The table of the file it is in.
    pub section: &'static str,
    /// Its name in that table.
    pub name: &'static str,
    /// Its shape and bounds.
    pub kind: Kind,
    /// Its value when no source names it.
    pub preset: Preset,
    /// When a change is in force.
    pub effect: Effect,
    /// Its value is never shown.
    pub secret: bool,
    /// Only the owner may change it, never work that runs here.
    pub owner_only: bool,
}

impl Setting {
    const fn owner_only(self) -> Self {
        Self { owner_only: true, ..self }
    }

    /// The value that `raw` stands for.
    ///
    /// # Errors
    ///
    /// A refusal when it is not of this setting's kind; for a secret it does not repeat what was found.
    pub fn read(&self, raw: &Raw) -> Result<Value, Refusal> {
        self.kind.read(raw).map_err(|refusal| if self.secret { Refusal { found: MASK.to_owned() } } else { refusal })
    }

    /// The value in force when no source names the setting, on a machine with this many processors.
    ///
    /// # Errors
    ///
    /// A refusal when the table itself is wrong.
    pub fn default_value(&self, processors: u32) -> Result<Value, Refusal> {
        let text = match self.preset {
            Preset::Fixed(text) => text.to_owned(),
            Preset::Processors => processors.clamp(DEFAULT_SLOTS.0, DEFAULT_SLOTS.1).to_string(),
        };
        self.kind.read(&Raw::Untyped(text))
    }

    /// The value as people may see it.
    #[must_use]
    pub fn shown(&self, value: &Value) -> String {
        if self.secret { MASK.to_owned() } else { value.to_string() }
    }
}

impl Key {
    /// The key with these two names, if there is one.
    #[must_use]
    pub fn find(section: &str, name: &str) -> Option<Self> {
        ALL.iter().find(|setting| setting.section == section && setting.name == name).map(|setting| setting.key)
    }

    /// The name of its environment variable: `OUROBOROS_QUEUE_SLOTS`.
    #[must_use]
    pub fn variable(self) -> String {
        let setting = self.setting();
        format!("{PREFIX}{}_{}", setting.section.to_ascii_uppercase(), setting.name.to_ascii_uppercase())
    }
}

/// The dotted name: `queue.slots`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let setting = self.setting();
        write!(f, "{}.{}", setting.section, setting.name)
    }
}

impl FromStr for Key {
    type Err = UnknownKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split_once('.').and_then(|(section, name)| Self::find(section, name)).ok_or_else(|| UnknownKey::new(text))
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Immediate => "immediate",
            Self::NextTask => "next task",
            Self::Restart => "restart",
        })
    }
}
