//! Changes of one call, as one: first all are worked out, then all are made.
//!
//! | module | what it is for |
//! | --- | --- |
//! | `put` | one file, durably, by descriptor |
//! | [`mod@commit`] | all of them: prepared, kept, put in place, or rolled back |
//! | `hidden` | telling that a mask would be written in a secret's place |
//!
//! Another program may change a file between the last look at it and its replacement; that window is a few system calls wide.
//! What was there is in the store of versions as it was when it was read.

pub mod commit;

mod hidden;
pub(crate) mod put;

pub use commit::{Done, commit};

use crate::folder::{Folder, Opened, PathError, Place, Purpose, Stamp};
use crate::limits::Limits;
use crate::outcome::{Attempt, Code, Outcome};
use crate::registry::Call;
use crate::text::{HEAD_BYTES, binary};
use rustix::fs::{Access, AtFlags, Stat, accessat, fstat};
use serde_json::json;
use std::io::Read as _;

/// What a file was.
#[derive(Debug)]
pub struct Before {
    /// Its bytes.
    pub bytes: Vec<u8>,
    pub(crate) stat: Stat,
}

impl Before {
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp::of(&self.stat)
    }
}

/// What one file is to become.
#[derive(Debug)]
pub struct Change {
    /// Where it is.
    pub place: Place,
    /// What was there.
    pub before: Option<Before>,
    /// What is to be there.
    pub after: Option<Vec<u8>>,
    /// The mode that it is to have, where not the one it had.
    pub mode: Option<u32>,
}

impl Change {
    pub(crate) fn is_none(&self) -> bool {
        let before = self.before.as_ref().map(|before| before.bytes.as_slice());
        let same_mode = match (&self.before, self.mode) {
            (Some(before), Some(mode)) => before.stat.st_mode & 0o7777 == mode,
            (None, _) | (Some(_), None) => true,
        };
        before == self.after.as_deref() && same_mode
    }
}

/// The changes of a call while they are worked out. A file that is named twice, by whatever path, is one file here.
#[derive(Debug, Default)]
pub struct Draft {
    changes: Vec<Change>,
}

