//! A captured stream, and saying how it grows.

use super::Capture;
use crate::link::Reporter;
use ouroboros_proto::kind::{BootMicros, Captured, Millis, Stream};

/// The shortest time between two announcements of one stream while it is busy.
const PACE: Millis = Millis::new(10);

/// One stream.
#[derive(Debug)]
pub struct Kept {
    stream: Stream,
    capture: Capture,
    announced: u64,
    may_announce: BootMicros,
}

impl Kept {
    /// Nothing was written yet. Its files begin with `base`, and `limit` bytes are kept.
    pub fn new(stream: Stream, base: &str, limit: u64) -> Self {
        let capture = Capture::new(stream, base, limit);
        Self { stream, capture, announced: 0, may_announce: BootMicros::default() }
    }

    /// Which.
    pub const fn stream(&self) -> Stream {
        self.stream
    }

    /// Takes what was written.
    pub fn take(&mut self, bytes: &[u8]) {
        self.capture.take(bytes);
    }

    /// Bytes that were written.
    pub fn written(&self) -> u64 {
        self.capture.written()
    }

    /// When its next announcement is due; `None` when it did not grow.
    pub fn next_announcement(&self) -> Option<BootMicros> {
        (self.capture.written() > self.announced).then_some(self.may_announce)
    }

    /// Announces that it grew, when that is due.
    pub fn announce(&mut self, now: BootMicros, reporter: &mut Reporter) {
        if self.next_announcement().is_some_and(|at| at <= now) {
            self.announce_now(now, reporter);
        }
    }

    /// Announces that it grew, due or not.
    pub fn announce_now(&mut self, now: BootMicros, reporter: &mut Reporter) {
        if self.next_announcement().is_some() {
            self.announced = self.capture.written();
            self.may_announce = now.plus(PACE);
            reporter.output(self.stream, self.announced);
        }
    }

    /// Puts everything on the disk; says what is kept.
    pub fn finish(&mut self) -> Captured {
        self.capture.finish()
    }
}
