//! What happened, as it is recorded. One event row is written in the same commit as the fact it tells.

use super::budget::{LimitScope, SendState, WaitReason};
use super::id::{AttemptId, RuleId, SendId, TaskId};
use super::model::{Cost, TokenUsage};
use super::money::NanoDollars;
use super::outcome::{Ending, Outcome, Usage};
use super::process::Identity;
use super::request::{RequestKind, RequestState};
use super::task::Priority;
use super::time::{Millis, UtcMicros};
use serde::{Deserialize, Serialize};

/// Position of an event in the one log of an installation. Grows without gaps within a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct EventSeq(u64);

impl EventSeq {
    /// The position with this number.
    #[must_use]
    pub const fn new(seq: u64) -> Self {
        Self(seq)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The next position.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A task was accepted.
    Submitted {
        /// The task it repeats, when it is a retry.
        retry_of: Option<TaskId>,
    },
    /// An attempt was given to a worker.
    Started {
        /// The attempt.
        attempt: AttemptId,
        /// Counted from 1.
        ordinal: u32,
    },
    /// A process of the task is recorded and may run.
    ProcessStarted {
        /// The attempt.
        attempt: AttemptId,
        /// The process.
        identity: Identity,
    },
    /// An attempt ended without settling its task.
    AttemptEnded {
        /// The attempt.
        attempt: AttemptId,
        /// Why the task goes on.
        why: Requeue,
        /// When it may start again.
        not_before: Option<UtcMicros>,
    },
    /// Somebody asked to cancel it.
    CancelRequested {
        /// How long its processes may take to end by themselves.
        grace: Millis,
    },
    /// It will not start until it is released.
    Held {
        /// Why.
        by: HoldReason,
    },
    /// It may start again.
    Released,
    /// Its place in the queue changed.
    Reprioritised {
        /// The new priority.
        priority: Priority,
    },
    /// Its end. Nothing about the outcome changes after this.
    Settled {
        /// The outcome.
        outcome: Outcome,
        /// How its process ended, when one did.
        ending: Option<Ending>,
        /// What its last attempt used, when known.
        usage: Option<Usage>,
    },
    /// A process could not be ended; its slot is given up until it is gone.
    Wedged {
        /// The attempt.
        attempt: AttemptId,
        /// What is still alive.
        survivors: Vec<Identity>,
    },
    /// The whole queue was held or released.
    QueueHeld {
        /// Whether it is held now.
        held: bool,
        /// Why, when it is.
        by: Option<HoldReason>,
    },
    /// The number of slots changed.
    SlotsChanged {
        /// The new number.
        slots: u32,
    },
    /// A server life began.
    ServerStarted {
        /// Which.
        generation: u64,
    },
    /// Workers die faster than they should; they are started with growing pauses until one holds.
    PoolDegraded {
        /// Deaths in a row.
        deaths: u32,
    },
    /// Workers hold again.
    PoolRecovered,
    /// A send to a provider is over.
    Sent {
        /// Which.
        send: SendId,
        /// The route it took.
        route: String,
        /// How it stands now.
        state: SendState,
        /// What it cost; `None` when that is not known.
        cost: Option<Cost>,
        /// What the provider counted.
        usage: TokenUsage,
    },
    /// A limit on spending is used up: the task goes on when its owner resumes it.
    Paused {
        /// Which limit.
        limit: LimitScope,
    },
    /// Its owner lets it go on.
    Resumed,
    /// It waits for a model and wakes by itself.
    WaitsForModel {
        /// For what.
        reason: WaitReason,
        /// When it looks again.
        until: UtcMicros,
    },
    /// A limit on spending is nearly used up.
    LimitNear {
        /// Which.
        limit: LimitScope,
        /// What is spent or set aside.
        spent: NanoDollars,
        /// Of how much.
        of: NanoDollars,
    },
    /// Its attempt asks the owner something and waits.
    RequestOpened {
        /// Which request of the task.
        request: u32,
        /// What kind of answer is wanted.
        kind: RequestKind,
        /// When it counts as refused; `None` is never.
        expires_at: Option<UtcMicros>,
    },
    /// The owner answered.
    RequestAnswered {
        /// Which.
        request: u32,
        /// The rule that the answer made, if it made one.
        rule: Option<RuleId>,
    },
    /// A request is over without an answer.
    RequestClosed {
        /// Which.
        request: u32,
        /// Why.
        state: RequestState,
    },
    /// Somebody said something to a task in words.
    Messaged {
        /// The message, counted from 1 within the task.
        number: u32,
    },
    /// The task took a message into its conversation.
    MessageTaken {
        /// Which.
        number: u32,
    },
}

/// Why a task goes back into the queue after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Requeue {
    /// The attempt was lost before its program ran.
    NeverRan,
    /// It was interrupted and was submitted to run again.
    Rerun,
    /// It failed and has retries left.
    Retry,
    /// Its worker died by its own fault.
    WorkerCrashed,
    /// It waits for money or for a model.
    Parked,
    /// It was interrupted, and goes on from its transcript.
    Continued,
}

/// Who or what holds a task or the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldReason {
    /// The owner asked for it.
    Owner,
    /// The server ended by an emergency stop.
    Panic,
    /// The data directory was restored from a backup.
    Restore,
    /// The data directory is a copy of another installation's.
    Copied,
}
