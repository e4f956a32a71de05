//! Deaths below us, as a descriptor.

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use ouroboros_process::reaper;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Readable when a child died. SIGCHLD is blocked on every thread.
pub struct Deaths {
    signals: SignalFd,
    more: bool,
}

impl Deaths {
    /// Begins to notice.
    ///
    /// # Errors
    /// When no descriptor is to be had.
    pub fn notice() -> io::Result<Self> {
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        Ok(Self { signals: SignalFd::with_flags(&SigSet::from(Signal::SIGCHLD), flags)?, more: false })
    }

    /// Whether dead orphans wait that the descriptor does not tell of.
    pub fn more(&self) -> bool {
        self.more
    }

    /// Takes note of the deaths so far, and reaps some of those that had lost their parent.
    pub fn reap(&mut self) {
        let mut any = std::mem::take(&mut self.more);
        while let Ok(Some(_)) = self.signals.read_signal() {
            any = true;
        }
        self.more = any && reaper::reap_orphans();
    }
}

impl AsFd for Deaths {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }
}
