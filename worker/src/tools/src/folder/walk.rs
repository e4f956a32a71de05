//! Everything below a directory, in order of names, by descriptor. Links are shown and not followed.

use super::Folder;
use super::error::PathError;
use super::fence::FileId;
use super::ignored::Rules;
use super::resolve::Directory;
use crate::limits::Limits;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// How many entries are read between two looks at whether the task was cancelled.
const BETWEEN_LOOKS: usize = 256;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A regular file of so many bytes.
    File(u64),
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// One entry, as it is come across.
pub struct Entry<'a> {
    /// Its path, shown as [`Directory`]'s is.
    pub path: &'a Path,
    /// Its path from where the walk began.
    pub inside: &'a Path,
    /// What it is.
    pub kind: Kind,
    /// Whether it is fenced; then nothing below it is come across.
    pub fenced: bool,
    pub(crate) parent: BorrowedFd<'a>,
    pub(crate) name: &'a OsStr,
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    On,
    /// That was enough.
    Stop,
}

/// What a walk should leave out.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Levels of directories below the first whose entries are shown; 0 for the first alone.
    pub depth: usize,
    /// Whether ignored entries are shown, and those of `.git`.
    pub ignored: bool,
}

/// Why a walk ended before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The task was cancelled.
    Cancelled,
    /// Who was shown the entries had enough.
    Enough,
    /// Too many entries.
    TooMany,
}

/// What a walk left out.
#[derive(Debug, Default)]
pub struct Walked {
    /// Entries that were looked at.
    pub entries: usize,
    /// Entries that were left out because a rule ignores them.
    pub ignored: usize,
    /// Fenced places.
    pub fenced: Vec<String>,
    /// What could not be read, and why.
    pub unreadable: Vec<String>,
    /// Directories that lie deeper than the walk goes by its own bound.
    pub too_deep: usize,
    /// Why it ended early.
    pub stopped: Option<Stopped>,
}

struct Walk<'a> {
    folder: &'a Folder,
    wanted: Wanted,
    limits: &'a Limits,
    cancelled: &'a dyn Fn() -> bool,
    visit: &'a mut dyn FnMut(&Entry<'_>) -> Flow,
    rules: Rules,
    walked: Walked,
    start: PathBuf,
}

impl Folder {
    /// Shows everything below a directory to `visit`.
    pub fn walk(
        &self,
        start: &Directory,
        wanted: Wanted,
        limits: &Limits,
        cancelled: &dyn Fn() -> bool,
        visit: &mut dyn FnMut(&Entry<'_>) -> Flow,
    ) -> Walked {
        let mut rules = Rules::default();
        if !wanted.ignored {
            for (fd, path) in &start.above {
                rules.enter(self, fd.as_fd(), path);
            }
        }
        let (walked, path) = (Walked::default(), start.path.clone());
        let mut walk = Walk { folder: self, wanted, limits, cancelled, visit, rules, walked, start: path };
        if let Err(stopped) = walk.directory(start.fd.as_fd(), &start.path, 0) {
            walk.walked.stopped = Some(stopped);
        }
        walk.walked
    }
}

impl Walk<'_> {
    fn directory(&mut self, fd: BorrowedFd<'_>, path: &Path, depth: usize) -> Result<(), Stopped> {
        let named = self.names(fd)?.and_then(|names| Ok((FileId::of(&fstat(fd)?), names)));
        let (id, names) = match named {
            Ok(named) => named,
            Err(error) => {
                self.unreadable(path, &error);
                return Ok(());
            }
        };
        let has_rules = !self.wanted.ignored && self.rules.enter(self.folder, fd, path);
        let shown = names.iter().try_for_each(|name| self.entry((fd, id), &path.join(name), name, depth));
        if has_rules {
            self.rules.leave();
        }
        shown
    }

