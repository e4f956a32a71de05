//! Signals as readable descriptors, so that one poll waits for them and for the server.

use super::super::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{pipe, unregister};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// What somebody wants of us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// Ctrl-C.
    Interrupt,
    /// A request to end.
    Terminate,
    /// The terminal is gone.
    HangUp,
}

/// The signals that a follower answers to, until it is dropped. One that was ignored when we started stays ignored.
#[derive(Debug)]
pub struct Signals {
    sources: Vec<Source>,
}

#[derive(Debug)]
struct Source {
    notice: Notice,
    pipe: UnixStream,
    id: signal_hook::SigId,
}

impl Signals {
    /// Takes the signals over.
    pub fn install() -> Result<Self, Failure> {
        Self::taking(Notice::Terminate)
    }

    /// The same for who only watches: being ended is no wish about the task.
    pub fn watching() -> Result<Self, Failure> {
        Self::taking(Notice::HangUp)
    }

    fn taking(terminate: Notice) -> Result<Self, Failure> {
        let ignored = ignored();
        let wanted = [(SIGINT, Notice::Interrupt), (SIGTERM, terminate), (SIGHUP, Notice::HangUp)];
        let sources: io::Result<Vec<Source>> = wanted
            .into_iter()
            .filter(|(signal, _)| ignored & (1 << signal.saturating_sub(1)) == 0)
            .map(|(signal, notice)| {
                let (pipe, writer) = UnixStream::pair()?;
                pipe.set_nonblocking(true)?;
                Ok(Source { notice, pipe, id: pipe::register(signal, writer)? })
            })
            .collect();
        let sources = sources.map_err(|error| Failure::io("signals cannot be received", &error))?;
        Ok(Self { sources })
    }

    /// The descriptors to poll, in the order of [`Signals::take`].
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.sources.iter().map(|source| source.pipe.as_fd())
    }

    /// The next signal that came.
    pub fn take(&self) -> Option<Notice> {
        self.sources.iter().find_map(|source| {
            let came = (&source.pipe).read(&mut [0]).is_ok_and(|count| count > 0);
            came.then_some(source.notice)
        })
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for source in &self.sources {
            unregister(source.id);
        }
    }
}

/// The signals that this process ignores, as a mask (`SigIgn` in proc(5)); what cannot be read counts as none.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
