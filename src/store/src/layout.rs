//! Where things lie in a data directory.

pub use ouroboros_proto::kind::hex::{hex, unhex};
use ouroboros_proto::kind::{AttemptId, TaskId};
use std::io;
use std::path::{Path, PathBuf};

/// The paths of one data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// The layout under `root`.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The data directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.root.join("store.db")
    }

    /// The database's write-ahead log.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.root.join("store.db-wal")
    }

    /// The database's shared index of its log.
    #[must_use]
    pub fn log_index(&self) -> PathBuf {
        self.root.join("store.db-shm")
    }

    /// Copies made before migrations and restores.
    #[must_use]
    pub fn backups(&self) -> PathBuf {
        self.root.join("backups")
    }

    /// Bodies stored under their hash.
    #[must_use]
    pub fn contents(&self) -> PathBuf {
        self.root.join("content")
    }

    /// The file of the body with this hash.
    #[must_use]
    pub fn content(&self, hash: &[u8; 32]) -> PathBuf {
        let name = hex(hash);
        let shard: String = name.chars().take(2).collect();
        self.contents().join(shard).join(name)
    }

    /// What attempts wrote.
    #[must_use]
    pub fn output(&self) -> PathBuf {
        self.root.join("output")
    }

    /// The directory of an attempt's files: named by the last byte of its id, which is random; the first ones are its time.
    #[must_use]
    pub fn output_shard(&self, attempt: &AttemptId) -> PathBuf {
        let last = attempt.as_bytes().last().copied().unwrap_or(0);
        self.output().join(hex(&[last]))
    }

    /// Path and common start of the names of an attempt's files; see [`output`](crate::output) for what is appended.
    #[must_use]
    pub fn output_base(&self, attempt: &AttemptId) -> PathBuf {
        self.output_shard(attempt).join(attempt.to_string())
    }

    /// Tasks of which something is kept at [`Layout::versions`].
    ///
    /// # Errors
    /// The directory is there and cannot be read.
    pub fn tasks_with_versions(&self) -> io::Result<Vec<TaskId>> {
        self.tasks_in("versions")
    }

    /// Tasks that have something at [`Layout::scratch`].
    ///
    /// # Errors
    /// The directory is there and cannot be read.
    pub fn tasks_with_scratch(&self) -> io::Result<Vec<TaskId>> {
        self.tasks_in("scratch")
    }

    fn tasks_in(&self, directory: &str) -> io::Result<Vec<TaskId>> {
        match std::fs::read_dir(self.root.join(directory)) {
            Ok(entries) => Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Home and temporary files of the programs that a task runs.
    #[must_use]
    pub fn scratch(&self, task: &TaskId) -> PathBuf {
        self.root.join("scratch").join(task.to_string())
    }

    /// What a task changed in its folder, as it was before.
    #[must_use]
    pub fn versions(&self, task: &TaskId) -> PathBuf {
        self.root.join("versions").join(task.to_string())
    }

    /// Room that is given up when the disk is full.
    #[must_use]
    pub fn reserve(&self) -> PathBuf {
        self.root.join("reserve")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_goes_both_ways() {
        assert_eq!(hex(&[0, 0xaf, 0x10]), "00af10");
        assert_eq!(unhex::<3>("00af10"), Some([0, 0xaf, 0x10]));
        assert_eq!(unhex::<3>("00af1"), None);
        assert_eq!(unhex::<2>("zz00"), None);
    }
}
