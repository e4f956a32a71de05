//! Signals as something to poll.

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// What somebody wants of us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Stop; the second time, at once. From the keyboard or a service manager.
    Stop,
    /// Stop, because the terminal is gone.
    HangUp,
    /// Read the configuration again.
    Reload,
    /// Start the server anew.
    Restart,
    /// Write to the log how things are.
    Dump,
}

/// The signals of this process. They are blocked in it from now on, and queue here; one that was ignored when we started, as
/// `nohup` does, stays ignored.
#[derive(Debug)]
pub struct Signals {
    queue: SignalFd,
    has_terminal: bool,
}

impl Signals {
    /// Takes them over, for the calling thread and those it starts later.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn take_over() -> io::Result<Self> {
        let ignored = ignored();
        let all = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGUSR1, Signal::SIGUSR2];
        let set: SigSet = all.into_iter().filter(|signal| !is_in(ignored, *signal)).collect();
        set.thread_block()?;
        let queue = SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        Ok(Self { queue, has_terminal: has_terminal() })
    }

    /// The next one that came.
    pub fn next(&self) -> Option<Asked> {
        let came = self.queue.read_signal().ok().flatten()?;
        let signal = i32::try_from(came.ssi_signo).ok().and_then(|number| Signal::try_from(number).ok())?;
        match signal {
            Signal::SIGHUP if self.has_terminal => Some(Asked::HangUp),
            Signal::SIGHUP => Some(Asked::Reload),
            Signal::SIGUSR1 => Some(Asked::Restart),
            Signal::SIGUSR2 => Some(Asked::Dump),
            _ => Some(Asked::Stop),
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}

/// Whether this process can be hung up on: it has a controlling terminal (tty(4)).
fn has_terminal() -> bool {
    rustix::fs::open("/dev/tty", OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty()).is_ok()
}

/// The signals that this process ignores, as a mask (`SigIgn` in proc_pid_status(5)); what cannot be read counts as none.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Bit n - 1 stands for signal n.
fn is_in(mask: u64, signal: Signal) -> bool {
    // Numbers of signals are 1 to 64.
    u32::try_from(signal as i32).is_ok_and(|number| mask.checked_shr(number.saturating_sub(1)).unwrap_or(0) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_of_the_kernel_is_read_by_number() {
        assert!(is_in(0x1, Signal::SIGHUP) && !is_in(0x1, Signal::SIGINT));
        assert!(is_in(0x4000, Signal::SIGTERM));
        assert!(!is_in(0, Signal::SIGUSR1));
    }
}
