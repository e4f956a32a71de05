//! What an end means.

use super::memory::Memory;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use ouroboros_process::Status;
use ouroboros_proto::kind::{AttemptId, AttemptReport, Captured, Ending, Millis, OutOfMemory, Usage};
use ouroboros_sandbox::report::Failure;

/// Why the worker ended the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Its time was over.
    TimedOut,
    /// It was told to end by itself.
    Asked,
    /// It was killed without a word.
    Killed,
}

/// What tells whether memory was the reason.
pub struct Watch<'a> {
    /// The counters before.
    pub memory: &'a Memory,
    /// Whose.
    pub attempt: AttemptId,
}

/// The one ending. A command that was killed without a word, and ended by itself before that, ended by itself.
pub fn decide(
    stop: Option<Cause>,
    released: bool,
    failure: Option<Failure>,
    status: Option<Status>,
    watch: &Watch<'_>,
) -> Ending {
    match (stop, failure, status) {
        (Some(Cause::TimedOut), _, _) => Ending::TimedOut,
        (Some(Cause::Asked), _, _) => Ending::Stopped,
        (Some(Cause::Killed), _, _) if !released => Ending::Stopped,
        (_, Some(Failure::SetUp { errno }), _) => Ending::SetUpFailed { errno },
        (_, Some(Failure::Directory { errno }), _) => Ending::BadDirectory { errno },
        (_, Some(Failure::NotFound), _) => Ending::NotFound,
        (_, Some(Failure::NotExecutable { errno }), _) => Ending::NotExecutable { errno },
        // It was killed by somebody before it was the command.
        (None, None, _) if !released => Ending::SetUpFailed { errno: 0 },
        (_, None, Some(Status::Exited(code))) => Ending::Exited { code },
        (Some(Cause::Killed), None, Some(Status::Signaled { signal: KILL, .. })) => Ending::Stopped,
        (_, None, Some(Status::Signaled { signal, .. })) => Ending::Signaled {
            signal,
            out_of_memory: if signal == KILL { watch.memory.verdict(watch.attempt) } else { OutOfMemory::No },
        },
        // Only this process waits for its children, so its exit is known once it is gone.
        (_, None, None) => Ending::SetUpFailed { errno: rustix::io::Errno::CHILD.raw_os_error() },
    }
}

const KILL: u8 = 9;

/// A report of a command that wrote nothing.
pub fn report(ending: Ending, usage: Usage) -> AttemptReport {
    AttemptReport { ending, usage, stdout: Captured::default(), stderr: Captured::default() }
}

/// What everything that was reaped has used.
pub fn usage(elapsed: Millis) -> Usage {
    let Ok(used) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Usage { elapsed, ..Usage::default() } };
    let micros = |time: TimeVal| u64::try_from(time.num_microseconds()).unwrap_or(0);
    Usage {
        user_micros: micros(used.user_time()),
        system_micros: micros(used.system_time()),
        max_resident_bytes: u64::try_from(used.max_rss()).unwrap_or(0).saturating_mul(1024),
        elapsed,
    }
}
