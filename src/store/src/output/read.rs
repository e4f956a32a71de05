//! Reads ranges of a stream over head, gap and tail.

use super::{head_capacity, head_file, tail_capacity, tail_file};
use ouroboros_proto::kind::{Captured, Stream};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

/// What is known about how much a stream holds.
#[derive(Clone, Copy)]
pub enum Extent<'a> {
    /// The attempt reported it at its end.
    Final(Captured),
    /// The attempt is running.
    Live {
        /// Bytes that its worker reported as written so far. Asked again after each read.
        written: &'a dyn Fn() -> u64,
        /// How many bytes the worker may have written beyond what it reported.
        slack: u64,
    },
    /// The attempt was lost without a report: what the files say is all there is.
    Unknown,
}

/// A piece of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Where the bytes stand in the stream.
    pub offset: u64,
    /// The bytes; none at the end of what is there.
    pub bytes: Vec<u8>,
    /// Bytes between the offset that was asked for and `offset` that are not kept.
    pub gap: u64,
}

/// Reads the streams of one attempt.
#[derive(Debug, Clone)]
pub struct OutputReader {
    base: PathBuf,
    limit: u64,
}

/// Where the kept bytes of a stream stand: `0..head` and `tail..end`.
#[derive(Debug, Clone, Copy)]
struct Kept {
    head: u64,
    tail: u64,
    end: u64,
    ring: u64,
}

impl OutputReader {
    /// A reader of the files at `base`, whose streams may keep `limit` bytes each (used while the attempt runs, or when it was
    /// lost; a report says more).
    #[must_use]
    pub const fn new(base: PathBuf, limit: u64) -> Self {
        Self { base, limit }
    }

    /// Reads at most `max` bytes of `stream` from `offset` on; fewer where the head ends. An offset whose byte is not kept is
    /// moved to the next one that is, and `gap` says by how much. At the end there are no bytes.
    ///
    /// # Errors
    /// The files cannot be read; [`io::ErrorKind::NotFound`] when they are no longer kept.
    pub fn read(&self, stream: Stream, extent: Extent<'_>, offset: u64, max: usize) -> io::Result<Chunk> {
        let kept = self.kept(stream, extent)?;
        let start = if offset < kept.head { offset } else { offset.max(kept.tail) };
        let stop = if start < kept.head { kept.head } else { kept.end };
        let wanted = usize::try_from(stop.saturating_sub(start)).unwrap_or(usize::MAX).min(max);
        let mut bytes = vec![0; wanted];
        if wanted > 0 {
            let read = if start < kept.head {
                fill(&File::open(head_file(&self.base, stream))?, &mut bytes, start)?
            } else {
                self.read_ring(stream, kept, start, &mut bytes)?
            };
            bytes.truncate(read);
        }
        let mut chunk = Chunk { offset: start, bytes, gap: start.saturating_sub(offset) };
        if let Extent::Live { .. } = extent
            && start >= kept.head
        {
            // The ring may have come around while it was read: what it overwrote is not what was asked for.
            let tail = self.kept(stream, extent)?.tail;
            let lost = tail.saturating_sub(start);
            let cut = usize::try_from(lost).unwrap_or(usize::MAX).min(chunk.bytes.len());
            chunk.bytes.drain(..cut);
            chunk.offset = chunk.offset.saturating_add(lost);
            chunk.gap = chunk.gap.saturating_add(lost);
        }
        Ok(chunk)
    }

    fn kept(&self, stream: Stream, extent: Extent<'_>) -> io::Result<Kept> {
        let capacity = head_capacity(self.limit);
        let ring = tail_capacity(self.limit);
        match extent {
            Extent::Final(captured) if captured.tail > 0 => Ok(Kept {
                head: captured.head,
                tail: captured.written.saturating_sub(captured.tail),
                end: captured.written,
                // The limit may have been another one then: a ring that came around is as long as its file.
                ring: File::open(tail_file(&self.base, stream))?.metadata()?.len(),
            }),
            Extent::Final(captured) => {
                Ok(Kept { head: captured.head, tail: captured.written, end: captured.written, ring })
            }
            Extent::Live { written, slack } => {
                let end = written();
                let head = end.min(capacity);
                let tail = end.saturating_add(slack).saturating_sub(ring).max(head).min(end);
                Ok(Kept { head, tail, end, ring })
            }
            Extent::Unknown => {
                let head = File::open(head_file(&self.base, stream))?.metadata()?.len();
                let kept = match File::open(tail_file(&self.base, stream)) {
                    // A full ring begins somewhere; nobody knows where.
                    Ok(tail) if tail.metadata()?.len() >= ring => 0,
                    Ok(tail) => tail.metadata()?.len(),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
                    Err(error) => return Err(error),
                };
                Ok(Kept { head, tail: head, end: head.saturating_add(kept), ring })
            }
        }
    }

    fn read_ring(&self, stream: Stream, kept: Kept, start: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let file = File::open(tail_file(&self.base, stream))?;
        let place = start.saturating_sub(kept.head).checked_rem(kept.ring).unwrap_or(0);
        let before_wrap = usize::try_from(kept.ring.saturating_sub(place)).unwrap_or(usize::MAX);
        let (first, second) = bytes.split_at_mut(before_wrap.min(bytes.len()));
        let read = fill(&file, first, place)?;
        if read < first.len() {
            return Ok(read);
        }
        Ok(read.saturating_add(fill(&file, second, 0)?))
    }
}

/// Reads until `bytes` is full or the file ends; returns how many there were.
fn fill(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0_usize;
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        let at = offset.saturating_add(u64::try_from(done).unwrap_or(u64::MAX));
        match file.read_at(rest, at) {
            Ok(0) => break,
            Ok(count) => done = done.saturating_add(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
