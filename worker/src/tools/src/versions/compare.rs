//! What files were, against what they are now.

use super::{Line, State, Versions, digest};
use crate::change::Draft;
use crate::folder::Folder;
use crate::limits::Limits;
use std::collections::BTreeMap;
use std::io;

/// A file that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// What it was before the first change; `None` when it was not there.
    pub before: Option<Side>,
    /// What it is now; `None` when it is not there. The error says why that is not known.
    pub now: Result<Option<Side>, String>,
    /// Whether it is not what the last change made of it.
    pub foreign: bool,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// SHA-256 of its bytes, in hexadecimal.
    pub hash: String,
    /// Its mode.
    pub mode: u32,
    /// Its bytes; `None` when they are no longer kept as they were.
    pub bytes: Option<Vec<u8>>,
}

impl Versions {
    /// The changes of each file, by its path; oldest first.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn by_path(&self) -> io::Result<BTreeMap<String, Vec<Line>>> {
        let mut files: BTreeMap<String, Vec<Line>> = BTreeMap::new();
        for line in self.history()? {
            files.entry(line.path.clone()).or_default().push(line);
        }
        Ok(files)
    }

    /// Compares a file with what it was before its changes; `None` when there are none.
    #[must_use]
    pub fn compare(&self, folder: &Folder, path: &str, lines: &[Line], limits: &Limits) -> Option<Compared> {
        let (first, last) = (lines.first()?, lines.last()?);
        let before = first.before.as_ref().map(|state| self.kept(state));
        let mut draft = Draft::default();
        let now = match draft.file(folder, limits, path) {
            Ok(change) => Ok(change.before.as_ref().map(|file| Side {
                hash: digest(&file.bytes),
                mode: file.stat.st_mode & 0o7777,
                bytes: Some(file.bytes.clone()),
            })),
            Err(outcome) => Err(outcome.text),
        };
        let hash = now.as_ref().ok().map(|now| now.as_ref().map(|side| side.hash.as_str()));
        // A last change that was cut short by a crash was not made.
        let known = [last.after.as_deref(), last.before.as_ref().map(|state| state.hash.as_str())];
        let foreign = hash.is_none_or(|hash| !known.contains(&hash));
        Some(Compared { before, now, foreign })
    }

    fn kept(&self, state: &State) -> Side {
        Side { hash: state.hash.clone(), mode: state.mode, bytes: self.content(&state.hash).ok() }
    }
}