    /// The names in a directory, in order.
    fn names(&mut self, fd: BorrowedFd<'_>) -> Result<rustix::io::Result<BTreeSet<OsString>>, Stopped> {
        let mut entries = match Dir::read_from(fd) {
            Ok(entries) => entries,
            Err(error) => return Ok(Err(error)),
        };
        // Put in order as they come: sorting a million at the end could not be called off.
        let mut names = BTreeSet::new();
        while let Some(entry) = entries.read() {
            let name = match entry {
                Ok(entry) => entry.file_name().to_bytes().to_vec(),
                Err(error) => return Ok(Err(error)),
            };
            if name == b"." || name == b".." {
                continue;
            }
            if names.len() % BETWEEN_LOOKS == 0 && (self.cancelled)() {
                return Err(Stopped::Cancelled);
            }
            self.walked.entries = self.walked.entries.saturating_add(1);
            if self.walked.entries > self.limits.walked_entries {
                return Err(Stopped::TooMany);
            }
            names.insert(OsString::from_vec(name));
        }
        Ok(Ok(names))
    }

    fn entry(
        &mut self,
        (fd, id): (BorrowedFd<'_>, FileId),
        path: &Path,
        name: &OsStr,
        depth: usize,
    ) -> Result<(), Stopped> {
        if (self.cancelled)() {
            return Err(Stopped::Cancelled);
        }
        let stat = match statat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            // It went away after it was listed.
            Err(rustix::io::Errno::NOENT) => return Ok(()),
            Err(error) => {
                self.unreadable(path, &error);
                return Ok(());
            }
        };
        let kind = kind(&stat);
        let is_directory = kind == Kind::Directory;
        if !self.wanted.ignored && (name == ".git" || self.rules.ignore(path, is_directory)) {
            self.walked.ignored = self.walked.ignored.saturating_add(1);
            return Ok(());
        }
        let fence = &self.folder.fence;
        let fenced = fence.holds(FileId::of(&stat)) || fence.closes(id, name);
        if fenced {
            self.walked.fenced.push(path.display().to_string());
        }
        let inside = path.strip_prefix(&self.start).unwrap_or(path).to_owned();
        let entry = Entry { path, inside: &inside, kind, fenced, parent: fd, name };
        match (self.visit)(&entry) {
            Flow::Stop => return Err(Stopped::Enough),
            Flow::On => {}
        }
        if is_directory && !fenced { self.below(fd, path, name, depth) } else { Ok(()) }
    }

    fn below(&mut self, fd: BorrowedFd<'_>, path: &Path, name: &OsStr, depth: usize) -> Result<(), Stopped> {
        if depth >= self.wanted.depth {
            return Ok(());
        }
        if depth >= self.limits.depth {
            self.walked.too_deep = self.walked.too_deep.saturating_add(1);
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(fd, name, flags, Mode::empty()).and_then(|opened| Ok((fstat(&opened)?, opened)));
        match opened {
            // Another directory may have taken the name since it was looked at.
            Ok((stat, _)) if self.folder.fence.holds(FileId::of(&stat)) => {
                self.walked.fenced.push(path.display().to_string());
                Ok(())
            }
            Ok((_, opened)) => self.directory(opened.as_fd(), path, depth.saturating_add(1)),
            Err(error) => {
                self.unreadable(path, &error);
                Ok(())
            }
        }
    }

    fn unreadable(&mut self, path: &Path, error: &rustix::io::Errno) {
        let shown = if path.as_os_str().is_empty() { ".".into() } else { path.display().to_string() };
        self.walked.unreadable.push(format!("{shown} ({})", std::io::Error::from(*error)));
    }
}

impl Walked {
    /// Notes that a file could not be opened.
    pub(crate) fn note(&mut self, error: &PathError) {
        match error {
            PathError::Fenced(path) => self.fenced.push(path.clone()),
            error => self.unreadable.push(error.to_string()),
        }
    }
}

fn kind(stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Kind::Directory,
        FileType::RegularFile => Kind::File(u64::try_from(stat.st_size).unwrap_or(0)),
        FileType::Symlink => Kind::Link,
        FileType::Fifo | FileType::Socket | FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => {
            Kind::Other
        }
    }
}
