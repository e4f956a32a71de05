//! How an attempt and a task end. Every variant is a different thing to tell the owner; none is a guess.

use super::id::TaskId;
use super::model::ModelFailure;
use super::time::Millis;
use serde::{Deserialize, Serialize};

/// What the kernel says about memory after a death by SIGKILL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutOfMemory {
    /// The kernel's out-of-memory killer did it.
    Yes,
    /// It did not.
    No,
    /// This machine cannot tell: "signal 9, cause unknown".
    Unknown,
}

/// How a tool process of an attempt ended, as its worker saw it. Only a worker that reaped it makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It exited by itself.
    Exited {
        /// Its exit code, 0 to 255.
        code: u8,
    },
    /// A signal that was not ours ended it.
    Signaled {
        /// The signal number.
        signal: u8,
        /// Whether memory was the reason.
        out_of_memory: OutOfMemory,
    },
    /// The worker ended it because the time it was given was over.
    TimedOut,
    /// The worker ended it because it was asked to (cancel or stop), before the process ended by itself.
    Stopped,
    /// The program was not found.
    NotFound,
    /// The program is there but cannot be executed; the errno says why.
    NotExecutable {
        /// `errno` of the failed `execve`.
        errno: i32,
    },
    /// The working directory cannot be entered.
    BadDirectory {
        /// `errno` of the failed `chdir`.
        errno: i32,
    },
    /// The attempt could not be set up: no process, descriptor, namespace or output file to be had.
    SetUpFailed {
        /// `errno` of what failed, 0 when there was none.
        errno: i32,
    },
    /// The model's answer is delivered.
    Answered,
    /// There is no answer, and asking again would not change that.
    ModelFailed {
        /// Why.
        failure: ModelFailure,
    },
    /// It goes on later, from where it stands: the task's row says what it waits for.
    Parked,
}

/// Why a task failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The process ended in a way that is not success.
    Ended(Ending),
    /// It was interrupted after it may have had effects, and was not submitted to run again.
    Interrupted,
    /// Its worker died by its own fault more often than is allowed, the last time alone.
    Quarantined {
        /// How many worker deaths were counted.
        crashes: u32,
    },
    /// A task it had to come after did not complete.
    Dependency {
        /// The task that did not complete.
        task: TaskId,
    },
    /// Its stored specification cannot be read.
    Unreadable,
}

/// Why a task was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// Somebody asked for it.
    Requested,
}

/// The one ending of a task. Never changes once recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The process exited with code 0, or the answer is delivered.
    Completed,
    /// It did not complete.
    Failed(Failure),
    /// It was cancelled before it ended by itself.
    Cancelled(CancelReason),
}

/// What an attempt used, from the kernel (`wait4`). Of the process tree that its worker reaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
pub struct Usage {
    /// User CPU time, microseconds.
    pub user_micros: u64,
    /// System CPU time, microseconds.
    pub system_micros: u64,
    /// Largest resident set of one process, bytes.
    pub max_resident_bytes: u64,
    /// Wall time between start and end.
    pub elapsed: Millis,
}

/// What was written to a stream and what of it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
pub struct Captured {
    /// Bytes that the process wrote.
    pub written: u64,
    /// Bytes kept from the start.
    pub head: u64,
    /// Bytes kept from the end; zero while everything fits the head.
    pub tail: u64,
}

/// How an attempt ended, as its worker reports it after its whole tree is gone and the output is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AttemptReport {
    /// How its process ended.
    pub ending: Ending,
    /// What the tree used.
    pub usage: Usage,
    /// What was written to standard output.
    pub stdout: Captured,
    /// What was written to standard error.
    pub stderr: Captured,
}

impl Outcome {
    /// The exit code that `run` and `attach` give for a task with this outcome: the child's own, 128+n for a signal,
    /// 124 after a timeout, 125 for faults of ours, 126 and 127 as a shell, 130 when cancelled.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Cancelled(CancelReason::Requested) => 130,
            Self::Failed(Failure::Ended(ending)) => match *ending {
                Ending::Exited { code } => code,
                Ending::Signaled { signal, .. } => 128_u8.saturating_add(signal),
                Ending::TimedOut => 124,
                Ending::Stopped => 130,
                Ending::NotFound => 127,
                Ending::NotExecutable { .. } => 126,
                Ending::BadDirectory { .. } | Ending::SetUpFailed { .. } => 125,
                Ending::Answered => 0,
                Ending::ModelFailed { failure: ModelFailure::NoRoute | ModelFailure::Refused } => 3,
                Ending::ModelFailed { failure: ModelFailure::Cancelled } => 130,
                Ending::ModelFailed { failure: ModelFailure::Deadline } => 124,
                Ending::ModelFailed { .. } => 1,
                Ending::Parked => 4,
            },
            Self::Failed(
                Failure::Interrupted | Failure::Quarantined { .. } | Failure::Dependency { .. } | Failure::Unreadable,
            ) => 125,
        }
    }
}
