//! The two streams of work that asks models: what it is for goes to standard output, what is said beside it to standard error.

use crate::keep::Capture;
use crate::link::Reporter;
use ouroboros_proto::kind::{BootMicros, Captured, Millis, Stream, clock};

/// The shortest time between two announcements of one stream while it is busy.
const PACE: Millis = Millis::new(10);

/// The two streams.
#[derive(Debug)]
pub struct Speech {
    text: Kept,
    said: Kept,
}

#[derive(Debug)]
struct Kept {
    stream: Stream,
    capture: Capture,
    announced: u64,
    may_announce: BootMicros,
}

impl Speech {
    /// Nothing was written yet. Each stream keeps `limit` bytes.
    pub fn new(base: &str, limit: u64) -> Self {
        let kept = |stream| Kept {
            stream,
            capture: Capture::new(stream, base, limit),
            announced: 0,
            may_announce: BootMicros::default(),
        };
        Self { text: kept(Stream::Stdout), said: kept(Stream::Stderr) }
    }

    /// Writes what the work is for.
    pub fn write(&mut self, text: &str) {
        self.text.capture.take(text.as_bytes());
    }

    /// Whether any of that was written.
    pub fn has_written(&self) -> bool {
        self.text.capture.written() > 0
    }

    /// Says something beside it, on a line of its own.
    pub fn say(&mut self, words: &str) {
        self.said.capture.take(words.as_bytes());
        self.said.capture.take(b"\n");
    }

    /// When the next announcement is due; `None` when nothing grew.
    pub fn next_announcement(&self) -> Option<BootMicros> {
        [&self.text, &self.said].into_iter().filter(|kept| kept.grew()).map(|kept| kept.may_announce).min()
    }

    /// Announces what grew and is due.
    pub fn announce(&mut self, now: BootMicros, reporter: &mut Reporter) {
        for kept in [&mut self.text, &mut self.said] {
            if kept.grew() && kept.may_announce <= now {
                kept.announce(now, reporter);
            }
        }
    }

    /// Puts everything on the disk; says what is kept of both.
    pub fn finish(&mut self, reporter: &mut Reporter) -> (Captured, Captured) {
        for kept in [&mut self.text, &mut self.said] {
            if kept.grew() {
                kept.announce(clock::boot(), reporter);
            }
        }
        reporter.flush();
        (self.text.capture.finish(), self.said.capture.finish())
    }
}

impl Kept {
    fn grew(&self) -> bool {
        self.capture.written() > self.announced
    }

    fn announce(&mut self, now: BootMicros, reporter: &mut Reporter) {
        self.announced = self.capture.written();
        self.may_announce = now.plus(PACE);
        reporter.output(self.stream, self.announced);
    }
}
