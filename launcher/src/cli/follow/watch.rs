//! Waiting for whatever comes first: the server, a signal, or the end of our reader.

use super::signals::{Notice, Signals};
use ouroboros_proto::kind::Millis;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// What came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// A signal.
    Notice(Notice),
    /// Whoever read our standard output left.
    ReaderLeft,
    /// There is something to read.
    Readable,
    /// A line was typed.
    Typed,
    /// Nothing, and the time is over.
    TimedOut,
}

/// Waits for a signal, for the reader of our output to leave when `output` is true, for `source` to be readable, or for
/// `bound` to pass.
pub fn wait(
    signals: Option<&Signals>,
    source: Option<BorrowedFd<'_>>,
    output: bool,
    bound: Option<Millis>,
) -> io::Result<Wake> {
    wait_or_typed(signals, source, None, output, bound)
}

/// The same, or for a line to be typed on `terminal`.
pub fn wait_or_typed(
    signals: Option<&Signals>,
    source: Option<BorrowedFd<'_>>,
    terminal: Option<BorrowedFd<'_>>,
    output: bool,
    bound: Option<Millis>,
) -> io::Result<Wake> {
    if let Some(notice) = signals.and_then(Signals::take) {
        return Ok(Wake::Notice(notice));
    }
    let stdout = io::stdout();
    let timeout = bound.map(timespec);
    loop {
        let mut fds = Vec::with_capacity(7);
        if output {
            // An error or hang-up is reported without being asked for (poll(2)).
            fds.push(PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::empty()));
        }
        let before_source = fds.len();
        fds.extend(source.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let before_terminal = fds.len();
        fds.extend(terminal.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let before_signals = fds.len();
        fds.extend(
            signals.into_iter().flat_map(Signals::descriptors).map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
        );
        match poll(&mut fds, timeout.as_ref()) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(0) => return Ok(Wake::TimedOut),
            Ok(_) => {
                let woke = |range: &[PollFd<'_>]| range.iter().any(|fd| !fd.revents().is_empty());
                if let Some(notice) = signals.and_then(Signals::take) {
                    return Ok(Wake::Notice(notice));
                }
                if woke(fds.get(..before_source).unwrap_or_default()) {
                    return Ok(Wake::ReaderLeft);
                }
                if woke(fds.get(before_source..before_terminal).unwrap_or_default()) {
                    return Ok(Wake::Readable);
                }
                if woke(fds.get(before_terminal..before_signals).unwrap_or_default()) {
                    return Ok(Wake::Typed);
                }
            }
        }
    }
}

fn timespec(span: Millis) -> Timespec {
    let seconds = i64::try_from(span.get() / 1_000).unwrap_or(i64::MAX);
    Timespec { tv_sec: seconds, tv_nsec: i64::try_from(span.get() % 1_000).unwrap_or(0).saturating_mul(1_000_000) }
}
