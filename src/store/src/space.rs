//! Free room on the disk, and the reserve.
//!
//! The reserve is a file of allocated blocks. When a commit fails because the disk is full it is unlinked, so that what is
//! running can still be settled and cancelled. It is made again when there is room for it.

use crate::shared::lock;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Room on the file system of the data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Bytes that we may still use.
    pub free: u64,
    /// Whether that is less than the low-water mark: nothing new should be accepted.
    pub low: bool,
    /// Whether the reserve is in place; without it nothing new should be accepted either.
    pub reserved: bool,
}

/// Bytes free for us on the file system of `path`.
///
/// # Errors
/// The file system does not say.
pub fn free(path: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// The reserve of one data directory.
pub struct Reserve {
    path: PathBuf,
    bytes: u64,
    low_water: u64,
    in_place: Mutex<bool>,
}

impl Reserve {
    /// A reserve of `bytes` at `path`, and the low-water mark that goes with it. Nothing is done yet.
    pub const fn new(path: PathBuf, bytes: u64, low_water: u64) -> Self {
        Self { path, bytes, low_water, in_place: Mutex::new(false) }
    }

    /// Makes the reserve when it is missing and there is room for it and for the low-water mark. Tells whether it is there.
    pub fn ensure(&self) -> bool {
        let mut in_place = lock(&self.in_place);
        if !*in_place {
            *in_place = self.bytes == 0 || self.present() || self.make();
        }
        *in_place
    }

    /// Gives the reserve up. Tells whether there was one.
    pub fn release(&self) -> bool {
        let mut in_place = lock(&self.in_place);
        *in_place = false;
        fs::remove_file(&self.path).is_ok()
    }

    /// What room there is.
    ///
    /// # Errors
    /// The file system does not say.
    pub fn space(&self) -> io::Result<Space> {
        let free = free(self.path.parent().unwrap_or(&self.path))?;
        Ok(Space { free, low: free < self.low_water, reserved: *lock(&self.in_place) })
    }

    fn present(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|metadata| metadata.len() == self.bytes)
    }

    fn make(&self) -> bool {
        let wanted = self.bytes.saturating_add(self.low_water);
        if self.path.parent().and_then(|dir| free(dir).ok()).is_none_or(|free| free < wanted) {
            return false;
        }
        let made =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&self.path).and_then(|file| {
                rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, self.bytes)
                    .map_err(io::Error::from)
            });
        match made {
            Ok(()) => true,
            // A file system that cannot allocate ahead works without a reserve.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                let _ = fs::remove_file(&self.path);
                true
            }
            Err(error) => {
                let _ = fs::remove_file(&self.path);
                tracing::warn!(%error, "the reserve file cannot be made");
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_made_given_up_and_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("reserve");
        let reserve = Reserve::new(path.clone(), 64 * 1024, 0);
        assert!(!reserve.space().unwrap().reserved);
        assert!(reserve.ensure());
        assert_eq!(fs::metadata(&path).unwrap().len(), 64 * 1024);
        assert!(reserve.space().unwrap().reserved);
        assert!(reserve.release());
        assert!(!path.exists());
        assert!(!reserve.space().unwrap().reserved);
        assert!(reserve.ensure());
        assert!(path.exists());
    }

    #[test]
    fn no_reserve_is_made_below_the_low_water_mark() {
        let dir = tempfile::tempdir().unwrap();
        let reserve = Reserve::new(dir.path().join("reserve"), 4096, u64::MAX / 2);
        assert!(!reserve.ensure());
        assert!(reserve.space().unwrap().low);
    }
}
