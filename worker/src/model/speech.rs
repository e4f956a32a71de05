//! The two streams of work that asks models: what it is for goes to standard output, what is said beside it to standard error.

use crate::keep::Kept;
use crate::link::Reporter;
use ouroboros_proto::agent::TOLD_WORDS;
use ouroboros_proto::kind::{BootMicros, Captured, Stream, clock};

/// The two streams.
#[derive(Debug)]
pub struct Speech {
    text: Kept,
    said: Kept,
}

impl Speech {
    /// Nothing was written yet. Each stream keeps `limit` bytes.
    pub fn new(base: &str, limit: u64) -> Self {
        let kept = |stream| Kept::new(stream, base, limit);
        Self { text: kept(Stream::Stdout), said: kept(Stream::Stderr) }
    }

    /// Writes what the work is for.
    pub fn write(&mut self, text: &str) {
        self.text.take(text.as_bytes());
    }

    /// Whether any of that was written.
    pub fn has_written(&self) -> bool {
        self.text.written() > 0
    }

    /// Says something beside it, on a line of its own.
    pub fn say(&mut self, words: &str) {
        self.said.take(words.as_bytes());
        self.said.take(b"\n");
    }

    /// Says again what the transcript says, marked as that on each line.
    pub fn retell(&mut self, words: &str) {
        for line in words.lines() {
            self.say(&format!("{TOLD_WORDS}{line}"));
        }
    }

    /// When the next announcement is due; `None` when nothing grew.
    pub fn next_announcement(&self) -> Option<BootMicros> {
        [&self.text, &self.said].into_iter().filter_map(|kept| kept.next_announcement()).min()
    }

    /// Announces what grew and is due.
    pub fn announce(&mut self, now: BootMicros, reporter: &mut Reporter) {
        for kept in [&mut self.text, &mut self.said] {
            kept.announce(now, reporter);
        }
    }

    /// Puts everything on the disk; says what is kept of both.
    pub fn finish(&mut self, reporter: &mut Reporter) -> (Captured, Captured) {
        for kept in [&mut self.text, &mut self.said] {
            kept.announce_now(clock::boot(), reporter);
        }
        reporter.flush();
        (self.text.finish(), self.said.finish())
    }
}
