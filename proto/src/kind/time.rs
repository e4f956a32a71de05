//! Times and durations. Two clocks: the wall clock (UTC, may jump) and the boot clock (never jumps, counts suspend).

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Microseconds since 1970-01-01T00:00:00Z on the wall clock. For people and for due dates; may jump either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct UtcMicros(i64);

/// Microseconds since the machine booted, suspend included (`CLOCK_BOOTTIME`). For measuring and for deadlines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct BootMicros(u64);

/// A duration in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct Millis(u64);

impl UtcMicros {
    /// The instant this many microseconds after the epoch.
    #[must_use]
    pub const fn new(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds after the epoch.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// This instant moved forward; saturates.
    #[must_use]
    pub fn plus(self, span: Millis) -> Self {
        let micros = i64::try_from(span.0.saturating_mul(1_000)).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros))
    }

    /// How long after `earlier` this is; zero when it is not after it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Millis {
        Millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0) / 1_000)
    }
}

impl BootMicros {
    /// The instant this many microseconds after boot.
    #[must_use]
    pub const fn new(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds after boot.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// This instant moved forward; saturates.
    #[must_use]
    pub const fn plus(self, span: Millis) -> Self {
        Self(self.0.saturating_add(span.0.saturating_mul(1_000)))
    }

    /// How long after `earlier` this is; zero when it is not after it.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0) / 1_000)
    }
}

impl Millis {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of this many milliseconds.
    #[must_use]
    pub const fn new(millis: u64) -> Self {
        Self(millis)
    }

    /// A span of this many seconds.
    #[must_use]
    pub const fn seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000))
    }

    /// Milliseconds.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The same span for the standard library.
    #[must_use]
    pub const fn duration(self) -> Duration {
        Duration::from_millis(self.0)
    }
}
