//! Layering: command line over environment over file over default.
//!
//! Every source is checked in full, also where a higher one wins: a bad value is found when it is written, not on the
//! day the variable that hid it goes away.

use crate::problem::{Place, Problem, Warning};
use crate::schema::{ALL, Effect, Key, Settings};
use crate::source::{Document, Entry, Reading, Variable, environment};
use crate::value::Raw;
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// Numbers the snapshots of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Default)]
#[serde(transparent)]
pub struct Revision(u64);

impl Revision {
    /// The revision with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The one after this.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// Which source a value came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Origin {
    /// The command line.
    Flag,
    /// An environment variable.
    Environment {
        /// Its name.
        name: String,
    },
    /// The file.
    File {
        /// The line, counted from 1.
        line: usize,
    },
    /// No source; the table.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("command line"),
            Self::Environment { name } => f.write_str(name),
            Self::File { line } => write!(f, "file, line {line}"),
            Self::Default => f.write_str("default"),
        }
    }
}

impl From<Place> for Origin {
    fn from(place: Place) -> Self {
        match place {
            Place::Flag | Place::Edit => Self::Flag,
            Place::Environment(name) => Self::Environment { name },
            Place::File { line, .. } => Self::File { line },
            Place::Default => Self::Default,
        }
    }
}

/// Everything a snapshot is made of.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// Settings given on the command line; the last of a key wins.
    pub flags: &'a [(Key, String)],
    /// The process environment.
    pub environment: &'a [Variable],
    /// Path and text of the file; the empty text when there is none.
    pub file: (&'a Path, &'a str),
    /// How many processors may be used (`std::thread::available_parallelism`).
    pub processors: u32,
}

/// A snapshot, and what was ignored on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The values in force.
    pub settings: Settings,
    /// Unknown names.
    pub warnings: Vec<Warning>,
}

/// What a reload changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Reload {
    /// The values in force from now on; those that need a restart are the old ones.
    pub settings: Settings,
    /// Keys with a new value in force.
    pub changed: Vec<Key>,
    /// Keys whose new value waits for the next start.
    pub needs_restart: Vec<Key>,
    /// Unknown names.
    pub warnings: Vec<Warning>,
}

/// What is wrong with a text, without using it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checked {
    /// What would keep it from being used.
    pub problems: Vec<Problem>,
    /// What would be ignored.
    pub warnings: Vec<Warning>,
}

impl Settings {
    /// The snapshot of these sources, numbered `revision`.
    ///
    /// # Errors
    ///
    /// Every problem of every source.
    pub fn load(sources: &Sources<'_>, revision: Revision) -> Result<Loaded, Vec<Problem>> {
        let (path, text) = sources.file;
        let file = Document::parse(path, text).map_err(|problem| vec![problem]).map(|document| document.read());
        let layers = [flags(sources.flags), environment::read(sources.environment), file.unwrap_or_else(failed)];

        let mut all = Reading::default();
        for layer in layers {
            all.entries.extend(layer.entries);
            all.problems.extend(layer.problems);
            all.warnings.extend(layer.warnings);
        }
        if !all.problems.is_empty() {
            return Err(all.problems);
        }
        let settings = Self::assemble(revision, sources.processors, |key| {
            let entry = all.entries.iter().find(|entry| entry.key == key).cloned();
            let default = || {
                let value = key.setting().default_value(sources.processors).ok()?;
                Some(Entry { key, value, place: Place::Default })
            };
            entry.or_else(default).map(|entry| (entry.value, entry.place.into()))
        });
        match settings {
            Ok(settings) => Ok(Loaded { settings, warnings: all.warnings }),
            Err(key) => Err(vec![Problem::Table { key }]),
        }
    }

    /// The keys whose values differ.
    #[must_use]
    pub fn differing(&self, other: &Self) -> Vec<Key> {
        ALL.iter().map(|setting| setting.key).filter(|key| self.value(*key) != other.value(*key)).collect()
    }
}

/// Reads the sources again; the revision grows when a value in force changes.
///
/// # Errors
///
/// Every problem of every source; `old` stays in force then.
pub fn reload(old: &Settings, sources: &Sources<'_>) -> Result<Reload, Vec<Problem>> {
    let Loaded { mut settings, warnings } = Settings::load(sources, old.revision)?;
    let (needs_restart, changed): (Vec<Key>, Vec<Key>) =
        old.differing(&settings).into_iter().partition(|key| key.setting().effect == Effect::Restart);
    for key in &needs_restart {
        settings.keep(*key, old);
    }
    if !changed.is_empty() {
        settings.revision = old.revision.next();
    }
    Ok(Reload { settings, changed, needs_restart, warnings })
}

/// What a file with this text would bring.
#[must_use]
pub fn check(path: &Path, text: &str) -> Checked {
    let Reading { problems, warnings, .. } =
        Document::parse(path, text).map_or_else(|problem| failed(vec![problem]), |document| document.read());
    Checked { problems, warnings }
}

fn flags(flags: &[(Key, String)]) -> Reading {
    let mut reading = Reading::default();
    for (key, text) in flags.iter().rev() {
        reading.add(*key, &Raw::Untyped(text.clone()), Place::Flag);
    }
    reading
}

fn failed(problems: Vec<Problem>) -> Reading {
    Reading { problems, ..Reading::default() }
}
