//! The children this process started and has not waited for yet, and the only place that waits.
//!
//! Everything that reaps or signals a child by number holds the registry's lock, so while it is held the number of an unreaped
//! child means that child. A child that is not registered was not started by us: it was adopted.

use crate::child::{Exit, Status};
use crate::deadline;
use ouroboros_proto::kind::{BootMicros, Usage};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Where the exit of one started child is left, whoever reaps it.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) started: BootMicros,
    pub(crate) exit: OnceLock<Exit>,
}

/// What waiting for one child gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reaped {
    /// It is reaped now.
    Now,
    /// It still runs.
    Running,
    /// It is no child of ours (any more).
    NoChild,
}

/// Started and unreaped children by number.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    live: BTreeMap<i32, Arc<Slot>>,
}

/// Locks the registry of this process.
pub(crate) fn lock() -> MutexGuard<'static, Registry> {
    static REGISTRY: Mutex<Registry> = Mutex::new(Registry { live: BTreeMap::new() });
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    /// Enters a child, under the same lock under which it was started.
    pub(crate) fn enter(&mut self, pid: i32, started: BootMicros) -> Arc<Slot> {
        let slot = Arc::new(Slot { started, exit: OnceLock::new() });
        self.live.insert(pid, Arc::clone(&slot));
        slot
    }

    /// Whether the number is that of an unreaped child we started.
    pub(crate) fn is_ours(&self, pid: i32) -> bool {
        self.live.contains_key(&pid)
    }

    /// Whether the number is that of the very child this slot was made for: numbers come back.
    pub(crate) fn holds(&self, pid: i32, slot: &Arc<Slot>) -> bool {
        self.live.get(&pid).is_some_and(|live| Arc::ptr_eq(live, slot))
    }

    /// Reaps the child if it has ended, without blocking, and leaves its exit in its slot.
    pub(crate) fn reap(&mut self, pid: i32) -> io::Result<Reaped> {
        let (status, used) = match wait4(pid) {
            Ok(None) => return Ok(Reaped::Running),
            Ok(Some(ended)) => ended,
            Err(Errno::CHILD) => {
                self.live.remove(&pid);
                return Ok(Reaped::NoChild);
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(slot) = self.live.remove(&pid) {
            let usage = Usage { elapsed: deadline::since(slot.started), ..used };
            // A number is registered once at a time, so nobody else has set it.
            let _ = slot.exit.set(Exit { status, usage });
        }
        Ok(Reaped::Now)
    }
}

/// Whether the calling process has no child at all, dead or alive.
pub(crate) fn childless() -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    matches!(
        waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT),
        Err(Errno::CHILD)
    )
}

#[allow(unsafe_code)]
fn wait4(pid: i32) -> Result<Option<(Status, Usage)>, Errno> {
    loop {
        let mut raw: libc::c_int = 0;
        // SAFETY: all-zero is a valid `rusage`, a struct of integers.
        let mut used: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to live, writable values of the types wait4(2) fills.
        let result = unsafe { libc::wait4(pid, &raw mut raw, libc::WNOHANG | libc::__WALL, &raw mut used) };
        match result {
            0 => return Ok(None),
            -1 => match Errno::from_io_error(&io::Error::last_os_error()) {
                Some(Errno::INTR) => {}
                other => return Err(other.unwrap_or(Errno::CHILD)),
            },
            _ => {
                let Some(status) = decode(raw) else { continue };
                return Ok(Some((status, usage(&used))));
            }
        }
    }
}

/// `None` for a stop or continuation, which we never ask for.
fn decode(raw: libc::c_int) -> Option<Status> {
    if libc::WIFEXITED(raw) {
        u8::try_from(libc::WEXITSTATUS(raw)).ok().map(Status::Exited)
    } else if libc::WIFSIGNALED(raw) {
        let signal = u8::try_from(libc::WTERMSIG(raw)).ok()?;
        Some(Status::Signaled { signal, core: libc::WCOREDUMP(raw) })
    } else {
        None
    }
}

fn usage(used: &libc::rusage) -> Usage {
    let micros = |time: libc::timeval| {
        let total = time.tv_sec.saturating_mul(1_000_000).saturating_add(time.tv_usec);
        u64::try_from(total).unwrap_or(0)
    };
    Usage {
        user_micros: micros(used.ru_utime),
        system_micros: micros(used.ru_stime),
        max_resident_bytes: u64::try_from(used.ru_maxrss).unwrap_or(0).saturating_mul(1024),
        ..Usage::default()
    }
}
