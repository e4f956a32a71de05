//! What makes a process that process.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The identity of one physical process, for as long as the machine is up and after.
///
/// Two identities are the same process exactly when boot, namespace, pid and start time are equal; the pidfd inode, where both
/// sides have one, must be equal too. Executable, command line and group are evidence kept beside it, never part of it: they
/// change across `exec`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// `/proc/sys/kernel/random/boot_id`, as sixteen bytes.
    pub boot_id: [u8; 16],
    /// Inode of the PID namespace in which `pid` is counted (`/proc/<pid>/ns/pid`).
    pub namespace: u64,
    /// The process number in that namespace.
    pub pid: i32,
    /// Field 22 of `/proc/<pid>/stat`: clock ticks after boot.
    pub start_ticks: u64,
    /// Inode of its pidfd, unique per boot where the kernel gives real ones (Linux 6.9 and later).
    pub pidfd_inode: Option<u64>,
}

impl Identity {
    /// Whether both describe one physical process.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        let inode_agrees = match (self.pidfd_inode, other.pidfd_inode) {
            (Some(mine), Some(theirs)) => mine == theirs,
            _ => true,
        };
        inode_agrees
            && self.boot_id == other.boot_id
            && self.namespace == other.namespace
            && self.pid == other.pid
            && self.start_ticks == other.start_ticks
    }
}

/// What a process of ours is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The launcher.
    Launcher,
    /// The server.
    Server,
    /// A worker: spare or with an attempt.
    Worker,
    /// A process that a worker started for its task.
    Tool,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Launcher => "launcher",
            Self::Server => "server",
            Self::Worker => "worker",
            Self::Tool => "tool",
        })
    }
}
