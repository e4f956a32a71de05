//! Several files as one change.
//!
//! 1. Every new content is written beside its place and synced.
//! 2. Every old content, and what is about to happen, goes to the store of versions, durably.
//! 3. Every file is looked at once more, then replaced, created or removed.
//! 4. The directories are synced.
//!
//! What fails before 3 changes nothing. What fails in 3 is rolled back. A crash in 3 leaves each file as it was or as it should
//! be, and the store knows both.

use super::put::{self, Like, Staged};
use super::{Before, Change};
use crate::folder::Stamp;
use crate::outcome::{Attempt, Code, Outcome};
use crate::text::count_lines;
use crate::versions::Versions;
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, statat, unlinkat};
use rustix::io::{Errno, dup};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;

/// How far a commit is; for who watches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// All new contents are written beside their places.
    Staged,
    /// All old ones are kept.
    Kept,
    /// So many files are changed.
    Changed(usize),
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Its path.
    pub path: String,
    /// How many lines it had; `None` when there was none.
    pub lines_before: Option<usize>,
    /// How many lines it has; `None` when it is gone.
    pub lines_after: Option<usize>,
    /// Where it physically is.
    pub(crate) at: PathBuf,
    /// What is there is known by this.
    pub(crate) stamp: Option<Stamp>,
}

impl Done {
    /// The word for what happened.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match (self.lines_before, self.lines_after) {
            (None, _) => "created",
            (Some(_), Some(_)) => "replaced",
            (Some(_), None) => "deleted",
        }
    }

    /// As a fact.
    #[must_use]
    pub fn fact(&self) -> Value {
        let (before, after) = (self.lines_before, self.lines_after);
        json!({ "path": self.path, "change": self.word(), "lines_before": before, "lines_after": after })
    }
}

/// One change, ready to be made.
struct Ready {
    change: Change,
    /// The directory that holds the file.
    dir: OwnedFd,
    staged: Option<Staged>,
}

/// Directories that were made for new files.
#[derive(Default)]
struct Made(Vec<(OwnedFd, OsString)>);

/// Makes all changes, or none. `watch` is told of every step; when it fails, the commit fails there.
///
/// # Errors
/// Nothing was changed, unless the class is *unknown*.
pub fn commit(
    changes: Vec<Change>,
    versions: &Versions,
    watch: &mut dyn FnMut(Step) -> io::Result<()>,
) -> Attempt<Vec<Done>> {
    let mut changes: Vec<Change> = changes.into_iter().filter(|change| !change.is_none()).collect();
    // A file that moves is at both places for a moment, never at none.
    changes.sort_by_key(|change| change.after.is_none());
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    if let Err(error) = versions.staging_begins(&changes) {
        return Err(not_kept(&error));
    }
    let committed = stage_and_make(changes, versions, watch);
    versions.staging_is_over();
    committed
}

fn not_kept(error: &io::Error) -> Outcome {
    let text = format!("Nothing was changed: what the files are now could not be kept ({error}). Tell the owner.");
    Outcome::not_ok(Code::VersionNotKept, text)
}

fn stage_and_make(
    changes: Vec<Change>,
    versions: &Versions,
    watch: &mut dyn FnMut(Step) -> io::Result<()>,
) -> Attempt<Vec<Done>> {
    let mut made = Made::default();
    let mut ready = Vec::with_capacity(changes.len());
    for change in changes {
        let shown = change.place.shown();
        match versions.tag().and_then(|tag| prepare(change, &mut made, tag)) {
            Ok(one) => ready.push(one),
            Err(error) => {
                discard(&ready, &made);
                return Err(Outcome::io(&format!("Nothing was changed: {shown} could not be written"), &error));
            }
        }
    }
    let kept = watch(Step::Staged).and_then(|()| versions.keep(ready.iter().map(|one| &one.change)));
    if let Err(error) = kept {
        discard(&ready, &made);
        return Err(not_kept(&error));
    }
    let mut changed = 0_usize;
    let mut make = || {
        watch(Step::Kept)?;
        for one in &ready {
            one.put()?;
            changed = changed.saturating_add(1);
            watch(Step::Changed(changed))?;
        }
        Ok(())
    };
    if let Err(fault) = make() {
        return Err(roll_back(&ready, changed, &made, versions, fault));
    }
    let done: Vec<Done> = ready.iter().map(Ready::done).collect();
    match ready.iter().try_for_each(|one| put::sync(&one.dir)) {
        Ok(()) => Ok(done),
        Err(error) => {
            let text = format!(
                "The files are changed, but the disk did not confirm it ({error}). Read them before you go on."
            );
            Err(Outcome::not_ok(Code::PartlyDone, text).with(json!({ "changed": paths(&ready) })))
        }
    }
}

/// Why a file was not put in place.
enum Fault {
    Changed(String),
    Io(String, io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io("the change".to_owned(), error)
    }
}

