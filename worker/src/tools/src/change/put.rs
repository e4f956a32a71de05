//! One file, durably, by descriptor: written beside its place, synced, then moved there.

use crate::folder::Stamp;
use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid, fchmod, fchown, fstat, linkat, openat, renameat, renameat_with,
    unlinkat,
};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// How often a free name for the new file is looked for.
const NAMES: usize = 1_000;

const PREFIX: &str = ".ouroboros-";
const SUFFIX: &str = ".replacing";

/// Whether a name is that of a file which was staged with this tag.
pub fn is_unfinished(name: &[u8], tag: &str) -> bool {
    let middle = name.strip_prefix(PREFIX.as_bytes()).and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
    middle.is_some_and(|middle| middle.starts_with(tag.as_bytes()))
}

/// A new file beside its place.
#[derive(Debug)]
pub struct Staged {
    name: String,
    /// What it is known by.
    pub(crate) stamp: Stamp,
}

/// Whose mode and owner a new file gets.
#[derive(Debug, Clone, Copy)]
pub enum Like<'a> {
    /// Of this one.
    File(&'a Stat),
    /// This mode.
    Mode(u32),
    /// What a program's new files get.
    New,
    /// For its owner only.
    Private,
}

/// Writes a new file into a directory under a name of its own, which holds `tag`; it is synced when this returns.
pub fn stage(dir: BorrowedFd<'_>, bytes: &[u8], like: Like<'_>, tag: &str) -> io::Result<Staged> {
    let (name, file) = create(dir, like, tag)?;
    match fill(file, bytes, like) {
        Ok(stamp) => Ok(Staged { name, stamp }),
        Err(error) => {
            // The first error is the one to tell.
            let _ = unlinkat(dir, &name, AtFlags::empty());
            Err(error)
        }
    }
}

fn create(dir: BorrowedFd<'_>, like: Like<'_>, tag: &str) -> io::Result<(String, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mode = match like {
        // Nobody reads it before it has the mode of the file that it replaces.
        Like::File(_) | Like::Private => Mode::RUSR | Mode::WUSR,
        Like::Mode(_) | Like::New => Mode::from_raw_mode(0o666),
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..NAMES {
        let name = format!("{PREFIX}{tag}-{}{SUFFIX}", NEXT.fetch_add(1, Ordering::Relaxed));
        match openat(dir, &name, flags, mode) {
            Err(Errno::EXIST) => {}
            opened => return Ok((name, File::from(opened?))),
        }
    }
    Err(Errno::EXIST.into())
}

fn fill(mut file: File, bytes: &[u8], like: Like<'_>) -> io::Result<Stamp> {
    file.write_all(bytes)?;
    match like {
        Like::File(stat) => {
            // Only who may give files away can keep another's; a mode that acts for an owner goes with him.
            let kept = fchown(&file, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid))).is_ok();
            let bits = if kept { 0o7777 } else { 0o777 };
            fchmod(&file, Mode::from_raw_mode(stat.st_mode & bits))?;
        }
        Like::Mode(mode) => fchmod(&file, Mode::from_raw_mode(mode & 0o777))?,
        Like::New | Like::Private => {}
    }
    file.sync_all()?;
    Ok(Stamp::of(&fstat(&file)?))
}

impl Staged {
    /// Puts it in the place of what is there.
    pub fn replace(&self, dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        Ok(renameat(dir, &self.name, dir, name)?)
    }

    /// Puts it where nothing is; fails when something is.
    pub fn create(&self, dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        match renameat_with(dir, &self.name, dir, name, RenameFlags::NOREPLACE) {
            // File systems that cannot do that can link.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(dir, &self.name, dir, name, AtFlags::empty())?;
                self.discard(dir);
                Ok(())
            }
            done => Ok(done?),
        }
    }

    /// Removes it.
    pub fn discard(&self, dir: BorrowedFd<'_>) {
        // What is left over is harmless, and its name says what it was.
        let _ = unlinkat(dir, &self.name, AtFlags::empty());
    }
}

/// The bytes of the regular file that has this name; `None` when nothing has it.
pub fn read(dir: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = match openat(dir, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Makes what happened to names in a directory durable. The descriptor may be one that can only be started from.
pub fn sync(dir: impl AsFd) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    File::from(openat(dir, ".", flags, Mode::empty())?).sync_all()
}
