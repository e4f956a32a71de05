//! Output files as a whole: made ready, counted, removed.

use super::{OutputReader, ending_file, head_file, stdin_file, tail_file, transcript_file};
use crate::content::ensure_directory;
use crate::layout::Layout;
use ouroboros_proto::kind::{AttemptId, Stream};
use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

/// The output files of an installation.
#[derive(Debug, Clone)]
pub struct Output {
    layout: Layout,
}

impl Output {
    pub(crate) const fn new(layout: Layout) -> Self {
        Self { layout }
    }

    /// Makes the directory of an attempt's files and returns the path that their names begin with.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn prepare(&self, attempt: &AttemptId) -> io::Result<PathBuf> {
        ensure_directory(&self.layout.output())?;
        ensure_directory(&self.layout.output_shard(attempt))?;
        Ok(self.layout.output_base(attempt))
    }

    /// A reader of an attempt's streams, which may keep `limit` bytes each.
    #[must_use]
    pub fn reader(&self, attempt: &AttemptId, limit: u64) -> OutputReader {
        OutputReader::new(self.layout.output_base(attempt), limit)
    }

    /// Bytes in the head file of a stream: all that is known of one whose attempt was lost without a report.
    #[must_use]
    pub fn head_bytes(&self, attempt: &AttemptId, stream: Stream) -> u64 {
        fs::metadata(head_file(&self.layout.output_base(attempt), stream)).map_or(0, |metadata| metadata.len())
    }

    /// Removes what stands beside the streams of an attempt that is over: its report is stored, its input was read.
    pub fn tidy(&self, attempt: &AttemptId) {
        let base = self.layout.output_base(attempt);
        for path in [ending_file(&base), stdin_file(&base), transcript_file(&base)] {
            // Most have none, and what stays is removed with the streams.
            let _ = fs::remove_file(path);
        }
    }

    /// Whether anything of an attempt's output is still kept.
    #[must_use]
    pub fn is_kept(&self, attempt: &AttemptId) -> bool {
        let base = self.layout.output_base(attempt);
        Stream::ALL.into_iter().any(|stream| head_file(&base, stream).exists())
    }

    /// Removes the files of an attempt; returns the bytes freed. Files that are not there are no error.
    ///
    /// # Errors
    /// A file is there and cannot be removed.
    pub fn remove(&self, attempt: &AttemptId) -> io::Result<u64> {
        let base = self.layout.output_base(attempt);
        let mut freed = 0_u64;
        let streams = Stream::ALL.into_iter().flat_map(|stream| [head_file(&base, stream), tail_file(&base, stream)]);
        for path in streams.chain([ending_file(&base), stdin_file(&base), transcript_file(&base)]) {
            let size = fs::symlink_metadata(&path).map(|metadata| metadata.blocks().saturating_mul(512));
            match fs::remove_file(&path) {
                Ok(()) => freed = freed.saturating_add(size.unwrap_or(0)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(freed)
    }

    /// Bytes on the disk that output takes. Looks at every file.
    ///
    /// # Errors
    /// A directory cannot be read.
    pub fn usage(&self) -> io::Result<u64> {
        let mut bytes = 0_u64;
        self.each(|entry| {
            // A file that is removed meanwhile takes nothing.
            let blocks = entry.metadata().map_or(0, |metadata| metadata.blocks());
            bytes = bytes.saturating_add(blocks.saturating_mul(512));
        })?;
        Ok(bytes)
    }

    /// The attempts that have files. Those of them without a row, which
    /// [`Reader::without_row`](crate::Reader::without_row) tells, are left over: a row is always there before its files.
    ///
    /// # Errors
    /// A directory cannot be read.
    pub fn attempts(&self) -> io::Result<BTreeSet<AttemptId>> {
        let mut found = BTreeSet::new();
        self.each(|entry| {
            let name = entry.file_name();
            let id: Option<AttemptId> =
                name.to_str().and_then(|name| name.split('.').next()).and_then(|id| id.parse().ok());
            found.extend(id);
        })?;
        Ok(found)
    }

    fn each(&self, mut see: impl FnMut(&DirEntry)) -> io::Result<()> {
        let shards = match fs::read_dir(self.layout.output()) {
            Ok(shards) => shards,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for shard in shards {
            let shard = shard?;
            if shard.file_type()?.is_dir() {
                for entry in fs::read_dir(shard.path())? {
                    see(&entry?);
                }
            }
        }
        Ok(())
    }
}
