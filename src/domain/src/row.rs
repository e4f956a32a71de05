//! Rows: the facts that are stored, as they are held in memory. A change carries the new image of one row.

use ouroboros_proto::kind::{
    Allowance, AttemptId, AttemptReport, Event, EventSeq, Generation, HoldReason, Identity, Isolation, Millis, Outcome,
    Priority, ProcessId, Role, TaskId, TaskNumber, UtcMicros, WorkKind, WorkerId,
};
use ouroboros_proto::limits;
use std::sync::Arc;

pub use crate::money::row::{AnswerKind, Park, Pause, PriceBasis, Receipt, SendRow, Wait};

/// A task. Its specification (argument vector, environment, …) stays in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// Its id.
    pub id: TaskId,
    /// Its number; also its place among tasks of one priority.
    pub number: TaskNumber,
    /// What kind of work it is.
    pub kind: WorkKind,
    /// How soon it starts.
    pub priority: Priority,
    /// Where it stands.
    pub state: TaskState,
    /// Who holds it back from starting.
    pub hold: Option<HoldReason>,
    /// When it may start at the earliest.
    pub not_before: Option<UtcMicros>,
    /// Tasks that must complete before it starts.
    pub after: Box<[TaskId]>,
    /// What was asked for its attempts.
    pub policy: Policy,
    /// Attempts started so far, counted before they start.
    pub attempts: u32,
    /// Retries after a failure used so far.
    pub retried: u32,
    /// Worker deaths counted against it.
    pub crashes: u32,
    /// The wish to cancel it. Separate from its state: asked is not done.
    pub cancel: Option<CancelIntent>,
    /// The task it repeats.
    pub retry_of: Option<TaskId>,
    /// Entries at the begin of its transcript that it took over from the task that it continues.
    pub inherited: u32,
    /// The task at the root of its tree: itself, unless another started it.
    pub root: TaskId,
    /// What it waits for besides a slot. Separate from its state.
    pub park: Option<Box<Park>>,
    /// When it was accepted.
    pub submitted_at: UtcMicros,
    /// Canonical path of the folder that no other such task may act in at once; `None` when it changes nothing, or shares.
    pub workspace: Option<Arc<str>>,
}

impl TaskRow {
    /// Whether it has settled, and well.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        matches!(self.state, TaskState::Settled { outcome: Outcome::Completed, .. })
    }

    /// After enough counted worker deaths a task runs with nothing beside it, so that the next death is surely its own.
    #[must_use]
    pub fn must_run_alone(&self) -> bool {
        u64::from(self.crashes) >= limits::CRASHES_BEFORE_ALONE.max
    }
}

/// Where a task stands. A task leaves memory when it is settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskState {
    /// No attempt is under way.
    Queued,
    /// This attempt is under way.
    Running {
        /// It.
        attempt: AttemptId,
    },
    /// Over, for ever.
    Settled {
        /// How.
        outcome: Outcome,
        /// When.
        at: UtcMicros,
    },
}

/// What was asked for a task's attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Whether it may run again after an interruption, though it may have had effects.
    pub rerun: bool,
    /// How often it is tried again after it failed. When it is not known what came of something that it sent, that takes `rerun` too.
    pub retries: u32,
    /// Time that one attempt may take.
    pub timeout: Option<Millis>,
    /// Where it runs.
    pub isolation: Isolation,
    /// What it may spend on models; the settings say it when absent.
    pub max_cost: Option<Allowance>,
}

/// A durable wish to cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CancelIntent {
    /// When it was first asked.
    pub at: UtcMicros,
    /// How long its processes may take to end by themselves. Later wishes only shorten it.
    pub grace: Millis,
}

/// An attempt. It leaves memory when it has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRow {
    /// Its id.
    pub id: AttemptId,
    /// Its task.
    pub task: TaskId,
    /// Counted from 1 per task.
    pub ordinal: u32,
    /// The server life that started it.
    pub generation: Generation,
    /// The worker that has it.
    pub worker: WorkerId,
    /// When it was assigned.
    pub started_at: UtcMicros,
    /// Where it really runs.
    pub isolation: Isolation,
    /// Whether a tool process was recorded: from then on its program may have run.
    pub released: bool,
    /// Whether what it delivered is recorded: it hears nothing more. Said to it before, it still goes on.
    pub delivered: bool,
    /// The last report of its worker that is recorded.
    pub sequence: u64,
    /// What its worker reported at the end; `None` while it runs, and for ever when it was lost.
    pub report: Option<AttemptReport>,
    /// When its process tree was proven gone.
    pub ended_at: Option<UtcMicros>,
    /// Canonical path of the folder that it holds until then. Kept here because its task may settle sooner.
    pub workspace: Option<Arc<str>>,
}

/// One physical process in the ledger. The row goes only after its death is confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRow {
    /// The row's id.
    pub id: ProcessId,
    /// Which process.
    pub identity: Identity,
    /// What it is for.
    pub role: Role,
    /// The server life it belongs to.
    pub generation: Generation,
    /// The worker that it is, or that started it.
    pub worker: WorkerId,
    /// The attempt it works for; `None` for a worker.
    pub attempt: Option<AttemptId>,
    /// What it runs, for people.
    pub command: Box<str>,
    /// When it was recorded.
    pub recorded_at: UtcMicros,
}

/// The first half of a SHA-256.
pub type KeyHash = [u8; 16];

/// An idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRow {
    /// Hash of the key.
    pub key: KeyHash,
    /// Hash of the request that came with it.
    pub request: KeyHash,
    /// The task it made.
    pub task: TaskId,
    /// That task's number.
    pub number: TaskNumber,
    /// When.
    pub at: UtcMicros,
}

/// Something that was said to a task in words. It leaves memory when the task settles. Its text stays in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageRow {
    /// The task.
    pub task: TaskId,
    /// Counted from 1 within the task.
    pub number: u32,
    /// Hashes of its idempotency key and of the request.
    pub key: Option<(KeyHash, KeyHash)>,
    /// When it was accepted.
    pub at: UtcMicros,
    /// Whether the task has it in its transcript.
    pub taken: bool,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// Its place in the log.
    pub seq: EventSeq,
    /// When.
    pub at: UtcMicros,
    /// The task it is about, with its number.
    pub task: Option<(TaskId, TaskNumber)>,
    /// What happened.
    pub event: Event,
}
