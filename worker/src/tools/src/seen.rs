//! What the agent knows of files: how each was when it last read or wrote it.
//!
//! A file that somebody else changed since is not overwritten by what an agent believes to be in it. Known is what this attempt
//! saw; an attempt that goes on after an interruption begins without, so it is warned of less, never refused wrongly.
//!
//! Held against are the physical file, its size and when it was written; not its mode, which says nothing of its content.

use crate::folder::{Place, Stamp};
use crate::outcome::{Attempt, Code, Outcome};
use serde_json::json;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files that are remembered, at most. What comes later counts as never read.
const MOST: usize = 100_000;

/// What is known of files, by their physical paths.
#[derive(Debug, Default)]
pub struct Seen(Mutex<HashMap<PathBuf, Stamp>>);

impl Seen {
    /// Nothing yet.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }

    fn files(&self) -> MutexGuard<'_, HashMap<PathBuf, Stamp>> {
        // One insertion or removal is all that is done under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file was read, or written.
    pub(crate) fn saw(&self, path: &Path, stamp: Stamp) {
        let mut files = self.files();
        if files.len() < MOST || files.contains_key(path) {
            files.insert(path.to_owned(), stamp);
        }
    }

    /// It is known that nothing is there.
    pub(crate) fn forget(&self, path: &Path) {
        self.files().remove(path);
    }

    /// Whether the agent ever saw what is at a place.
    pub(crate) fn knows(&self, place: &Place) -> bool {
        self.files().contains_key(&place.path)
    }

    /// Refuses a file that is not as the agent saw it last. What it never saw passes.
    pub(crate) fn unchanged(&self, place: &Place, now: Option<Stamp>) -> Attempt<()> {
        let Some(then) = self.files().get(&place.path).copied() else { return Ok(()) };
        let shown = place.shown();
        let what = match now {
            Some(now) if now.has_same_content(&then) => return Ok(()),
            Some(_) => "was changed by something else",
            None => "was removed by something else",
        };
        let text = format!("{shown} {what} since you last read or wrote it. Nothing was changed. Read it again first.");
        Err(Outcome::not_ok(Code::ChangedSinceRead, text).with(json!({ "path": shown })))
    }
}

#[cfg(test)]
mod tests;
