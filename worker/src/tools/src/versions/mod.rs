//! What files were before they were changed, and going back there.
//!
//! A directory: `content/` holds bytes under the SHA-256 of them, `index.jsonl` a line a change. Both are durable before the
//! change is made, so a line may tell of one that never was: then the file is still what it was before.
//!
//! A line: the path in the folder, what was there (hash and mode), the same of what is put there, the time. A line that was cut
//! short by a crash is passed over; its change was not made.

mod compare;
mod sweep;
mod undo;

pub use compare::{Compared, Side};
pub use undo::{Manner, Scope, Undo};

use crate::change::Change;
use crate::change::put::{self, Like};
use ouroboros_proto::kind::{UtcMicros, clock, hex};
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, statat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

const INDEX: &str = "index.jsonl";
const CONTENT: &str = "content";
/// Digits of a store's tag.
const TAG_DIGITS: usize = 12;

/// What was at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// SHA-256 of its bytes, in hexadecimal.
    pub hash: String,
    /// Its mode.
    pub mode: u32,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The path, relative to the folder.
    pub path: String,
    /// What was there; `None` when nothing was.
    pub before: Option<State>,
    /// The hash of what was put there; `None` when it was deleted.
    pub after: Option<String>,
    /// The mode that it got; `None` when it was not said, or was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// When, in microseconds since 1970 (UTC).
    pub at: UtcMicros,
}

/// A store of prior versions.
#[derive(Debug)]
pub struct Versions {
    path: PathBuf,
    store: OnceLock<Store>,
    /// One line after the other.
    writing: Mutex<()>,
}

/// The open directories of a store.
#[derive(Debug)]
struct Store {
    content: OwnedFd,
    dir: OwnedFd,
    /// Part of the names of unfinished files: those of this store are told from others'.
    tag: String,
}

impl Store {
    fn open(path: &Path) -> io::Result<Self> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(path, flags, Mode::empty())?;
        match mkdirat(&dir, CONTENT, Mode::RWXU) {
            Ok(()) => put::sync(&dir)?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let content = openat(&dir, CONTENT, flags | OFlags::NOFOLLOW, Mode::empty())?;
        let tag = digest(path.canonicalize()?.as_os_str().as_encoded_bytes()).chars().take(TAG_DIGITS).collect();
        Ok(Self { content, dir, tag })
    }
}

impl Versions {
    /// The store at a path. It is opened, and made where there is none, when it is first used.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), store: OnceLock::new(), writing: Mutex::new(()) }
    }

    /// Opens a store, and makes one where there is none: for its owner only.
    ///
    /// # Errors
    /// The directory cannot be made or opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let versions = Self::at(path);
        versions.store()?;
        Ok(versions)
    }

    fn store(&self) -> io::Result<&Store> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        // Two may open it at once; one of them is kept.
        let store = Store::open(&self.path)?;
        Ok(self.store.get_or_init(|| store))
    }

    fn content_dir(&self) -> io::Result<BorrowedFd<'_>> {
        Ok(self.store()?.content.as_fd())
    }

    fn dir(&self) -> io::Result<BorrowedFd<'_>> {
        Ok(self.store()?.dir.as_fd())
    }

    /// Whether anything was ever put there. The error: nobody can tell.
    fn is_there(&self) -> io::Result<bool> {
        Ok(self.store.get().is_some() || self.path.try_exists()?)
    }

    /// Part of the names of unfinished files.
    pub(crate) fn tag(&self) -> io::Result<&str> {
        Ok(&self.store()?.tag)
    }

    /// Keeps what files are before changes are made to them. Durable when it returns.
    ///
    /// # Errors
    /// It could not be kept, so the changes must not be made.
    pub fn keep<'c>(&self, changes: impl IntoIterator<Item = &'c Change>) -> io::Result<()> {
        let at = clock::wall();
        let mut lines = Vec::new();
        for change in changes {
            let before = match &change.before {
                None => None,
                Some(before) => Some(State { hash: self.put(&before.bytes)?, mode: before.stat.st_mode & 0o7777 }),
            };
            let after = change.after.as_deref().map(digest);
            let mode = change.after.as_ref().and(mode_after(change));
            lines.push(Line { path: change.place.shown(), before, after, mode, at });
        }
        put::sync(self.content_dir()?)?;
        self.append(&lines)
    }

    /// Notes that changes which were kept were put back.
    pub(crate) fn note_back<'c>(&self, changes: impl IntoIterator<Item = &'c Change>) -> io::Result<()> {
        let at = clock::wall();
        let mut lines = Vec::new();
        for change in changes {
            let before = match &change.after {
                None => None,
                Some(after) => Some(State { hash: self.put(after)?, mode: mode_after(change).unwrap_or(0o644) }),
            };
            let after = change.before.as_ref().map(|before| digest(&before.bytes));
            let mode = change.before.as_ref().map(|before| before.stat.st_mode & 0o7777);
            lines.push(Line { path: change.place.shown(), before, after, mode, at });
        }
        self.append(&lines)
    }

    /// Every change, oldest first.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn history(&self) -> io::Result<Vec<Line>> {
        if !self.is_there()? {
            return Ok(Vec::new());
        }
        let mut text = Vec::new();
        match openat(self.dir()?, INDEX, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(index) => File::from(index).read_to_end(&mut text)?,
            Err(Errno::NOENT) => 0,
            Err(error) => return Err(error.into()),
        };
        Ok(text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    /// The bytes under a hash.
    ///
    /// # Errors
    /// They are not there, or damaged.
    pub fn content(&self, hash: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        File::from(openat(self.content_dir()?, hash, flags, Mode::empty())?).read_to_end(&mut bytes)?;
        if digest(&bytes) == hash { Ok(bytes) } else { Err(io::Error::other("the kept version is damaged")) }
    }

    fn put(&self, bytes: &[u8]) -> io::Result<String> {
        let content = self.content_dir()?;
        let hash = digest(bytes);
        let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let there = statat(content, &hash, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| stat.st_size == size);
        if !there {
            let staged = put::stage(content, bytes, Like::Private, self.tag()?)?;
            let placed = staged.replace(content, OsStr::new(&hash));
            placed.inspect_err(|_| staged.discard(content))?;
        }
        Ok(hash)
    }

    fn append(&self, lines: &[Line]) -> io::Result<()> {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mut index = File::from(openat(self.dir()?, INDEX, flags, Mode::RUSR | Mode::WUSR)?);
        let mut text = Vec::new();
        if !ends_with_newline(&mut index)? {
            text.push(b'\n');
        }
        for line in lines {
            serde_json::to_writer(&mut text, line)?;
            text.push(b'\n');
        }
        index.write_all(&text)?;
        index.sync_all()?;
        put::sync(self.dir()?)
    }
}

fn mode_after(change: &Change) -> Option<u32> {
    change.mode.or(change.before.as_ref().map(|before| before.stat.st_mode & 0o7777))
}

fn ends_with_newline(index: &mut File) -> io::Result<bool> {
    if index.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0_u8];
    index.seek(SeekFrom::End(-1))?;
    index.read_exact(&mut last)?;
    Ok(last == [b'\n'])
}

/// SHA-256 in hexadecimal.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    hex::hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests;
