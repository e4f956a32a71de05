//! Ending trees of our own until none of them is left.
//!
//! The calling process is a child sub-reaper: whatever loses its parent below us becomes our child, so nothing leaves by forking,
//! by a new session or by changing its environment. Work goes in rounds. A round lists, signals and reaps under the registry's lock;
//! between rounds we wait for a death without the lock. Each operation has a bound and names what it could not end.

mod round;
pub(crate) mod tree;

pub use tree::{end_adopted, end_everything, end_tree, reap_orphans};

use ouroboros_proto::kind::Identity;
use std::io;

/// Makes the calling process adopt the orphans below it. Not inherited by children, kept across `execve`.
///
/// # Errors
/// Only on a kernel older than we run on.
pub fn set_subreaper() -> io::Result<()> {
    // Any process number means "yes" (PR_SET_CHILD_SUBREAPER).
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// A process that was still alive when the bound passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    /// Its number in our PID namespace.
    pub pid: i32,
    /// Its identity, where it could be read.
    pub identity: Option<Identity>,
    /// Its command line or name; empty where it could not be read.
    pub command: String,
    /// Whether the kernel refused our signal. Otherwise it is too slow to die, or held in the kernel.
    pub refused: bool,
}

/// What an operation ended and what it left.
#[derive(Debug, Default)]
pub struct Report {
    /// Processes seen to end.
    pub ended: usize,
    /// Processes alive when the bound passed.
    pub survivors: Vec<Survivor>,
    /// Why it is not known whether that is all, when it is not.
    pub unknown: Option<io::Error>,
}

impl Report {
    /// Whether everything is proven gone.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.survivors.is_empty() && self.unknown.is_none()
    }
}
