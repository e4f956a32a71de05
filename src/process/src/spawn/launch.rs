//! Creating the process.
#![allow(unsafe_code)]

use super::error::{SpawnError, Step};
use super::inside;
use super::plan::Plan;
use crate::identity;
use crate::pidfd::PidFd;
use crate::registry::{self, Slot};
use ouroboros_proto::kind::{Identity, clock};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr;
use std::sync::Arc;

const STACK_BYTES: usize = 128 << 10;
const GUARD_BYTES: usize = 64 << 10;

/// The stack children use until they execute, one at a time. Below it lies memory that cannot be touched.
pub(super) struct Stack {
    base: *mut libc::c_void,
}

impl Stack {
    pub(super) fn new() -> io::Result<Self> {
        let size = STACK_BYTES + GUARD_BYTES;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe { libc::mmap(ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let stack = Self { base };
        // SAFETY: the lower part of the mapping just made; 64 KiB is a multiple of every page size we run on.
        if unsafe { libc::mprotect(base, GUARD_BYTES, libc::PROT_NONE) } == -1 {
            return Err(io::Error::last_os_error());
        }
        Ok(stack)
    }

    fn top(&self) -> *mut libc::c_void {
        // SAFETY: one past the end of the mapping, which is aligned to a page and grows down.
        unsafe { self.base.byte_add(STACK_BYTES + GUARD_BYTES) }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`; no child uses it, since each start returns only after its child has left it.
        unsafe { libc::munmap(self.base, STACK_BYTES + GUARD_BYTES) };
    }
}

/// A process that has executed its program.
pub(super) struct Started {
    pub(super) identity: Identity,
    pub(super) pidfd: PidFd,
    pub(super) slot: Arc<Slot>,
}

/// Starts the planned process. Blocks until it has executed its program or failed to; after a failure it is reaped.
///
/// All signals are blocked in the calling thread.
pub(super) fn launch(plan: &Plan, stack: &Stack) -> Result<Started, SpawnError> {
    let namespaced = plan.namespaces.is_some();
    let started = clock::boot();
    // Held over creation and entry, so that nobody takes the new child for an adopted one.
    let mut registry = registry::lock();
    let (pid, pidfd) = clone(plan, stack)
        .map_err(|error| SpawnError::at(Step::Clone, error.raw_os_error().unwrap_or(libc::EIO), namespaced))?;
    let slot = registry.enter(pid, started);
    let failed = inside::failure(plan).map(|(step, errno)| SpawnError::at(step, errno, namespaced));
    let outcome = match failed {
        Some(error) => Err(error),
        None => match identity::of_open(pid, &pidfd) {
            Ok(Some(identity)) => Ok(identity),
            Ok(None) => Err(SpawnError::Other { step: Step::Identity, errno: libc::ESRCH }),
            Err(error) => Err(SpawnError::from_io(Step::Identity, &error)),
        },
    };
    match outcome {
        Ok(identity) => Ok(Started { identity, pidfd, slot }),
        Err(error) => {
            // Without an identity it cannot be owned. It has just begun, and is dead as soon as the kernel gets to it.
            let _ = pidfd.signal(rustix::process::Signal::KILL);
            let _ = pidfd.wait_dead(std::time::Duration::from_secs(5));
            let _ = registry.reap(pid);
            Err(error)
        }
    }
}

fn clone(plan: &Plan, stack: &Stack) -> io::Result<(i32, PidFd)> {
    let mut flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
    if let Some(namespaces) = &plan.namespaces {
        flags |= libc::CLONE_NEWPID | libc::CLONE_NEWNS;
        if namespaces.maps.is_some() {
            flags |= libc::CLONE_NEWUSER;
        }
    }
    let argument = ptr::from_ref(plan).cast_mut().cast::<libc::c_void>();
    let mut raw: libc::c_int = -1;
    // SAFETY: `child` runs on a stack nobody else uses and, while it shares our memory, this thread is suspended
    // (CLONE_VFORK); it only reads the plan and writes the plan's atomics. `raw` is where CLONE_PIDFD stores the descriptor.
    let pid = unsafe { libc::clone(inside::child, stack.top(), flags, argument, &raw mut raw) };
    if pid == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made the descriptor for us.
    Ok((pid, PidFd::from_owned(unsafe { OwnedFd::from_raw_fd(raw) })))
}
