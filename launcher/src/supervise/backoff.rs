//! How long to wait before a server that crashed is started again. Never for ever.

use ouroboros_proto::kind::Millis;

/// The pause after the first crash.
const FIRST: u64 = 100;
/// The longest pause.
const CAP: u64 = 30_000;
/// Readiness that ends a row of crashes.
pub const STEADY: Millis = Millis::seconds(60);
/// Crashes in a row that somebody should look at.
const ALARM: u32 = 3;

/// Counts crashes in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backoff {
    crashes: u32,
}

impl Backoff {
    /// Counts one more crash, of a server that had been ready for `ready_for`, and gives the pause before the next start.
    /// `random` spreads it, so that many installations that fail for one reason do not all come back at one time.
    pub fn crashed(&mut self, ready_for: Option<Millis>, random: u64) -> Millis {
        if ready_for.is_some_and(|span| span >= STEADY) {
            self.crashes = 0;
        }
        let full = FIRST.checked_shl(self.crashes.min(16)).unwrap_or(CAP).min(CAP);
        self.crashes = self.crashes.saturating_add(1);
        let half = full / 2;
        Millis::new(half.saturating_add(random % half.saturating_add(1)))
    }

    /// A server has been ready for [`STEADY`]. Says whether that ends an alarm.
    pub fn steady(&mut self) -> bool {
        let alarmed = self.is_alarming();
        self.crashes = 0;
        alarmed
    }

    /// Crashes in a row.
    pub fn crashes(self) -> u32 {
        self.crashes
    }

    /// Whether it repeats.
    pub fn is_alarming(self) -> bool {
        self.crashes >= ALARM
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_to_its_cap_and_never_ends() {
        let mut longest = Backoff::default();
        let mut shortest = Backoff::default();
        let full = [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000];
        for (count, full) in (1..).zip(full) {
            assert_eq!(longest.crashed(None, full / 2), Millis::new(full));
            assert_eq!(shortest.crashed(None, 0), Millis::new(full / 2));
            assert_eq!((longest.crashes(), longest.is_alarming()), (count, count >= 3));
        }
        for random in [0, 1, u64::MAX, 12_345_678_901] {
            for _ in 0..100_000 {
                let pause = longest.crashed(None, random).get();
                assert!((CAP / 2..=CAP).contains(&pause), "{pause}");
            }
        }
    }

    #[test]
    fn a_minute_of_readiness_begins_a_new_row() {
        let mut backoff = Backoff::default();
        for _ in 0..20 {
            backoff.crashed(Some(Millis::new(59_999)), 0);
        }
        assert!(backoff.is_alarming());
        assert_eq!(backoff.crashed(Some(STEADY), 50), Millis::new(100));
        assert!(!backoff.is_alarming());
        backoff.crashed(None, 0);
        backoff.crashed(None, 0);
        assert!(backoff.steady() && !backoff.steady());
        assert_eq!(backoff, Backoff::default());
    }
}
