//! How far a reader has been given the output of an attempt.

use bytes::Bytes;
use ouroboros_proto::kind::{AttemptId, Stream};

/// Bytes read at once; in base64 they fill 64 KiB.
pub const PIECE: usize = 48 << 10;

/// Which output is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Only of this attempt, counted from 1.
    pub ordinal: Option<u32>,
    /// Only this stream.
    pub stream: Option<Stream>,
    /// Where to begin in the first attempt that is given.
    pub from: Offsets,
}

impl Wanted {
    /// Whether output of this attempt and stream is.
    #[must_use]
    pub fn takes(&self, ordinal: u32, stream: Stream) -> bool {
        self.ordinal.is_none_or(|only| only == ordinal) && self.stream.is_none_or(|only| only == stream)
    }
}

/// A place in each stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offsets {
    /// In standard output.
    pub stdout: u64,
    /// In standard error.
    pub stderr: u64,
}

impl Offsets {
    /// The place in one stream.
    #[must_use]
    pub const fn of(&self, stream: Stream) -> u64 {
        match stream {
            Stream::Stdout => self.stdout,
            Stream::Stderr => self.stderr,
        }
    }

    /// Moves the place in one stream.
    pub const fn set(&mut self, stream: Stream, offset: u64) {
        match stream {
            Stream::Stdout => self.stdout = offset,
            Stream::Stderr => self.stderr = offset,
        }
    }
}

/// The attempt whose output is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Current {
    /// Which.
    pub attempt: AttemptId,
    /// Counted from 1.
    pub ordinal: u32,
    /// Up to where it was given.
    pub given: Offsets,
}

/// A piece of output on its way to a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Which attempt, counted from 1.
    pub ordinal: u32,
    /// Which stream.
    pub stream: Stream,
    /// Where in the stream it stands.
    pub offset: u64,
    /// Bytes before it that are not kept.
    pub gap: u64,
    /// The bytes.
    pub bytes: Bytes,
}
