//! Named points at which a test can make this process fail. Compiled to nothing in release builds.
//!
//! Debug builds read `OUROBOROS_TEST_FAILPOINT` once: `name:action[:n]`, several separated by commas. Actions: `abort` (the
//! process kills itself with SIGKILL), `error(full)`, `error(io)`, `visible_error` (the act happens, and an error is
//! returned all the same). `n` counts hits of that point from 1 and defaults to 1; `n+` means this hit and every later one.

/// A fault that the place of the point has to act out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Fail as on a full disk, without acting.
    Full,
    /// Fail as on a broken disk, without acting.
    Io,
    /// Act, then fail.
    Visible,
}

/// The points of this crate.
pub const POINTS: [&str; 8] = [
    "store.lock_probe",
    "store.before_commit",
    "store.after_commit",
    "store.before_checkpoint",
    "store.after_checkpoint",
    "store.before_epoch",
    "store.before_truncate",
    "store.before_load",
];

/// Passes the point `name`: returns the fault to act out, if one is due.
#[cfg(not(debug_assertions))]
#[inline]
#[must_use]
pub const fn hit(_name: &'static str) -> Option<Fault> {
    None
}

#[cfg(debug_assertions)]
pub use armed::hit;

#[cfg(debug_assertions)]
mod armed {
    use super::Fault;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Action {
        Abort,
        Fault(Fault),
    }

    struct Armed {
        name: String,
        action: Action,
        from: u64,
        every: bool,
        hits: AtomicU64,
    }

    static ARMED: OnceLock<Vec<Armed>> = OnceLock::new();

    /// Passes the point `name`: returns the fault to act out, if one is due. May not return at all.
    #[must_use]
    pub fn hit(name: &'static str) -> Option<Fault> {
        let armed = ARMED
            .get_or_init(|| std::env::var("OUROBOROS_TEST_FAILPOINT").map(|text| parse(&text)).unwrap_or_default());
        let mut due = None;
        for point in armed.iter().filter(|point| point.name == name) {
            let count = point.hits.fetch_add(1, Ordering::Relaxed).saturating_add(1);
            if count == point.from || (point.every && count > point.from) {
                match point.action {
                    Action::Abort => die(),
                    Action::Fault(fault) => due = Some(fault),
                }
            }
        }
        due
    }

    fn die() {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        std::process::abort();
    }

    fn parse(text: &str) -> Vec<Armed> {
        text.split(',').filter_map(|item| parse_one(item.trim())).collect()
    }

    fn parse_one(item: &str) -> Option<Armed> {
        let mut parts = item.split(':');
        let name = parts.next().filter(|name| !name.is_empty())?.to_owned();
        let action = match parts.next()? {
            "abort" => Action::Abort,
            "error(full)" => Action::Fault(Fault::Full),
            "error(io)" => Action::Fault(Fault::Io),
            "visible_error" => Action::Fault(Fault::Visible),
            _ => return None,
        };
        let count = parts.next().unwrap_or("1");
        let every = count.ends_with('+');
        let from = count.trim_end_matches('+').parse().ok()?;
        Some(Armed { name, action, from, every, hits: AtomicU64::new(0) })
    }

    #[cfg(test)]
    mod tests {
        use super::{Action, Fault, parse};

        #[test]
        fn the_variable_names_points_actions_and_counts() {
            let armed = parse("a.b:abort, c:error(full):3,d:visible_error:2+,bad,e:nonsense");
            let seen: Vec<_> = armed.iter().map(|a| (a.name.as_str(), a.action, a.from, a.every)).collect();
            assert_eq!(
                seen,
                [
                    ("a.b", Action::Abort, 1, false),
                    ("c", Action::Fault(Fault::Full), 3, false),
                    ("d", Action::Fault(Fault::Visible), 2, true),
                ]
            );
        }
    }
}
