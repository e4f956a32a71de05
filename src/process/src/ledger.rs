//! Judging and ending processes that an earlier generation recorded.
//!
//! A row can be stale, forged or copied from another machine. Nothing is signalled unless the process was recognised with its
//! pidfd open, or belongs to the live tree or group of one that was.

use crate::census;
use crate::deadline::Deadline;
use crate::hunt::{self, Held};
use crate::pidfd::{Checked, Doubt, PidFd, SignalError};
use crate::reaper::Survivor;
use crate::reaper::tree::survivor;
use ouroboros_proto::kind::Identity;
use rustix::process::Signal;
use std::sync::Arc;
use std::time::Duration;

/// Twice the longest time given to a tree to come to a halt before it is killed as it is.
const STOPPING: Duration = Duration::from_millis(500);

/// What a recorded process is now.
#[derive(Debug)]
pub enum Verdict {
    /// It has ended.
    Gone,
    /// It is alive, and held.
    Ours(PidFd),
    /// It has ended, and its number belongs to another process.
    Stranger,
    /// It cannot be known: leave it alone and keep the row.
    Unknown(Doubt),
}

/// What became of a recorded process.
#[derive(Debug)]
pub enum Ended {
    /// It is gone, and so is everything that was found below it.
    Ended,
    /// These were alive when the bound passed.
    Survives(Vec<Survivor>),
    /// Nobody was signalled, since it cannot be known what the number means.
    Unknown(Doubt),
}

/// Compares a row with the process that has its number now. Changes nothing.
#[must_use]
pub fn judge(recorded: &Identity) -> Verdict {
    match PidFd::open_checked(recorded) {
        Checked::Open(pidfd) => Verdict::Ours(pidfd),
        Checked::Gone => Verdict::Gone,
        Checked::Stranger => Verdict::Stranger,
        Checked::Unknown(doubt) => Verdict::Unknown(doubt),
    }
}

/// Ends a recorded process with the group it leads and everything below it, within a bound. It need not be our child, so orphans
/// would not come to us: the tree is stopped before it is killed.
#[must_use]
pub fn end(recorded: &Identity, bound: Duration) -> Ended {
    let pidfd = match judge(recorded) {
        Verdict::Gone | Verdict::Stranger => return Ended::Ended,
        Verdict::Unknown(doubt) => return Ended::Unknown(doubt),
        Verdict::Ours(pidfd) => Arc::new(pidfd),
    };
    let deadline = Deadline::after(bound);
    let root = Held { pid: recorded.pid, pidfd };
    // The init of a namespace takes everything inside with it.
    let is_init = recorded.pid != 1 && matches!(census::namespace_pid(recorded.pid), Ok(Some(1)));
    let members = if is_init {
        vec![root]
    } else {
        match hunt::freeze(root.clone(), Deadline::after(bound.min(STOPPING) / 2)) {
            Ok(members) => members,
            // What cannot be walked is still ended by its root; the rest is found by adoption or its own rows.
            Err(_) => vec![root],
        }
    };
    let refused: Vec<i32> = members
        .iter()
        .filter(|member| member.pidfd.signal(Signal::KILL) == Err(SignalError::NotPermitted))
        .map(|member| member.pid)
        .collect();
    let alive: Vec<Survivor> = members
        .iter()
        .filter(|member| !member.pidfd.wait_dead(deadline.left()))
        .map(|member| survivor(member.pid, refused.contains(&member.pid)))
        .collect();
    if alive.is_empty() { Ended::Ended } else { Ended::Survives(alive) }
}
