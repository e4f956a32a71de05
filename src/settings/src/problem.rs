//! What can be wrong with a configuration. A [`Problem`] keeps it from being used; a [`Warning`] does not.

use crate::schema::{ALL, Key, PREFIX};
use crate::value::Kind;
use std::fmt;
use std::path::PathBuf;

/// Longest part of an unknown name that is repeated, and longest that is compared.
const SHOWN_CHARS: usize = 80;

/// Where a value stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On the command line.
    Flag,
    /// In this environment variable.
    Environment(String),
    /// In this line of this file, counted from 1.
    File {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
    },
    /// In an edit that was asked for.
    Edit,
    /// In the table of defaults.
    Default,
}

/// Why a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A value has the wrong shape or is out of bounds.
    #[error("{place}: {key}: found {found}, allowed is {allowed}")]
    BadValue {
        /// The setting.
        key: Key,
        /// Where it stands.
        place: Place,
        /// What was found, in words.
        found: String,
        /// What is allowed.
        allowed: Kind,
    },
    /// The file is not TOML.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The character in that line, counted from 1.
        column: usize,
        /// What the parser expected.
        message: String,
    },
    /// The name of a group of settings is used for a value.
    #[error("{place}: {section} is a group of settings, not a value; write [{section}] and the settings below it")]
    NotATable {
        /// Where it stands.
        place: Place,
        /// The group.
        section: &'static str,
    },
    /// The file is larger than any configuration is.
    #[error("{}: {bytes} bytes, allowed are {max}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: usize,
        /// The largest allowed size.
        max: usize,
    },
    /// A row of the table does not fit the snapshot: a fault of this program, not of the configuration.
    #[error("the default of {key} does not fit its own row; please report this")]
    Table {
        /// The row.
        key: Key,
    },
}

/// A name that is no setting; the value is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Where it stands.
    pub place: Place,
    /// The name, and the nearest known one.
    pub unknown: UnknownKey,
}

/// There is no setting of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown setting {name}{}", nearest.as_ref().map(|near| format!("; did you mean {near}?")).unwrap_or_default())]
pub struct UnknownKey {
    /// The name.
    pub name: String,
    /// A known name that is written much the same, in the same notation.
    pub nearest: Option<String>,
}

impl UnknownKey {
    /// Nothing in the table is called `name`, written with a dot.
    pub(crate) fn new(name: &str) -> Self {
        let last = name.rsplit('.').next().unwrap_or(name);
        let distances = ALL.iter().flat_map(|setting| {
            let full = setting.key.to_string();
            [(distance(name, &full), full.clone()), (distance(last, setting.name), full)]
        });
        Self::among(name, distances)
    }

    /// Nothing in the table has the variable `name`.
    pub(crate) fn variable(name: &str) -> Self {
        let short = |name: &str| name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
        let distances = ALL.iter().map(|setting| {
            let full = setting.key.variable();
            (distance(&short(name), &short(&full)), full)
        });
        Self::among(name, distances)
    }

    fn among(name: &str, distances: impl Iterator<Item = (Option<usize>, String)>) -> Self {
        let nearest = distances.filter(|(distance, _)| distance.is_some()).min().map(|(_, full)| full);
        Self { name: name.chars().take(SHOWN_CHARS).collect(), nearest }
    }
}

/// Edits between both; `None` when that is more than a slip of the hand.
fn distance(written: &str, known: &str) -> Option<usize> {
    let length = written.chars().count();
    if length > SHOWN_CHARS {
        return None;
    }
    Some(strsim::damerau_levenshtein(written, known)).filter(|distance| *distance <= length / 3)
}

impl Problem {
    /// A stable word for the kind of problem.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BadValue { .. } => "bad_value",
            Self::Syntax { .. } => "bad_toml",
            Self::NotATable { .. } => "not_a_table",
            Self::TooLarge { .. } => "file_too_large",
            Self::Table { .. } => "bad_table",
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.unknown)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("command line"),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Edit => f.write_str("edit"),
            Self::Default => f.write_str("default"),
        }
    }
}
