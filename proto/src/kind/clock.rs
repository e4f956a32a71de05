//! The only place that reads a clock. `domain` never does: it is told the time with each input.

use super::time::{BootMicros, UtcMicros};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// One reading of both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Now {
    /// The wall clock.
    pub wall: UtcMicros,
    /// The boot clock.
    pub boot: BootMicros,
}

/// Reads both clocks.
#[must_use]
pub fn now() -> Now {
    Now { wall: wall(), boot: boot() }
}

/// Reads the wall clock.
#[must_use]
pub fn wall() -> UtcMicros {
    UtcMicros::new(micros(clock_gettime(ClockId::Realtime)))
}

/// Reads the boot clock.
#[must_use]
pub fn boot() -> BootMicros {
    BootMicros::new(u64::try_from(micros(clock_gettime(ClockId::Boottime))).unwrap_or(0))
}

fn micros(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000).saturating_add(time.tv_nsec / 1_000)
}
