//! Reading a command's streams and saying how they grow.

use crate::keep::Kept;
use crate::link::Reporter;
use ouroboros_proto::kind::{BootMicros, Captured, Stream};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// Bytes read at once.
const CHUNK: usize = 64 << 10;
/// What is read after everything that wrote is gone, where the size of the buffer in between is not known.
const LEFTOVER: usize = 1 << 20;

/// All streams of a command.
#[derive(Debug)]
pub struct Output {
    pumps: Vec<Pump>,
    buffer: Vec<u8>,
}

/// One stream.
#[derive(Debug)]
struct Pump {
    source: Option<OwnedFd>,
    kept: Kept,
}

impl Output {
    /// Of these sources, which do not block.
    pub fn new(sources: Vec<(Stream, OwnedFd)>, base: &str, limit: u64) -> Self {
        let pump = |(stream, source)| Pump { source: Some(source), kept: Kept::new(stream, base, limit) };
        Self { pumps: sources.into_iter().map(pump).collect(), buffer: vec![0; CHUNK] }
    }

    /// What to wait for.
    pub fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.pumps.iter().filter_map(|pump| pump.source.as_ref()).map(|source| PollFd::new(source, PollFlags::IN))
    }

    /// Reads once from each stream that has something; true when one had.
    pub fn read(&mut self) -> bool {
        let mut progress = false;
        for pump in &mut self.pumps {
            progress |= pump.read(&mut self.buffer) > 0;
        }
        progress
    }

    /// Reads what is left in the pipes once nothing that writes is left. Bounded by their size: somebody outside the tree who
    /// was handed a writing end cannot keep us here.
    pub fn drain(&mut self) {
        for pump in &mut self.pumps {
            let mut left = pump.source.as_ref().map_or(0, leftover);
            while left > 0 {
                match pump.read(&mut self.buffer) {
                    0 => break,
                    count => left = left.saturating_sub(count),
                }
            }
            pump.source = None;
        }
    }

    /// When the next announcement is due; `None` when nothing grew.
    pub fn next_announcement(&self) -> Option<BootMicros> {
        self.pumps.iter().filter_map(|pump| pump.kept.next_announcement()).min()
    }

    /// Announces what grew and is due.
    pub fn announce(&mut self, now: BootMicros, reporter: &mut Reporter) {
        self.pumps.iter_mut().for_each(|pump| pump.kept.announce(now, reporter));
    }

    /// Announces what grew, due or not.
    pub fn announce_all(&mut self, now: BootMicros, reporter: &mut Reporter) {
        self.pumps.iter_mut().for_each(|pump| pump.kept.announce_now(now, reporter));
    }

    /// Puts everything on the disk; says what is kept of this stream.
    pub fn finish(&mut self, stream: Stream) -> Captured {
        self.pumps
            .iter_mut()
            .find(|pump| pump.kept.stream() == stream)
            .map_or_else(Captured::default, |pump| pump.kept.finish())
    }
}

impl Pump {
    /// Bytes read; 0 when there is nothing now or nothing more.
    fn read(&mut self, buffer: &mut [u8]) -> usize {
        let Some(source) = &self.source else { return 0 };
        loop {
            match rustix::io::read(source, &mut *buffer) {
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return 0,
                // A terminal whose other end is closed answers EIO.
                Ok(0) | Err(_) => {
                    self.source = None;
                    return 0;
                }
                Ok(count) => {
                    self.kept.take(buffer.get(..count).unwrap_or_default());
                    return count;
                }
            }
        }
    }
}

fn leftover(source: &OwnedFd) -> usize {
    rustix::pipe::fcntl_getpipe_size(source).unwrap_or(LEFTOVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_outside_the_tree_does_not_keep_us() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("x").display().to_string();
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::NONBLOCK).unwrap();
        rustix::io::write(&writer, b"left").unwrap();
        let mut output = Output::new(vec![(Stream::Stdout, reader)], &base, 100);
        output.drain();
        assert_eq!(output.finish(Stream::Stdout), Captured { written: 4, head: 4, tail: 0 });
        assert_eq!(output.finish(Stream::Stderr), Captured::default());
        assert!(rustix::io::write(&writer, b"more").is_err());
    }
}
