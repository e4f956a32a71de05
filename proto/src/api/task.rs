//! A task as answers show it.

use super::{CommandSpec, Continued, CostView, PauseView, RequestView, SendView, Timestamp, WaitView};
use crate::agent::{Entry, Objective, WindowSource};
use crate::kind::{Allowance, AttemptId, Generation, Outcome, TaskId, TaskNumber};
use serde::{Deserialize, Serialize};

/// The one word for where a task stands. Derived from separate facts; `detail` fields carry them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Ready; waits for a slot.
    Queued,
    /// Its delay, its retry pause, a task it comes after or its wait for a model is not over.
    Waiting,
    /// Waits to be released.
    Held,
    /// A limit on spending is used up; waits to be resumed.
    Paused,
    /// An attempt is under way.
    Running,
    /// Cancel was asked for; its processes are being ended.
    Cancelling,
    /// Settled: exit code 0.
    Completed,
    /// Settled: anything else that was not a cancel.
    Failed,
    /// Settled: cancelled.
    Cancelled,
}

impl TaskStatus {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Queued,
        Self::Waiting,
        Self::Held,
        Self::Paused,
        Self::Running,
        Self::Cancelling,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Waiting => "waiting",
            Self::Held => "held",
            Self::Paused => "paused",
            Self::Running => "running",
            Self::Cancelling => "cancelling",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether it will never change again.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskView {
    /// Its id.
    pub id: TaskId,
    /// Its number.
    pub number: TaskNumber,
    /// `command`, `ask`, `agent` or `model`.
    pub kind: String,
    /// Its name, or its command line cut to 80 characters.
    pub name: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// A sentence on why it stands there: what it waits for, how it ended.
    pub reason: Option<String>,
    /// `low`, `normal`, `high` or `urgent`.
    pub priority: String,
    /// When it was accepted.
    pub submitted_at: Timestamp,
    /// When it may start at the earliest.
    pub not_before: Option<Timestamp>,
    /// When its last attempt started.
    pub started_at: Option<Timestamp>,
    /// When it settled.
    pub settled_at: Option<Timestamp>,
    /// Tasks it comes after that have not completed.
    pub after: Vec<TaskNumber>,
    /// Attempts started so far.
    pub attempts: u32,
    /// Whether a cancel was asked for.
    pub cancel_requested: bool,
    /// What it asks its owner and waits for; the oldest, when there is more. Its slot is lent to others meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<RequestView>>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// The exit code that `run` gives for it: 1 also for a task that completed and whose agent says that its objective is not met.
    pub exit_code: Option<u8>,
    /// Whether what was wanted is reached, in the agent's own word, where it said so. It is no part of `outcome`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<Objective>,
    /// The task it repeats.
    pub retry_of: Option<TaskId>,
    /// The task in words that it continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Continued>,
    /// What it runs; only where one task is asked for, and never its environment's values or standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandSpec>,
    /// What it asks; only where one task is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<AskView>,
    /// What is worked on in words; only where one task is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentView>,
    /// Its pause for want of money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<PauseView>,
    /// Its wait for a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<WaitView>,
    /// The task that it waits for because both act in the same folder, or one beneath the other: that one is at work, or came before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_workspace: Option<TaskNumber>,
    /// Nano-dollars that it may spend, when it has a limit of its own; `none` when that is none at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_nanos: Option<Allowance>,
    /// What it spent on models; only where one task is asked for, and `null` when that cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostView>,
    /// Its sends to providers, oldest first; only where one task is asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sends: Vec<SendView>,
    /// Its attempts, oldest first; only where one task is asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempt_list: Vec<AttemptView>,
}

/// A question, as far as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskView {
    /// Its first characters.
    pub head: String,
    /// The route that was asked for.
    pub route: Option<String>,
}

/// A task in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct AgentView {
    /// Its first characters.
    pub head: String,
    /// The route that was asked for.
    pub route: Option<String>,
    /// The folder it works in.
    pub folder: String,
    /// How much prompt and answer may have together, as it is believed now; only where one task is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowView>,
    /// What was said to it while it worked, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageView>,
    /// How many entries at the begin of its transcript are another task's, from which it goes on.
    #[serde(default)]
    pub inherited: u32,
}

/// Something that was said to a task in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageView {
    /// Counted from 1 within the task.
    pub number: u32,
    /// When it was accepted.
    pub at: Timestamp,
    /// What was said.
    pub text: String,
    /// The place in the transcript where the task took it; `null` when it has not. One that a task has not taken when it settles is
    /// never taken.
    pub taken: Option<u64>,
}

/// How much prompt and answer may have together on a route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowView {
    /// The route.
    pub route: String,
    /// Tokens.
    pub tokens: u64,
    /// Who says so.
    pub source: WindowSource,
}

/// A part of what a task in words did and heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptView {
    /// Entries, oldest first.
    pub entries: Vec<Entry>,
    /// `from` of the next part. There is none yet when `entries` is empty.
    pub next: u64,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptView {
    /// Its id.
    pub id: AttemptId,
    /// Counted from 1.
    pub ordinal: u32,
    /// The server life that ran it.
    pub generation: Generation,
    /// When it started.
    pub started_at: Timestamp,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
    /// Whether its program may have run.
    pub released: bool,
    /// `namespace` or `host`: what was really applied.
    pub isolation: String,
    /// How its process ended; `null` while it runs and when it was lost.
    pub ending: Option<EndingView>,
    /// What it used; `null` when not known.
    pub usage: Option<UsageView>,
    /// Standard output.
    pub stdout: StreamView,
    /// Standard error.
    pub stderr: StreamView,
}

/// How a process ended, in words and numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndingView {
    /// `exited`, `signaled`, `timed_out`, `stopped`, `not_found`, `not_executable`, `bad_directory`, `set_up_failed`.
    pub kind: String,
    /// Exit code, when it exited.
    pub code: Option<u8>,
    /// Signal number, when a signal ended it.
    pub signal: Option<u8>,
    /// `yes`, `no` or `unknown`, when a signal ended it.
    pub out_of_memory: Option<String>,
    /// A sentence.
    pub text: String,
}

/// What an attempt used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageView {
    /// User CPU time.
    pub user_micros: u64,
    /// System CPU time.
    pub system_micros: u64,
    /// Largest resident set of one process.
    pub max_resident_bytes: u64,
    /// Wall time.
    pub elapsed_ms: u64,
}

/// An output stream of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct StreamView {
    /// Bytes that were written.
    pub written: u64,
    /// Bytes kept from the start.
    pub head: u64,
    /// Bytes kept from the end, after a gap.
    pub tail: u64,
    /// Whether bytes between head and tail were dropped.
    pub truncated: bool,
    /// Whether the files are no longer kept.
    pub expired: bool,
}

/// A page of tasks, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskPage {
    /// The tasks.
    pub tasks: Vec<TaskView>,
    /// Give this as `cursor` for the next page; `null` at the end.
    pub next: Option<String>,
}
