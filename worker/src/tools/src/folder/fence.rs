//! Places that nothing here enters: physical ones, whatever name, link or mount leads there, and names, whatever has them.

use rustix::fs::Stat;
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Links that are followed from one fenced name to the next, as the kernel does.
const LINKS: usize = 40;

/// Which physical file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(crate) const fn of(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }

    fn at(path: &Path) -> io::Result<Option<(Self, bool)>> {
        match std::fs::metadata(path) {
            Ok(metadata) => Ok(Some((Self { device: metadata.dev(), inode: metadata.ino() }, metadata.is_dir()))),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A set of places.
#[derive(Debug, Clone, Default)]
pub struct Fence {
    places: HashSet<FileId>,
    /// By the directory that they are in.
    names: HashMap<FileId, HashSet<OsString>>,
}

impl Fence {
    /// Nothing is fenced.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Fences what is at `path` now, a file or a directory with everything in it, and whatever will be there: its name is closed
    /// in the directory that it is in. Of a path whose directories are not there either, the first name that is missing is closed.
    ///
    /// # Errors
    /// It cannot be looked at, so it would stay open. A path that leads through a file, or through a directory that may not be
    /// entered, is taken as absent.
    pub fn add(&mut self, path: &Path) -> io::Result<()> {
        if let Some((id, _)) = FileId::at(path)? {
            self.places.insert(id);
        }
        let mut path = std::path::absolute(path)?;
        // A link is closed itself, and so is the name that it leads to.
        for _ in 0..LINKS {
            let Some(closed) = self.close(&path)? else { break };
            let (Ok(target), Some(parent)) = (std::fs::read_link(closed), closed.parent()) else { break };
            path = parent.join(target);
        }
        Ok(())
    }

    /// Closes the first name on `path` that is in a directory which is there and leads to none, or else the last name; gives the
    /// path up to that name.
    fn close<'p>(&mut self, path: &'p Path) -> io::Result<Option<&'p Path>> {
        for closed in path.ancestors() {
            let (Some(parent), Some(name)) = (closed.parent(), closed.file_name()) else { continue };
            if let Some((id, true)) = FileId::at(parent)? {
                self.names.entry(id).or_default().insert(name.to_owned());
                return Ok(Some(closed));
            }
        }
        Ok(None)
    }

    pub(crate) fn holds(&self, id: FileId) -> bool {
        self.places.contains(&id)
    }

    /// The names that are closed in a directory.
    pub(crate) fn names_in(&self, directory: FileId) -> impl Iterator<Item = &OsStr> {
        self.names.get(&directory).into_iter().flatten().map(OsString::as_os_str)
    }

    pub(crate) fn closes(&self, directory: FileId, name: &OsStr) -> bool {
        self.names.get(&directory).is_some_and(|names| names.contains(name))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty() && self.names.is_empty()
    }
}

fn is_absence(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| [Errno::NOENT, Errno::NOTDIR, Errno::ACCESS].contains(&errno))
}
