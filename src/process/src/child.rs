//! A process we started. Dropping the handle stops nothing; the exit is then reaped by the spawning thread.

use crate::identity;
use crate::pidfd::{PidFd, SignalError};
use crate::registry::{self, Reaped, Registry, Slot};
use crate::spawn::Spawner;
use ouroboros_proto::kind::{Identity, Usage};
use rustix::io::Errno;
use rustix::process::Signal;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It exited with this code.
    Exited(u8),
    /// A signal ended it.
    Signaled {
        /// The signal number.
        signal: u8,
        /// Whether it left a core dump.
        core: bool,
    },
}

/// What the kernel said when a process was reaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// How it ended.
    pub status: Status,
    /// What it and the descendants it waited for used (`wait4`). `elapsed` is from its start to the reaping. The kernel counts the
    /// spawner's own resident memory as the least value of `max_resident_bytes`.
    pub usage: Usage,
}

/// A started process. It leads its own process group, and its exit is kept by the kernel until it is asked for here.
#[derive(Debug)]
pub struct Child {
    identity: Identity,
    pidfd: Arc<PidFd>,
    namespaced: bool,
    slot: Arc<Slot>,
    spawner: Spawner,
}

impl Child {
    pub(crate) fn new(identity: Identity, pidfd: PidFd, namespaced: bool, slot: Arc<Slot>, spawner: Spawner) -> Self {
        Self { identity, pidfd: Arc::new(pidfd), namespaced, slot, spawner }
    }

    /// Its number in our PID namespace.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.identity.pid
    }

    /// Its identity, read while it was unreaped.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Its pidfd; readable once it is dead.
    #[must_use]
    pub fn pidfd(&self) -> &Arc<PidFd> {
        &self.pidfd
    }

    /// Whether it is the init of a PID namespace of its own, so that its death is the death of everything inside.
    #[must_use]
    pub fn is_namespaced(&self) -> bool {
        self.namespaced
    }

    /// Its exit if it has ended; reaps it. Later calls give the same answer.
    ///
    /// # Errors
    /// When the kernel does not know it as our child: somebody outside this crate waited for it.
    pub fn try_wait(&self) -> io::Result<Option<Exit>> {
        if let Some(exit) = self.slot.exit.get() {
            return Ok(Some(*exit));
        }
        if !self.pidfd.is_dead() {
            return Ok(None);
        }
        let mut registry = registry::lock();
        if let Some(exit) = self.slot.exit.get() {
            return Ok(Some(*exit));
        }
        if !self.is_unreaped(&registry) {
            return Err(Errno::CHILD.into());
        }
        match registry.reap(self.pid())? {
            Reaped::Now => Ok(self.slot.exit.get().copied()),
            Reaped::Running => Ok(None),
            Reaped::NoChild => Err(Errno::CHILD.into()),
        }
    }

    /// Blocks until it has ended and reaps it.
    ///
    /// # Errors
    /// As [`Child::try_wait`].
    pub fn wait(&self) -> io::Result<Exit> {
        loop {
            if let Some(exit) = self.try_wait()? {
                return Ok(exit);
            }
            let _ = self.pidfd.wait_dead(Duration::from_secs(3600));
        }
    }

    /// Signals every process of its group. Works while it is unreaped, also after it died: until then nobody else can get the
    /// group's number. Processes that left the group are not reached.
    ///
    /// # Errors
    /// `Gone` after it was reaped or when the group is empty, `NotPermitted` when no member may be signalled.
    pub fn kill_group(&self, signal: Signal) -> Result<(), SignalError> {
        let registry = registry::lock();
        if self.is_unreaped(&registry) { kill_group(self.pid(), signal) } else { Err(SignalError::Gone) }
    }

    /// Whether its number is still its own, as long as the lock is held.
    pub(crate) fn is_unreaped(&self, registry: &Registry) -> bool {
        registry.holds(self.pid(), &self.slot)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.slot.exit.get().is_none() {
            self.spawner.disown(self.pid(), Arc::clone(&self.pidfd));
        }
    }
}

/// Signals the group whose leader is an unreaped child of ours. The caller holds the registry's lock.
pub(crate) fn kill_group(leader: i32, signal: Signal) -> Result<(), SignalError> {
    // Zero and one would mean our own group and everybody.
    let Some(group) = identity::number(leader).filter(|_| leader > 1) else { return Err(SignalError::Gone) };
    rustix::process::kill_process_group(group, signal).map_err(|error| match error {
        Errno::SRCH => SignalError::Gone,
        Errno::PERM => SignalError::NotPermitted,
        other => SignalError::Other(other.raw_os_error()),
    })
}
