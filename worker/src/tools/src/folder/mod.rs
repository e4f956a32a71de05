//! The one resolver. A path that a model wrote becomes a descriptor, once; what is checked and what is used is that descriptor.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`error`] | why a path leads nowhere |
//! | [`fence`] | places that nothing here enters |
//! | `resolve` | from a path to the directory that holds its last name, beneath the root |
//! | [`mod@open`] | opening what is there: regular files only, never a pipe |
//! | [`walk`] | everything below a directory, by descriptor, with `.gitignore` |
//!
//! Invariants:
//! - Directories are opened beneath a root that is open itself (openat2(2), `RESOLVE_BENEATH`), the last name without following it;
//!   a link there is read and resolved from the root again. What changes names meanwhile can make this fail, never lead outside.
//! - The fence knows devices and inodes, and names in directories that it knows so: what is made or moved there later is closed too.
//!   Every name of a path is held against it, and from where the path arrives, every directory up to the root.
//! - A root is not fenced, and lies in no fenced place.
//! - Only the main root may be written to, and in it nothing that belongs to version control, nor what is guarded.
//!
//! A hard link elsewhere to a file inside a fenced directory is another name of that file and not recognised, unless the file is
//! in the fence itself.

pub mod error;
pub mod fence;
pub mod open;
pub mod walk;

mod ignored;
mod resolve;

pub use error::PathError;
pub use fence::{Fence, FileId};
pub use open::{Opened, Stamp};
pub use resolve::{Directory, Place};
pub use walk::{Entry, Flow, Kind, Walked};

use crate::outcome::Code;
use resolve::{Met, Way};
use rustix::fs::{Mode, OFlags, fstat, open};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Flags of a directory that is only a starting point.
const PLACE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A directory that paths start from.
#[derive(Debug)]
struct Root {
    fd: OwnedFd,
    id: FileId,
    /// Its path without links, and as it was given.
    paths: [PathBuf; 2],
}

impl Root {
    fn open(path: &Path, fence: &Fence) -> io::Result<Self> {
        let real = path.canonicalize()?;
        let fd = open(&real, PLACE | OFlags::NOFOLLOW, Mode::empty())?;
        let id = FileId::of(&fstat(&fd)?);
        match fence.on_the_way_up(fd.as_fd(), None)? {
            Met::Fence => {
                let text = "it lies in a place that is closed to agents";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
            }
            Met::Goal | Met::Top => {}
        }
        Ok(Self { fd, id, paths: [real, path.to_owned()] })
    }
}

/// What an access is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Looking.
    Read,
    /// Changing: in the main root only.
    Write,
}

/// Where an agent works: one directory that it may change, others that it may read, and a fence.
#[derive(Debug)]
pub struct Folder {
    main: Root,
    others: Vec<Root>,
    fence: Fence,
    way: Way,
    guards: Vec<(PathBuf, Option<Code>)>,
    noticed: Mutex<Vec<String>>,
}

impl Folder {
    /// Opens the directory that the agent works in.
    ///
    /// # Errors
    /// It is not there, is no directory, or cannot be opened. It is fenced or lies in a fenced place: permission denied.
    pub fn open(path: &Path, fence: Fence) -> io::Result<Self> {
        let main = Root::open(path, &fence)?;
        let way = Way::probe(&main);
        Ok(Self { main, others: Vec::new(), fence, way, guards: Vec::new(), noticed: Mutex::default() })
    }

    /// Adds a directory that may be read; it is named by absolute paths.
    ///
    /// # Errors
    /// As for [`Folder::open`].
    pub fn add_readable(&mut self, path: &Path) -> io::Result<()> {
        self.others.push(Root::open(path, &self.fence)?);
        Ok(())
    }

    /// Guards a place in it, absolute and without links: changes there are refused with this code, or only noticed.
    pub fn guard(&mut self, path: PathBuf, code: Option<Code>) {
        self.guards.push((path, code));
    }

    /// What was to be changed in guarded places since this was asked last, where that is only noticed.
    pub fn take_noticed(&self) -> Vec<String> {
        std::mem::take(&mut *self.noticed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Holds a path that is to be changed, relative to the main root and without links, against what is guarded.
    fn held_against_guards(&self, path: &Path) -> Result<(), PathError> {
        let whole = self.path().join(path);
        match self.guards.iter().find(|(guarded, _)| whole.starts_with(guarded)) {
            None => Ok(()),
            Some((_, Some(code))) => Err(PathError::Guarded { path: path.display().to_string(), code: *code }),
            Some((_, None)) => {
                let mut noticed = self.noticed.lock().unwrap_or_else(PoisonError::into_inner);
                noticed.push(path.display().to_string());
                Ok(())
            }
        }
    }

    /// The directories that may only be read, without links.
    pub fn readable(&self) -> impl Iterator<Item = &Path> {
        self.others.iter().map(|root| root.paths[0].as_path())
    }

    /// Its path without links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.main.paths[0]
    }

    /// What it refuses.
    #[must_use]
    pub const fn fence(&self) -> &Fence {
        &self.fence
    }

    /// Whether the main root was removed: what is in it cannot be reached any more, whatever has its name now. One that was moved
    /// is not gone.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        const MARK: &[u8] = b" (deleted)";
        if fstat(&self.main.fd).is_ok_and(|stat| stat.st_nlink == 0) {
            return true;
        }
        // Not every file system counts the names of directories; the kernel marks a name that is gone (proc_pid_fd(5)).
        let name = std::fs::read_link(format!("/proc/self/fd/{}", self.main.fd.as_raw_fd()));
        let is_marked = |path: &Path| path.as_os_str().as_encoded_bytes().ends_with(MARK);
        name.is_ok_and(|name| is_marked(&name)) && !is_marked(self.path())
    }

    #[cfg(test)]
    pub(crate) fn without_openat2(mut self) -> Self {
        self.way = Way::Walk;
        self
    }

    fn is_main(&self, root: &Root) -> bool {
        std::ptr::eq(root, &raw const self.main)
    }
}

#[cfg(test)]
mod tests;
