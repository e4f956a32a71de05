//! A point on the boot clock until which something may take.

use ouroboros_proto::kind::{BootMicros, Millis, clock};
use rustix::event::Timespec;
use std::time::Duration;

/// When a bounded operation must give up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(BootMicros);

impl Deadline {
    /// `bound` from now; a bound beyond half a million years counts as that.
    pub(crate) fn after(bound: Duration) -> Self {
        let micros = u64::try_from(bound.as_micros()).unwrap_or(u64::MAX);
        Self(BootMicros::new(clock::boot().get().saturating_add(micros)))
    }

    /// What is left of it; zero when it has passed.
    pub(crate) fn left(self) -> Duration {
        Duration::from_micros(self.0.get().saturating_sub(clock::boot().get()))
    }

    /// Whether it has passed.
    pub(crate) fn passed(self) -> bool {
        self.left().is_zero()
    }
}

/// A duration as the kernel takes it; saturates.
pub(crate) fn timespec(span: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX), tv_nsec: i64::from(span.subsec_nanos()) }
}

/// Whole milliseconds since `start`.
pub(crate) fn since(start: BootMicros) -> Millis {
    clock::boot().since(start)
}