impl Draft {
    /// The file at a path, which need not exist: read once, then as it was changed here.
    ///
    /// # Errors
    /// The path leads nowhere, the file may not be written, or it is too large.
    pub fn file(&mut self, folder: &Folder, limits: &Limits, path: &str) -> Attempt<&mut Change> {
        let place = folder.locate(path, Purpose::Write)?;
        if let Some(index) = self.position(&place)? {
            return self.changes.get_mut(index).ok_or_else(|| PathError::Busy(path.to_owned()).into());
        }
        if self.changes.len() >= limits.changed_files {
            let text =
                format!("More than {} files at once. Nothing was changed. Do it in parts.", limits.changed_files);
            return Err(Outcome::not_ok(Code::TooLarge, text));
        }
        let before = match folder.open_file(&place) {
            Ok(opened) => Some(self.load(&place, opened, limits)?),
            Err(PathError::NotFound(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let after = before.as_ref().map(|before| before.bytes.clone());
        self.changes.push(Change { place, before, after, mode: None });
        self.changes.last_mut().ok_or_else(|| PathError::Busy(path.to_owned()).into())
    }

    /// The same for an agent's call: a file that is not as the agent saw it last is refused.
    ///
    /// # Errors
    /// As for [`Draft::file`], and that it changed since.
    pub fn known(&mut self, call: &Call<'_>, path: &str) -> Attempt<&mut Change> {
        let change = self.file(call.folder, call.limits, path)?;
        call.seen.unchanged(&change.place, change.before.as_ref().map(Before::stamp))?;
        Ok(change)
    }

    /// The changes as they are.
    pub(crate) fn into_changes(self) -> Vec<Change> {
        self.changes
    }

    fn position(&self, place: &Place) -> Attempt<Option<usize>> {
        let failed = |error: rustix::io::Errno| Outcome::io(&place.shown(), &error.into());
        let id = |place: &Place| fstat(&place.parent).map(|stat| (stat.st_dev, stat.st_ino)).map_err(failed);
        let wanted = id(place)?;
        for (index, change) in self.changes.iter().enumerate() {
            let other = &change.place;
            if other.name == place.name && other.missing == place.missing && id(other)? == wanted {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Makes all changes, or none.
    ///
    /// # Errors
    /// Nothing was changed, unless the class is *unknown*.
    pub fn commit(self, call: &Call<'_>) -> Attempt<Vec<Done>> {
        for change in &self.changes {
            judge(change, call)?;
        }
        if (call.cancelled)() {
            return Err(Outcome::cancelled());
        }
        let done = commit(self.changes, call.versions, &mut |_| Ok(()))?;
        for one in &done {
            match one.stamp {
                Some(stamp) => call.seen.saw(&one.at, stamp),
                None => call.seen.forget(&one.at),
            }
        }
        Ok(done)
    }

    fn load(&self, place: &Place, opened: Opened, limits: &Limits) -> Attempt<Before> {
        let before = load(place, opened, limits)?;
        let loaded = self.changes.iter().filter_map(|change| change.before.as_ref()).map(|before| before.bytes.len());
        if loaded.sum::<usize>().saturating_add(before.bytes.len()) > limits.changed_bytes {
            let most = limits.changed_bytes;
            let text = format!("The files have more than {most} bytes together. Nothing was changed. Do it in parts.");
            return Err(Outcome::not_ok(Code::TooLarge, text));
        }
        Ok(before)
    }
}

fn load(place: &Place, opened: Opened, limits: &Limits) -> Attempt<Before> {
    let shown = place.shown();
    let failed = |error: std::io::Error| Outcome::io(&format!("{shown} could not be read"), &error);
    if accessat(&place.parent, &place.name, Access::WRITE_OK, AtFlags::empty()).is_err() {
        let text =
            format!("{shown} is not writable: its mode, its owner or the file system says so. Nothing was changed.");
        return Err(Outcome::not_ok(Code::PermissionDenied, text).with(json!({ "path": shown })));
    }
    let most = u64::try_from(limits.edit_bytes).unwrap_or(u64::MAX);
    let (stat, mut bytes) = (opened.stat, Vec::new());
    opened.file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > limits.edit_bytes {
        return Err(too_large(&shown, limits));
    }
    Ok(Before { bytes, stat })
}

fn too_large(shown: &str, limits: &Limits) -> Outcome {
    let text =
        format!("{shown} has more than {} bytes. Nothing was changed. Change it with a program.", limits.edit_bytes);
    Outcome::not_ok(Code::TooLarge, text).with(json!({ "path": shown, "limit": limits.edit_bytes }))
}

fn judge(change: &Change, call: &Call<'_>) -> Attempt<()> {
    let shown = change.place.shown();
    let Some(after) = &change.after else { return Ok(()) };
    if after.len() > call.limits.edit_bytes {
        return Err(too_large(&shown, call.limits));
    }
    let before = change.before.as_ref().map_or(&[][..], |before| &before.bytes);
    let Some(line) = hidden::mask_in_place(before, after, call.mask) else { return Ok(()) };
    let text = format!(
        "Line {line} of what {shown} was to become holds the mark that stands for a hidden secret. Writing it would destroy the \
         secret, so nothing was changed. Use edit_text on other lines and leave that one as it is."
    );
    Err(Outcome::not_ok(Code::HiddenValue, text).with(json!({ "path": shown, "line": line })))
}

/// Refuses a file that is no text.
///
/// # Errors
/// It is not.
pub fn text_only(shown: &str, bytes: &[u8]) -> Attempt<()> {
    match binary(bytes.get(..HEAD_BYTES).unwrap_or(bytes)) {
        None => Ok(()),
        Some(kind) => {
            let text = format!("{shown} is not text: {}. It cannot be edited. Nothing was changed.", kind.as_str());
            Err(Outcome::not_ok(Code::Binary, text).with(json!({ "path": shown, "binary": kind.as_str() })))
        }
    }
}

#[cfg(test)]
mod tests;
