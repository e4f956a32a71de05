//! Custody of processes: starting them, knowing them again, and proving them gone.
//!
//! Used by launcher, server and worker alike; it knows nobody but `ouroboros_proto::kind`.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`identity`], [`pidfd`] | which physical process a number means, and signals that cannot reach another one |
//! | [`spawn`], [`child`] | starting a process from the one permanent thread, waiting for it |
//! | [`census`] | what runs below us, as the kernel lists it |
//! | [`reaper`] | ending trees of our own until none is left, within a bound |
//! | [`ledger`] | judging and ending what an earlier generation recorded |
//! | [`lifeline`] | acting when the process above us goes away |
//! | [`cgroup`], [`probe`] | what this machine allows on top |
//! | [`exec`], [`pty`] | what a process does to itself before it becomes another program |
//! | [`inherited`] | descriptors that were open when we began |
//! | [`lock`], [`durable`] | one owner of a directory; files that are either old or new |
//!
//! Invariants:
//! - A signal goes through a pidfd whose identity was checked after opening, or to an unreaped child of ours.
//! - Dead means a readable pidfd or a successful wait. State `Z` proves nothing, and what cannot be read is unknown, never gone.
//! - Every wait for a child of ours goes through one registry, so no exit is stolen and no number is signalled after its reuse.
//! - Everything that hunts has a bound and names what survived it.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "ouroboros runs on Linux 5.4 or later only: its custody rests on pidfds, sub-reapers and PID namespaces"
);
#[cfg(all(target_os = "linux", not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("ouroboros supports x86_64 and aarch64 only");

pub mod census;
pub mod cgroup;
pub mod child;
pub mod durable;
pub mod exec;
pub mod identity;
pub mod inherited;
pub mod ledger;
pub mod lifeline;
pub mod lock;
pub mod pidfd;
pub mod probe;
pub mod pty;
pub mod reaper;
pub mod spawn;

mod deadline;
mod hunt;
mod proc;
mod registry;

pub use child::{Child, Exit, Status};
pub use pidfd::{Checked, Doubt, PidFd};
pub use probe::{Availability, Probe};
pub use reaper::set_subreaper;
pub use rustix::process::Signal;
pub use spawn::{Command, Lead, Program, SpawnError, Spawner, Stdio};
