//! Going back to what files were.

use super::{Line, State, Versions, digest};
use crate::change::{Draft, commit};
use crate::folder::Folder;
use crate::limits::Limits;
use crate::outcome::Attempt;
use std::collections::HashMap;
use std::io;

/// What is to go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// One file, by its path in the folder.
    Path(&'a str),
    /// Every file that was changed.
    All,
}

/// How it is gone back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Manner {
    /// Also where somebody else has changed a file: to what it was before the first change.
    pub force: bool,
    /// Nothing is done; only what would be is told.
    pub dry_run: bool,
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undo {
    /// It is what it was before the changes.
    Restored,
    /// It was created by the changes, and is gone.
    Removed,
    /// It is what it was already.
    Unchanged,
    /// It was left as it is.
    Refused(String),
}

/// Where a file can go back to.
enum Way<'a> {
    /// There, through changes of which this is the newest.
    To(Option<&'a State>, &'a Line),
    /// It is there: nothing was changed.
    Nowhere,
    /// It is not what any change made of it.
    Foreign,
}

impl Versions {
    /// Takes changes back, file by file: to what each was before the first change that is still in it. A file that somebody else
    /// has changed since is left alone; so is what somebody else changed between two of the changes. An undo is a change
    /// itself: what it replaces is kept.
    ///
    /// Directories that were made stay.
    ///
    /// # Errors
    /// The index cannot be read; nothing was changed.
    pub fn undo(
        &self,
        folder: &Folder,
        scope: Scope<'_>,
        manner: Manner,
        limits: &Limits,
    ) -> io::Result<Vec<(String, Undo)>> {
        let history = self.history()?;
        let mut files: HashMap<&str, Vec<&Line>> = HashMap::new();
        let mut paths = Vec::new();
        for line in history.iter().rev() {
            let wanted = match scope {
                Scope::All => true,
                Scope::Path(path) => path == line.path,
            };
            if wanted {
                let lines = files.entry(&line.path).or_default();
                if lines.is_empty() {
                    paths.push(line.path.as_str());
                }
                lines.push(line);
            }
        }
        if let (Scope::Path(path), true) = (scope, paths.is_empty()) {
            return Ok(vec![(path.to_owned(), Undo::Refused(format!("No change of {path} is recorded.")))]);
        }
        let undone = paths.into_iter().map(|path| {
            let lines = files.get(path).map_or(&[][..], Vec::as_slice);
            let undo = self.undo_one(folder, path, lines, manner, limits);
            let undo = undo.unwrap_or_else(|outcome| Undo::Refused(outcome.text));
            (path.to_owned(), undo)
        });
        Ok(undone.collect())
    }

    fn undo_one(&self, folder: &Folder, path: &str, lines: &[&Line], manner: Manner, limits: &Limits) -> Attempt<Undo> {
        let mut draft = Draft::default();
        let change = draft.file(folder, limits, path)?;
        let now = change.before.as_ref().map(|before| digest(&before.bytes));
        let forced = lines.last().zip(lines.first()).filter(|_| manner.force);
        let (target, last) = match (forced, way(lines, now.as_deref())) {
            (Some((oldest, newest)), _) => (oldest.before.as_ref(), *newest),
            (None, Way::To(target, last)) => (target, last),
            (None, Way::Nowhere) => return Ok(Undo::Unchanged),
            (None, Way::Foreign) => {
                let text =
                    format!("{path} is not what was written there: something else changed it. It was left as it is.");
                return Ok(Undo::Refused(text));
            }
        };
        let undo = if target.is_some() { Undo::Restored } else { Undo::Removed };
        // A mode that somebody else gave it stays.
        let mode = change.before.as_ref().map(|before| before.stat.st_mode & 0o7777);
        let foreign = !manner.force && mode.is_some() && last.mode.is_some() && mode != last.mode;
        change.mode = target.map(|state| state.mode).filter(|_| !foreign);
        match target.map(|state| self.content(&state.hash)).transpose() {
            Ok(after) => change.after = after,
            Err(error) => {
                return Ok(Undo::Refused(format!(
                    "What {path} was could not be read ({error}). It was left as it is."
                )));
            }
        }
        if manner.dry_run {
            return Ok(if change.is_none() { Undo::Unchanged } else { undo });
        }
        let done = commit(draft.into_changes(), self, &mut |_| Ok(()))?;
        Ok(if done.is_empty() { Undo::Unchanged } else { undo })
    }
}

/// Follows the changes of a file, newest first, back from what it is now.
fn way<'a>(lines: &[&'a Line], now: Option<&str>) -> Way<'a> {
    let mut at = now;
    let (mut target, mut last) = (None, None);
    let mut skipped = false;
    for line in lines {
        let before = line.before.as_ref().map(|state| state.hash.as_str());
        if line.after.as_deref() == at {
            last.get_or_insert(line);
            target = line.before.as_ref();
            at = before;
        } else if before == at {
            // It was never made.
            skipped = true;
        } else {
            break;
        }
    }
    match last {
        Some(last) => Way::To(target, last),
        None if skipped => Way::Nowhere,
        None => Way::Foreign,
    }
}
