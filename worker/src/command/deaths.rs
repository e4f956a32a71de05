//! Deaths below us, as a descriptor.

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use ouroboros_process::reaper;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Readable when a child died. SIGCHLD is blocked on every thread.
pub struct Deaths {
    signals: SignalFd,
}

impl Deaths {
    /// Begins to notice.
    ///
    /// # Errors
    /// When no descriptor is to be had.
    pub fn notice() -> io::Result<Self> {
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        Ok(Self { signals: SignalFd::with_flags(&SigSet::from(Signal::SIGCHLD), flags)? })
    }

    /// Takes note of the deaths so far; tells whether there were any.
    pub fn take(&mut self) -> bool {
        let mut any = false;
        while let Ok(Some(_)) = self.signals.read_signal() {
            any = true;
        }
        any
    }
}

impl AsFd for Deaths {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }
}

/// Reaps what died of those that lost their parent. What cannot be listed now is listed with the next death.
pub fn reap_orphans() {
    let _ = reaper::reap_orphans();
}
