//! Removing what commits that were cut short by a kill have left in a folder.
//!
//! Before new contents are written beside their places, the directories are noted in `staging.json`; when the commit is over, the
//! note goes. Neither is synced: after a loss of power there may be a file too many, whose name says what it is.

use super::Versions;
use crate::change::Change;
use crate::change::put;
use crate::folder::Folder;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd;

const STAGING: &str = "staging.json";

impl Versions {
    /// Removes unfinished files that an earlier process, which used this store, has left in the folder and in the store; says how
    /// many there were. To be called before a folder is used again, while nobody else uses this store.
    ///
    /// # Errors
    /// The store cannot be read. A directory that is no longer there, or no longer allowed, is passed over.
    pub fn sweep(&self, folder: &Folder) -> io::Result<usize> {
        if !self.is_there()? {
            return Ok(0);
        }
        let mut removed = self.remove_unfinished(self.content_dir()?)?;
        let mut text = Vec::new();
        match openat(self.dir()?, STAGING, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(note) => File::from(note).read_to_end(&mut text)?,
            Err(Errno::NOENT) => return Ok(removed),
            Err(error) => return Err(error.into()),
        };
        // A note that was cut short came before any file.
        let paths: Vec<String> = serde_json::from_slice(&text).unwrap_or_default();
        for path in paths {
            if let Ok(directory) = folder.directory(&path) {
                removed = removed.saturating_add(self.remove_unfinished(&directory.fd)?);
            }
        }
        self.staging_is_over();
        Ok(removed)
    }

    /// Notes where new contents are about to be written.
    pub(crate) fn staging_begins(&self, changes: &[Change]) -> io::Result<()> {
        let parent = |change: &Change| {
            let parent = change.place.path.parent().map(|path| path.display().to_string()).unwrap_or_default();
            if parent.is_empty() { ".".to_owned() } else { parent }
        };
        let paths: BTreeSet<String> = changes.iter().map(parent).collect();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mut note = File::from(openat(self.dir()?, STAGING, flags, Mode::RUSR | Mode::WUSR)?);
        note.write_all(&serde_json::to_vec(&paths)?)
    }

    /// Nothing unfinished is left.
    pub(crate) fn staging_is_over(&self) {
        // A note too many makes a sweep look where there is nothing.
        let _ = self.dir().map(|dir| unlinkat(dir, STAGING, AtFlags::empty()));
    }

    fn remove_unfinished(&self, directory: impl AsFd) -> io::Result<usize> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            if put::is_unfinished(entry.file_name().to_bytes(), self.tag()?) {
                names.push(entry.file_name().to_owned());
            }
        }
        for name in &names {
            unlinkat(&directory, name, AtFlags::empty())?;
        }
        Ok(names.len())
    }
}
