//! What this machine allows, found out by doing it.

use crate::census;
use crate::cgroup::Base;
use crate::child::Status;
use crate::pidfd::PidFd;
use crate::spawn::{Command, Program, Spawner, Stdio};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;
use std::time::Duration;

/// Whether something can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It was used successfully.
    Yes,
    /// It cannot be used.
    No {
        /// Why, for people.
        reason: String,
    },
}

impl Availability {
    /// Whether it can be used.
    #[must_use]
    pub fn is_yes(&self) -> bool {
        matches!(self, Self::Yes)
    }
}

/// The findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// PID and mount namespaces for an attempt.
    pub namespaces: Availability,
    /// A cgroup of our own for an attempt.
    pub cgroup: Availability,
    /// Whether a pidfd has an inode of its own.
    pub pidfd_inodes: bool,
    /// Whether a cgroup of ours counts the kernel's out-of-memory kills.
    pub oom_evidence: bool,
}

/// Finds out what this machine allows. `helper` is any program; it is started with the single argument `probe` and a standard input
/// that ends when the probe does, in namespaces of its own, and killed.
#[must_use]
pub fn probe(spawner: &Spawner, helper: Program) -> Probe {
    let base = Base::detect();
    let own = PidFd::open(rustix::process::getpid().as_raw_nonzero().get());
    Probe {
        namespaces: namespaces(spawner, helper)
            .map_or_else(|reason| Availability::No { reason }, |()| Availability::Yes),
        pidfd_inodes: own.ok().flatten().is_some_and(|own| matches!(own.inode(), Ok(Some(_)))),
        oom_evidence: base.as_ref().is_ok_and(Base::counts_memory),
        cgroup: match base {
            Ok(_) => Availability::Yes,
            Err(missing) => Availability::No { reason: missing.to_string() },
        },
    }
}

/// The start itself fails unless every step worked: the maps, the private mounts, the fresh `/proc`.
fn namespaces(spawner: &Spawner, helper: Program) -> Result<(), String> {
    let (stdin, hold) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| error.to_string())?;
    let command =
        Command { args: vec!["probe".into()], stdin: Stdio::Fd(stdin), namespaces: true, ..Command::new(helper) };
    let child = spawner.spawn(command).map_err(|error| error.to_string())?;
    // Unreaped, so its entry is there even if it has exited at once.
    let inside = census::namespace_pid(child.pid()).map_err(|error| error.to_string());
    let _ = child.pidfd().signal(Signal::KILL);
    let dead = child.pidfd().wait_dead(Duration::from_secs(2));
    drop(hold);
    match inside? {
        Some(1) if dead => {}
        Some(1) => return Err("a process in a namespace of its own outlived SIGKILL".to_owned()),
        other => return Err(format!("a process in a namespace of its own has the number {other:?} there, not 1")),
    }
    match child.try_wait().map_err(|error| error.to_string())?.map(|exit| exit.status) {
        Some(Status::Signaled { .. } | Status::Exited(_)) => Ok(()),
        None => Err("a process in a namespace of its own cannot be waited for".to_owned()),
    }
}