fn prepare(change: Change, made: &mut Made, tag: &str) -> io::Result<Ready> {
    let dir = made.directory(&change.place.parent, &change.place.missing)?;
    let mut stat = change.before.as_ref().map(|before| before.stat);
    if let (Some(stat), Some(mode)) = (&mut stat, change.mode) {
        stat.st_mode = (stat.st_mode & !0o7777) | mode;
    }
    let like = match (&stat, change.mode) {
        (Some(stat), _) => Like::File(stat),
        (None, Some(mode)) => Like::Mode(mode),
        (None, None) => Like::New,
    };
    let staged = change.after.as_ref().map(|bytes| put::stage(dir.as_fd(), bytes, like, tag)).transpose()?;
    Ok(Ready { change, dir, staged })
}

impl Ready {
    fn put(&self) -> Result<(), Fault> {
        let (dir, name) = (self.dir.as_fd(), &self.change.place.name);
        let shown = || self.change.place.shown();
        let now = match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(Stamp::of(&stat)),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(Fault::Io(shown(), error.into())),
        };
        if now != self.change.before.as_ref().map(Before::stamp) {
            return Err(Fault::Changed(shown()));
        }
        let put = match (&self.staged, &self.change.before) {
            (Some(staged), Some(_)) => staged.replace(dir, name),
            (Some(staged), None) => staged.create(dir, name),
            (None, Some(_)) => unlinkat(dir, name, AtFlags::empty()).map_err(io::Error::from),
            (None, None) => Ok(()),
        };
        put.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Fault::Changed(shown()),
            _ => Fault::Io(shown(), error),
        })
    }

    /// Puts back what was there, if what is there is what was put there.
    fn put_back(&self, tag: &str) -> io::Result<()> {
        let (dir, name) = (self.dir.as_fd(), &self.change.place.name);
        // By content: the number of a file that is gone is given to the next one.
        if put::read(dir, name)? != self.change.after {
            return Err(io::Error::other("something else changed it"));
        }
        match (&self.change.before, &self.staged) {
            (None, Some(_)) => unlinkat(dir, name, AtFlags::empty())?,
            (None, None) => {}
            (Some(before), staged) => {
                let old = put::stage(dir, &before.bytes, Like::File(&before.stat), tag)?;
                let back = if staged.is_some() { old.replace(dir, name) } else { old.create(dir, name) };
                back.inspect_err(|_| old.discard(dir))?;
            }
        }
        put::sync(dir)
    }

    fn done(&self) -> Done {
        Done {
            path: self.change.place.shown(),
            lines_before: self.change.before.as_ref().map(|before| count_lines(&before.bytes)),
            lines_after: self.change.after.as_ref().map(|after| count_lines(after)),
            at: self.change.place.path.clone(),
            stamp: self.staged.as_ref().map(|staged| staged.stamp),
        }
    }
}

fn roll_back(ready: &[Ready], changed: usize, made: &Made, versions: &Versions, fault: Fault) -> Outcome {
    let (changed, untouched) = ready.split_at_checked(changed).unwrap_or((ready, &[]));
    let mut stuck = Vec::new();
    let mut back = Vec::new();
    for one in changed.iter().rev() {
        match versions.tag().and_then(|tag| one.put_back(tag)) {
            Ok(()) => back.push(&one.change),
            Err(error) => stuck.push(format!("{} ({error})", one.change.place.shown())),
        }
    }
    discard(untouched, made);
    // Without its line a version that was put back is taken for one that was never put in place: the same thing.
    let _ = versions.note_back(back);
    if !stuck.is_empty() {
        let text = format!(
            "Changed in part. These files are changed and could not be put back: {}. All others are as they were. Read them \
             before you go on.",
            stuck.join(", ")
        );
        return Outcome::not_ok(Code::PartlyDone, text).with(json!({ "changed": stuck }));
    }
    match fault {
        Fault::Changed(path) => {
            let text = format!("{path} was changed by something else meanwhile. Nothing was changed. Read it again.");
            Outcome::not_ok(Code::ChangedMeanwhile, text).with(json!({ "path": path }))
        }
        Fault::Io(what, error) => {
            let text = format!("{what} failed, and everything was put back as it was");
            Outcome::io(&text, &error)
        }
    }
}

fn discard(ready: &[Ready], made: &Made) {
    for one in ready {
        if let Some(staged) = &one.staged {
            staged.discard(one.dir.as_fd());
        }
    }
    for (dir, name) in made.0.iter().rev() {
        // One that is in use by now stays.
        let _ = unlinkat(dir, name, AtFlags::REMOVEDIR);
    }
}

fn paths(ready: &[Ready]) -> Vec<String> {
    ready.iter().map(|one| one.change.place.shown()).collect()
}

impl Made {
    /// Opens a directory, making what is missing of it.
    fn directory(&mut self, parent: &OwnedFd, missing: &[OsString]) -> io::Result<OwnedFd> {
        let mut at = dup(parent)?;
        for name in missing {
            match mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => {
                    put::sync(&at)?;
                    self.0.push((dup(&at)?, name.clone()));
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            at = openat(&at, name, flags, Mode::empty())?;
        }
        Ok(at)
    }
}
