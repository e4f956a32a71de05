//! Bodies stored under the SHA-256 of their bytes: small ones in the database, large ones in files.
//!
//! A file is durable before its row can name it. Housekeeping deletes a file only when it has not been wanted for an hour, so
//! that a body which is stored again at that moment stays.

use crate::layout::{Layout, hex};
use ouroboros_domain::change::Content;
use ouroboros_process::durable;
use ouroboros_proto::kind::{Millis, UtcMicros, clock};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW};
use sha2::{Digest as _, Sha256};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::Arc;

/// Bodies up to this size are stored in the database.
pub const INLINE_BYTES: usize = 16 << 10;

/// How long a file must not have been wanted before it is deleted.
const UNWANTED: Millis = Millis::seconds(3_600);

/// Where bodies are stored.
#[derive(Debug, Clone)]
pub struct Contents {
    layout: Layout,
}

impl Contents {
    pub(crate) const fn new(layout: Layout) -> Self {
        Self { layout }
    }

    /// Makes `bytes` ready to be named by a task. A large body is in its file, durably, when this returns; a small one
    /// travels in the result and is stored with the task.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put(&self, bytes: &[u8]) -> io::Result<Content> {
        self.put_as(digest(bytes), bytes)
    }

    /// The same where their SHA-256 is known.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put_as(&self, hash: [u8; 32], bytes: &[u8]) -> io::Result<Content> {
        if bytes.len() <= INLINE_BYTES {
            return Ok(Content { hash, bytes: Arc::from(bytes), in_file: false });
        }
        let path = self.layout.content(&hash);
        // Wanted first, looked at second: then it is not deleted in between.
        if touch(&path).is_err() || fs::read(&path).ok().is_none_or(|stored| stored != bytes) {
            ensure_directory(&self.layout.contents())?;
            if let Some(shard) = path.parent() {
                ensure_directory(shard)?;
            }
            durable::replace(&path, bytes)?;
        }
        Ok(Content { hash, bytes: Arc::default(), in_file: true })
    }

    /// The name of a hash, as specifications write it.
    #[must_use]
    pub fn name(hash: &[u8; 32]) -> String {
        hex(hash)
    }
}

/// SHA-256 of `bytes`.
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Every hash that `spec` names: 64 hexadecimal digits in a row. A specification is opaque here; text that only looks like a
/// hash keeps a body longer than needed and does no other harm.
pub fn hashes_in(spec: &[u8]) -> impl Iterator<Item = [u8; 32]> {
    spec.split(|byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        .filter(|run| run.len() == 64)
        .filter_map(|run| crate::layout::unhex(str::from_utf8(run).ok()?))
}

/// Deletes the file of a body that nobody names; returns the bytes freed. One that was wanted lately stays.
pub fn remove_old(layout: &Layout, hash: &[u8; 32]) -> u64 {
    let path = layout.content(hash);
    let Ok(metadata) = fs::metadata(&path) else { return 0 };
    let modified = UtcMicros::new(metadata.mtime().saturating_mul(1_000_000));
    if clock::wall().since(modified) < UNWANTED {
        return 0;
    }
    match fs::remove_file(&path) {
        Ok(()) => metadata.blocks().saturating_mul(512),
        Err(_) => 0,
    }
}

/// Makes a directory for its owner only, durably; nothing happens when it is there.
pub fn ensure_directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => match path.parent() {
            Some(parent) => File::open(parent)?.sync_all(),
            None => Ok(()),
        },
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Marks the file of a body as wanted now.
pub(crate) fn touch(path: &Path) -> io::Result<()> {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    Ok(rustix::fs::utimensat(CWD, path, &times, AtFlags::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_found_wherever_they_stand() {
        let (one, two) = (digest(b"one"), digest(b"two"));
        let spec = format!(r#"{{"env":"{}","stdin":"{}","argv":["abc","{}0"]}}"#, hex(&one), hex(&two), hex(&one));
        assert_eq!(hashes_in(spec.as_bytes()).collect::<Vec<_>>(), [one, two]);
    }

    #[test]
    fn large_bodies_go_to_files_and_a_damaged_file_is_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let contents = Contents::new(Layout::new(dir.path()));
        assert!(!contents.put(b"small").unwrap().in_file);
        let big = vec![7; INLINE_BYTES + 1];
        let content = contents.put(&big).unwrap();
        assert!(content.in_file && content.bytes.is_empty());
        let path = contents.layout.content(&content.hash);
        assert_eq!(fs::read(&path).unwrap(), big);
        fs::write(&path, vec![0; big.len()]).unwrap();
        assert_eq!(contents.put(&big).unwrap(), content);
        assert_eq!(fs::read(&path).unwrap(), big);
        assert_eq!(remove_old(&contents.layout, &content.hash), 0, "wanted just now");
    }
}
