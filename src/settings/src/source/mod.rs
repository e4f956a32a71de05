//! Where values come from: the file and the environment, read into entries of one shape.
//!
//! Reading never stops at the first fault: an entry is good, a [`Problem`] or a [`Warning`], and all are reported.

mod edit;
pub mod environment;
mod file;
mod text;

pub use environment::Variable;
pub use file::{Document, MAX_FILE_BYTES};

use crate::problem::{Place, Problem, Warning};
use crate::schema::Key;
use crate::value::{Raw, Value};

/// A good value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The setting.
    pub key: Key,
    /// Its value there.
    pub value: Value,
    /// Where.
    pub place: Place,
}

/// Everything that one source says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// The good values.
    pub entries: Vec<Entry>,
    /// What keeps the source from being used.
    pub problems: Vec<Problem>,
    /// What is ignored.
    pub warnings: Vec<Warning>,
}

impl Reading {
    /// Adds what `raw` stands for at `place`, or the problem with it.
    pub(crate) fn add(&mut self, key: Key, raw: &Raw, place: Place) {
        match value(key, raw, place.clone()) {
            Ok(value) => self.entries.push(Entry { key, value, place }),
            Err(problem) => self.problems.push(problem),
        }
    }
}

/// What `raw` stands for as a value of `key`.
pub(crate) fn value(key: Key, raw: &Raw, place: Place) -> Result<Value, Problem> {
    let setting = key.setting();
    setting.read(raw).map_err(|refusal| Problem::BadValue { key, place, found: refusal.found, allowed: setting.kind })
}
