//! Waiting for something that must happen. The deadline is ten times what it needs on a slow machine.

use std::time::{Duration, Instant};

/// After this a wait has failed.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Waits until `probe` gives a value.
///
/// # Panics
/// When it does not within the deadline.
#[track_caller]
pub fn until<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = probe() {
            return value;
        }
        assert!(started.elapsed() < DEADLINE, "waited {DEADLINE:?} in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
