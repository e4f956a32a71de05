//! Until when what has to be there.

use super::Timing;
use ouroboros_proto::kind::Millis;
use std::time::Duration;
use tokio::time::Instant;

/// The deadlines of one request. Time counts from the moment the request may leave.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadlines {
    pub(super) timing: Timing,
    start: Instant,
}

impl Deadlines {
    pub(super) fn start(timing: Timing) -> Self {
        Self { timing, start: Instant::now() }
    }

    /// The first event.
    pub(super) fn head(&self) -> Instant {
        let span = self.timing.connect.duration().saturating_add(self.timing.first_byte.duration());
        after(self.start, span).min(self.whole())
    }

    /// More bytes, from now.
    pub(super) fn next(&self) -> Instant {
        self.within(self.timing.between_bytes.duration())
    }

    pub(super) fn within(&self, span: Duration) -> Instant {
        after(Instant::now(), span).min(self.whole())
    }

    fn whole(&self) -> Instant {
        after(self.start, self.timing.whole.duration())
    }

    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.whole()
    }
}

/// A moment later; a day later when the span does not fit a clock.
fn after(start: Instant, span: Duration) -> Instant {
    start.checked_add(span).unwrap_or_else(|| start + Duration::from_secs(86_400))
}

/// A span in words.
pub(super) fn seconds(span: Millis) -> String {
    if span.get() < 1_000 { format!("{} ms", span.get()) } else { format!("{} s", span.get() / 1_000) }
}
