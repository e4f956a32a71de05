//! A handle on one process that no reuse of its number can redirect.

use crate::deadline::{Deadline, timespec};
use crate::{identity, proc};
use ouroboros_proto::kind::Identity;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// `PID_FS_MAGIC` of linux/magic.h: since Linux 6.9 a pidfd is an inode of its own file system, unique for one boot.
const PIDFS_MAGIC: u64 = 0x5049_4446;

/// An open pidfd (pidfd_open(2)), close-on-exec.
#[derive(Debug)]
pub struct PidFd {
    fd: OwnedFd,
}

/// What opening a recorded identity found.
#[derive(Debug)]
pub enum Checked {
    /// The very process, still alive when it was checked.
    Open(PidFd),
    /// It has ended.
    Gone,
    /// It has ended, and its number belongs to another process now.
    Stranger,
    /// It cannot be known.
    Unknown(Doubt),
}

/// Why a recorded process can be called neither alive nor gone.
#[derive(Debug, thiserror::Error)]
pub enum Doubt {
    /// Its number is counted in a PID namespace that is not ours.
    #[error("the process is counted in another PID namespace")]
    OtherNamespace,
    /// The kernel would not show it.
    #[error("the process cannot be examined")]
    Unreadable(#[source] io::Error),
}

/// Why a signal was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignalError {
    /// The process has been waited for.
    #[error("the process is gone")]
    Gone,
    /// We may not signal it.
    #[error("not permitted to signal the process")]
    NotPermitted,
    /// Something else; the errno says what.
    #[error("the signal was not sent (errno {0})")]
    Other(i32),
}

impl PidFd {
    /// Opens the process that has this number now; `None` when no process has it. A thread's number is no process.
    ///
    /// # Errors
    /// When no descriptor is to be had.
    pub fn open(pid: i32) -> io::Result<Option<Self>> {
        let Some(pid) = identity::number(pid) else { return Ok(None) };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(fd) => Ok(Some(Self { fd })),
            Err(Errno::SRCH | Errno::INVAL | Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes over a descriptor that the kernel gave as a pidfd.
    pub(crate) fn from_owned(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// Opens the process recorded as `wanted` and checks, with the descriptor open, that it is that process.
    ///
    /// Only `Open` may be signalled. The check holds the number: it is read while the opened process is alive.
    #[must_use]
    pub fn open_checked(wanted: &Identity) -> Checked {
        Self::check(wanted).unwrap_or_else(|error| Checked::Unknown(Doubt::Unreadable(error)))
    }

    fn check(wanted: &Identity) -> io::Result<Checked> {
        let host = identity::host()?;
        if wanted.boot_id != host.boot_id {
            return Ok(Checked::Gone);
        }
        if wanted.namespace != host.namespace {
            return Ok(Checked::Unknown(Doubt::OtherNamespace));
        }
        let Some(pidfd) = Self::open(wanted.pid)? else {
            // A thread of another process can have the number, which proves the recorded one gone as well.
            return Ok(if identity::exists(wanted.pid) { Checked::Stranger } else { Checked::Gone });
        };
        let inode = pidfd.inode()?;
        if let (Some(seen), Some(recorded)) = (inode, wanted.pidfd_inode)
            && seen != recorded
        {
            return Ok(Checked::Stranger);
        }
        let stat = proc::stat(wanted.pid);
        if pidfd.is_dead() {
            // Whether it was ours or one that took the number after ours: ours has ended.
            return Ok(Checked::Gone);
        }
        let proven_by_inode = inode.is_some() && wanted.pidfd_inode.is_some();
        match stat {
            Ok(Some(stat)) if stat.start_ticks == wanted.start_ticks => Ok(Checked::Open(pidfd)),
            Ok(Some(_)) => Ok(Checked::Stranger),
            Ok(None) | Err(_) if proven_by_inode => Ok(Checked::Open(pidfd)),
            Ok(None) => Err(identity::hidden()),
            Err(error) => Err(error),
        }
    }

    /// Sends a signal to the process.
    ///
    /// # Errors
    /// [`SignalError::Gone`] once it has been waited for; a zombie takes signals silently.
    pub fn signal(&self, signal: Signal) -> Result<(), SignalError> {
        pidfd_send_signal(&self.fd, signal).map_err(|error| match error {
            Errno::SRCH => SignalError::Gone,
            Errno::PERM => SignalError::NotPermitted,
            other => SignalError::Other(other.raw_os_error()),
        })
    }

    /// Whether every thread of the process has ended. It may still wait to be reaped.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.wait_dead(Duration::ZERO)
    }

    /// Waits until the process is dead, at most `timeout`; says whether it is.
    #[must_use]
    pub fn wait_dead(&self, timeout: Duration) -> bool {
        let deadline = Deadline::after(timeout);
        loop {
            let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
            match poll(&mut fds, Some(&timespec(deadline.left()))) {
                Ok(ready) if ready > 0 => return true,
                // A failed poll says nothing, and "not dead" is the answer that harms nobody.
                Ok(_) => return false,
                Err(_) if deadline.passed() => return false,
                Err(_) => {}
            }
        }
    }

    /// The inode that tells this process from every other of this boot; `None` on kernels before 6.9.
    ///
    /// # Errors
    /// When the descriptor cannot be examined.
    pub fn inode(&self) -> io::Result<Option<u64>> {
        let kind = u64::try_from(rustix::fs::fstatfs(&self.fd)?.f_type).unwrap_or(0);
        if kind == PIDFS_MAGIC { Ok(Some(rustix::fs::fstat(&self.fd)?.st_ino)) } else { Ok(None) }
    }
}

impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
