//! Pauses between starts that failed: each twice as long as the one before.

use ouroboros_proto::kind::{BootMicros, Millis};

/// The first pause, and the longest.
const PAUSES: (Millis, Millis) = (Millis::seconds(1), Millis::seconds(60));

/// How often it failed, and until when it is left alone.
#[derive(Debug, Default)]
pub struct Rest {
    failures: u32,
    until: Option<BootMicros>,
}

impl Rest {
    /// It ended before it ever answered.
    pub fn failed(&mut self, now: BootMicros) {
        let doubled = PAUSES.0.get().saturating_mul(1 << self.failures.min(16));
        self.failures = self.failures.saturating_add(1);
        self.until = Some(now.plus(Millis::new(doubled.min(PAUSES.1.get()))));
    }

    /// It answered.
    pub fn over(&mut self) {
        *self = Self::default();
    }

    /// Seconds, rounded up, that it is still left alone.
    pub fn left(&self, now: BootMicros) -> Option<u64> {
        let until = self.until.filter(|until| *until > now)?;
        Some(until.since(now).get().div_ceil(1000).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_minute_and_an_answer_ends_them() {
        let mut rest = Rest::default();
        let mut now = BootMicros::default();
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            assert_eq!(rest.left(now), None);
            rest.failed(now);
            assert_eq!(rest.left(now), Some(seconds));
            now = now.plus(Millis::new(seconds * 1000 - 1));
            assert_eq!(rest.left(now), Some(1), "a begun second counts");
            now = now.plus(Millis::new(1));
        }
        rest.failed(now);
        rest.over();
        assert_eq!(rest.left(now), None);
        rest.failed(now);
        assert_eq!(rest.left(now), Some(1));
    }
}
