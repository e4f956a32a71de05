//! Opening what a name stands for: a regular file, without waiting and without following a link.

use super::Folder;
use super::error::PathError;
use super::fence::FileId;
use super::resolve::Place;
use super::walk::Entry;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd};

/// What tells that a file is still the same, with the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    id: FileId,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        let nanos = |value| i64::try_from(value).unwrap_or(i64::MAX);
        Self {
            id: FileId::of(stat),
            size: stat.st_size,
            modified: (stat.st_mtime, nanos(stat.st_mtime_nsec)),
            changed: (stat.st_ctime, nanos(stat.st_ctime_nsec)),
        }
    }

    /// Whether it is the same file, as long, and written at the same time; its mode and its names may be others.
    pub(crate) fn has_same_content(&self, other: &Self) -> bool {
        (self.id, self.size, self.modified) == (other.id, other.size, other.modified)
    }
}

/// A regular file that is open for reading.
#[derive(Debug)]
pub struct Opened {
    /// It.
    pub file: File,
    /// What it was when it was opened.
    pub stat: Stat,
}

impl Opened {
    /// Its size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }

    /// As which file with which content it is known.
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp::of(&self.stat)
    }
}

impl Folder {
    /// Opens the file at a place for reading.
    ///
    /// # Errors
    /// See [`PathError`].
    pub fn open_file(&self, place: &Place) -> Result<Opened, PathError> {
        if !place.missing.is_empty() {
            return Err(PathError::NotFound(place.shown()));
        }
        self.open_in(place.parent.as_fd(), &place.name, &place.shown())
    }

    /// The same for a name in a directory that is open and was held against the fence.
    pub(crate) fn open_in(&self, parent: BorrowedFd<'_>, name: &OsStr, shown: &str) -> Result<Opened, PathError> {
        let fault = |error| fault(error, shown);
        if self.is_closed(parent, name).map_err(fault)? {
            return Err(PathError::Fenced(shown.to_owned()));
        }
        // Looked at before it is opened, since opening a device may act on it.
        self.admits(&statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).map_err(fault)?, shown)?;
        self.open_looked_at(parent, name, shown)
    }

    /// The same for a file that a walk has just come across and found neither closed nor special.
    pub(crate) fn open_walked(&self, entry: &Entry<'_>, shown: &str) -> Result<Opened, PathError> {
        self.open_looked_at(entry.parent, entry.name, shown)
    }

    fn open_looked_at(&self, parent: BorrowedFd<'_>, name: &OsStr, shown: &str) -> Result<Opened, PathError> {
        let fault = |error| fault(error, shown);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(openat(parent, name, flags, Mode::empty()).map_err(fault)?);
        let stat = fstat(&file).map_err(fault)?;
        self.admits(&stat, shown)?;
        Ok(Opened { file, stat })
    }

    fn admits(&self, stat: &Stat, shown: &str) -> Result<(), PathError> {
        if self.fence.holds(FileId::of(stat)) {
            return Err(PathError::Fenced(shown.to_owned()));
        }
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => return Ok(()),
            FileType::Directory => return Err(PathError::IsADirectory(shown.to_owned())),
            FileType::Symlink => return Err(PathError::Busy(shown.to_owned())),
            FileType::Fifo => "a pipe",
            FileType::Socket => "a socket",
            FileType::CharacterDevice | FileType::BlockDevice => "a device",
            FileType::Unknown => "of an unknown kind",
        };
        Err(PathError::Special { path: shown.to_owned(), kind })
    }
}

fn fault(error: Errno, shown: &str) -> PathError {
    match error {
        Errno::NOENT => PathError::NotFound(shown.to_owned()),
        // It became a link after it was looked at.
        Errno::LOOP => PathError::Busy(shown.to_owned()),
        Errno::NXIO | Errno::NODEV => PathError::Special { path: shown.to_owned(), kind: "a socket or a device" },
        error => PathError::io(shown, error),
    }
}
