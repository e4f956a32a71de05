//! What is kept of a stream: its head in one file, its tail in another that is written as a ring.
//!
//! With `h` bytes of room for the head and `t` for the tail, the byte at offset `o` of the stream lies at `o` in the head file when
//! `o < h`, else at `(o - h) mod t` in the tail file. Files are made when the first byte for them comes.

use crate::note::note;
use ouroboros_proto::kind::{Captured, Stream};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Keeps one stream.
#[derive(Debug)]
pub struct Capture {
    written: u64,
    head: Part,
    tail: Part,
    /// Bytes of the head file that are right, from its start.
    head_kept: u64,
    /// Offset in the stream from which on the tail file is right.
    tail_from: u64,
}

#[derive(Debug)]
struct Part {
    path: PathBuf,
    room: u64,
    file: Option<File>,
    failed: bool,
}

impl Capture {
    /// Keeps at most `limit` bytes, half of them from the start, in files named after `base`.
    pub fn new(stream: Stream, base: &str, limit: u64) -> Self {
        let head = limit / 2;
        let name = format!("{base}.{}", stream.as_str());
        Self {
            written: 0,
            tail: Part::new(format!("{name}.tail"), limit.saturating_sub(head)),
            head: Part::new(name, head),
            head_kept: 0,
            tail_from: head,
        }
    }

    /// Bytes that came so far, kept or not.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Takes what came next. What cannot be stored is counted and lost: the writer must not wait for our disk.
    pub fn take(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.head.room.saturating_sub(self.written)).unwrap_or(usize::MAX);
        let (head, tail) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.take_head(head);
        self.written = self.written.saturating_add(length(head));
        self.take_tail(tail);
        self.written = self.written.saturating_add(length(tail));
    }

    /// Puts what is kept on the disk and says how much that is.
    pub fn finish(&mut self) -> Captured {
        let head = if self.head.sync() { self.head_kept } else { 0 };
        let tail = if self.tail.sync() { self.written.saturating_sub(self.tail_from) } else { 0 };
        Captured { written: self.written, head, tail }
    }

    /// A head with a hole would not be one, so it ends at the first failure.
    fn take_head(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.head.failed {
            return;
        }
        let (stored, result) = self.head.write(bytes, self.written);
        self.head_kept = self.head_kept.saturating_add(stored);
        self.head.failed = result.is_err();
    }

    /// Called with `written` at the offset of the first byte.
    fn take_tail(&mut self, bytes: &[u8]) {
        let Some(ring) = std::num::NonZeroU64::new(self.tail.room) else {
            self.tail_from = self.written.saturating_add(length(bytes));
            return;
        };
        let end = self.written.saturating_add(length(bytes));
        // Of a piece that goes round more than once only the last round stays.
        let skipped = length(bytes).saturating_sub(ring.get());
        let mut rest = bytes.get(usize::try_from(skipped).unwrap_or(usize::MAX)..).unwrap_or_default();
        let mut offset = self.written.saturating_add(skipped).saturating_sub(self.head.room);
        while !rest.is_empty() {
            let at = offset % ring;
            let until_wrap = usize::try_from(ring.get().saturating_sub(at)).unwrap_or(usize::MAX);
            let (piece, next) = rest.split_at_checked(until_wrap).unwrap_or((rest, &[]));
            if self.tail.write(piece, at).1.is_err() {
                // What is older may be overwritten in part, what is newer is not there: the tail starts again after this piece.
                self.tail_from = end;
                return;
            }
            offset = offset.saturating_add(length(piece));
            rest = next;
        }
        self.tail_from = self.tail_from.max(end.saturating_sub(ring.get()));
    }
}

impl Part {
    fn new(path: impl Into<PathBuf>, room: u64) -> Self {
        Self { path: path.into(), room, file: None, failed: false }
    }

    /// How many of the bytes are stored, and why not all.
    fn write(&mut self, bytes: &[u8], at: u64) -> (u64, io::Result<()>) {
        let mut stored = 0;
        let result = self.write_counted(bytes, at, &mut stored);
        if let Err(error) = &result
            && !self.failed
        {
            self.failed = true;
            note(format_args!("cannot keep output in {}: {error}", self.path.display()));
        }
        (stored, result)
    }

    fn write_counted(&mut self, bytes: &[u8], at: u64, stored: &mut u64) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(create(&self.path)?);
        }
        let Some(file) = &self.file else { return Ok(()) };
        let mut rest = bytes;
        while !rest.is_empty() {
            match file.write_at(rest, at.saturating_add(*stored)) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    *stored = stored.saturating_add(u64::try_from(count).unwrap_or(0));
                    rest = rest.get(count..).unwrap_or_default();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether everything written is on the disk.
    fn sync(&self) -> bool {
        let Some(file) = &self.file else { return true };
        let result = file.sync_data();
        if let Err(error) = &result {
            note(format_args!("cannot sync {}: {error}", self.path.display()));
        }
        result.is_ok()
    }
}

/// Makes or empties a file for its owner only, and the directory it is in when that is missing.
///
/// # Errors
/// When that cannot be done.
pub fn create(path: &Path) -> io::Result<File> {
    let open = || OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    match (open(), path.parent()) {
        (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
            open()
        }
        (result, _) => result,
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stream as far as it is kept: head, and tail put straight.
    fn kept(base: &str, limit: u64, captured: Captured) -> (Vec<u8>, Vec<u8>) {
        let read = |name: &str| std::fs::read(format!("{base}.{name}")).unwrap_or_default();
        let (head, ring) = (read("stdout"), read("stdout.tail"));
        let (head_room, tail_room) = (limit / 2, limit - limit / 2);
        let start = captured.written - captured.tail;
        let tail = (start..captured.written).map(|o| ring[usize::try_from((o - head_room) % tail_room).unwrap()]);
        (head[..usize::try_from(captured.head).unwrap()].to_vec(), tail.collect())
    }

    #[test]
    fn head_and_tail_are_exact_for_every_length_and_chunking() {
        let dir = tempfile::tempdir().unwrap();
        let stream: Vec<u8> = (0..100_u8).collect();
        for limit in [0_u64, 1, 2, 7, 20, 200] {
            for length in [0_usize, 1, 3, 4, 10, 11, 20, 21, 55, 100] {
                for chunk in [1_usize, 3, 10, 64, 100] {
                    let base = dir.path().join(format!("{limit}-{length}-{chunk}")).display().to_string();
                    let mut capture = Capture::new(Stream::Stdout, &base, limit);
                    stream[..length].chunks(chunk).for_each(|piece| capture.take(piece));
                    let captured = capture.finish();
                    let all = u64::try_from(length).unwrap();
                    assert_eq!(captured.written, all);
                    assert_eq!(captured.head, all.min(limit / 2));
                    assert_eq!(captured.tail, (all - captured.head).min(limit - limit / 2));
                    let (head, tail) = kept(&base, limit, captured);
                    assert_eq!(head, stream[..head.len()], "{limit} {length} {chunk}");
                    assert_eq!(tail, stream[length - tail.len()..length], "{limit} {length} {chunk}");
                }
            }
        }
    }

    #[test]
    fn a_silent_stream_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("a").display().to_string();
        assert_eq!(Capture::new(Stream::Stderr, &base, 10).finish(), Captured::default());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_cannot_be_stored_is_counted_and_not_called_kept() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), b"").unwrap();
        let base = dir.path().join("file/below/base").display().to_string();
        let mut capture = Capture::new(Stream::Stdout, &base, 10);
        capture.take(b"0123456789abcdef");
        assert_eq!(capture.finish(), Captured { written: 16, head: 0, tail: 0 });
    }
}
