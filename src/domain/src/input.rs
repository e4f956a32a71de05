//! Inputs: everything that can make the core decide something.

use crate::change::{Content, Spec};
use crate::money::row::SendRow;
use crate::money::{Limits, MoneyInput, Tally};
use crate::request::{NewRequest, RequestInput};
use crate::row::{KeyHash, MessageRow, Policy, TaskRow};
use ouroboros_proto::kind::{
    Allowance, AttemptId, AttemptReport, BootMicros, Generation, HoldReason, Identity, Isolation, Millis, PauseId,
    Priority, ProcessId, SendId, TaskId, UtcMicros, WorkKind, WorkerId,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The time of an input, and what is fresh in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The wall clock.
    pub wall: UtcMicros,
    /// The boot clock.
    pub boot: BootMicros,
    /// A new version-7 UUID, from which the ids of this step are made.
    pub fresh: [u8; 16],
    /// Random bits, for jitter.
    pub entropy: u64,
}

/// Correlates a request with its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// An input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A life begins, or the state was loaded again after a failed commit.
    Boot(Boot),
    /// Work is submitted: all of it is accepted, or none.
    Submit {
        /// Whom to answer.
        request: RequestId,
        /// The tasks, in order.
        tasks: Vec<NewTask>,
    },
    /// The owner does something to a task.
    Task {
        /// Whom to answer.
        request: RequestId,
        /// Which task.
        task: TaskId,
        /// What.
        command: TaskCommand,
    },
    /// Somebody says something to a task in words.
    Message {
        /// Whom to answer.
        request: RequestId,
        /// What.
        message: NewMessage,
    },
    /// The owner does something to the whole queue.
    Queue {
        /// Whom to answer.
        request: RequestId,
        /// What.
        command: QueueCommand,
    },
    /// The server is to end.
    Shutdown {
        /// Whom to answer, when a request asked for it.
        request: Option<RequestId>,
        /// How.
        kind: ShutdownKind,
        /// Whether running tasks may end by themselves.
        drain: bool,
    },
    /// Something about a worker.
    Worker {
        /// Which.
        worker: WorkerId,
        /// What.
        event: WorkerEvent,
    },
    /// The result of ending a process of a dead generation.
    Reaped {
        /// Its row.
        process: ProcessId,
        /// What came of it.
        result: Reap,
        /// The terminal report that its attempt's worker kept on disk, read after the death.
        kept: Option<KeptReport>,
    },
    /// Settled tasks are to be forgotten; those that others wait for stay.
    Forget {
        /// Which.
        tasks: Vec<TaskId>,
    },
    /// Something about money or models.
    Money(MoneyInput),
    /// The owner does something about what tasks ask.
    Request(RequestInput),
    /// Settings that apply at once.
    Configure(Settings),
    /// Something is due.
    Tick,
}

impl Input {
    /// A word for the log.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Boot(_) => "boot",
            Self::Submit { .. } => "submit",
            Self::Task { .. } => "task",
            Self::Message { .. } => "message",
            Self::Queue { .. } => "queue",
            Self::Shutdown { .. } => "shutdown",
            Self::Worker { .. } => "worker",
            Self::Reaped { .. } => "reaped",
            Self::Forget { .. } => "forget",
            Self::Money(_) => "money",
            Self::Request(_) => "request",
            Self::Configure(_) => "configure",
            Self::Tick => "tick",
        }
    }
}

/// A life begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot {
    /// Which. The same as before when only the state was loaded again.
    pub generation: Generation,
    /// Settings in force.
    pub settings: Settings,
    /// Whether attempts can have namespaces of their own here.
    pub namespaces: bool,
    /// A reason to hold the queue from the start.
    pub hold: Option<HoldReason>,
    /// Whether stored processes are another machine's or installation's and must be forgotten without a signal.
    pub disown: bool,
    /// Workers of this generation that are alive: none at a real start.
    pub living: Vec<Living>,
}

/// A worker that is alive when the state is loaded again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Living {
    /// Which.
    pub worker: WorkerId,
    /// Its row in the ledger.
    pub process: ProcessId,
    /// Its identity.
    pub identity: Identity,
    /// Where it runs.
    pub isolation: Isolation,
    /// Whether it has said hello.
    pub ready: bool,
    /// The attempt that was sent to it.
    pub attempt: Option<AttemptId>,
}

/// Settings that decisions depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Attempts that may run at once.
    pub slots: u32,
    /// Workers kept ready.
    pub spares: u32,
    /// Unsettled tasks that are accepted.
    pub max_tasks: u64,
    /// Grace of a cancel that names none, and of a stop.
    pub cancel_grace: Millis,
    /// Time from a worker's start to its hello.
    pub ready_bound: Millis,
    /// What may be spent on models.
    pub limits: Limits,
    /// Time that a request waits for its owner; `None` is no bound.
    pub request_timeout: Option<Millis>,
}

/// A task to accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// Its id.
    pub id: TaskId,
    /// What kind of work it is.
    pub kind: WorkKind,
    /// Its specification.
    pub spec: Spec,
    /// Bodies that the specification names.
    pub contents: Vec<Content>,
    /// Hashes of its idempotency key and of the request.
    pub key: Option<(KeyHash, KeyHash)>,
    /// How soon it starts.
    pub priority: Priority,
    /// Time before it may start.
    pub delay: Option<Millis>,
    /// Tasks that must complete first.
    pub after: Vec<TaskId>,
    /// Whether it waits to be released.
    pub hold: bool,
    /// What was asked for its attempts.
    pub policy: Policy,
    /// The task that started it.
    pub parent: Option<TaskId>,
    /// The task that it continues.
    pub inherit: Option<Inherit>,
    /// Canonical path of the folder that no other such task may act in at once.
    pub workspace: Option<Arc<str>>,
}

/// What a task in words takes over from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inherit {
    /// The other one.
    pub task: TaskId,
    /// How many entries of its transcript, all of them recorded; `None` when it was to have settled, and had not.
    pub entries: Option<u32>,
}

/// Something to say to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// The task.
    pub task: TaskId,
    /// What.
    pub text: Arc<str>,
    /// Hashes of its idempotency key and of the request.
    pub key: Option<(KeyHash, KeyHash)>,
}

/// What the owner does to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskCommand {
    /// End it. `None` is the configured grace.
    Cancel {
        /// How long its processes may take to end by themselves.
        grace: Option<Millis>,
    },
    /// Submit it again as a new task.
    Retry {
        /// The new task's id.
        id: TaskId,
    },
    /// Keep it from starting.
    Hold,
    /// Stop the turn that is under way; the task goes on.
    Interrupt {
        /// Whether it then waits for a message.
        hold: bool,
    },
    /// Cancel one call of a tool that is under way; the turn goes on.
    CancelCall {
        /// Its place among all calls of the task.
        call: u32,
    },
    /// Let it start.
    Release,
    /// Change its place in the queue.
    Reprioritise(Priority),
    /// Forget it, with its output; only when settled.
    Remove,
    /// Let it go on after a pause or a wait.
    Resume {
        /// The pause that is meant, when that is known.
        pause: Option<PauseId>,
        /// What it may spend from now on.
        max_cost: Option<Allowance>,
        /// Whether the route that it would take costs nothing, as far as anybody knows.
        free: bool,
    },
}

/// What the owner does to the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueCommand {
    /// Start nothing new.
    Hold,
    /// Start again.
    Release {
        /// Whether held tasks are released too.
        all: bool,
    },
    /// Change the number of slots.
    SetSlots(u32),
}

/// How the server is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownKind {
    /// And stay down.
    Stop,
    /// And start again.
    Restart,
}

/// Something about a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerEvent {
    /// Its process exists.
    Spawned {
        /// Its row in the ledger.
        process: ProcessId,
        /// Its identity.
        identity: Identity,
    },
    /// Its process could not be made.
    SpawnFailed,
    /// It said hello with the right token.
    Ready,
    /// It reported something about its attempt. Frames of other attempts or generations are refused by the core.
    Report {
        /// The attempt named in the frame.
        attempt: AttemptId,
        /// The generation named in the frame.
        generation: Generation,
        /// The frame's sequence number.
        sequence: u64,
        /// What it reports.
        report: WorkerReport,
    },
    /// It was not given its attempt, because the stored specification cannot be read.
    Unreadable {
        /// The attempt.
        attempt: AttemptId,
    },
    /// It is dead, everything it started is proven gone, and its socket is drained.
    Gone {
        /// How it ended.
        exit: WorkerExit,
        /// The terminal report it kept on disk, when it could not deliver it.
        kept: Option<KeptReport>,
    },
    /// It, or something it started, cannot be ended.
    Wedged {
        /// What is alive.
        survivors: Vec<Identity>,
    },
}

/// A recordable report of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerReport {
    /// A process stands behind its barrier.
    ProcessStarted {
        /// The row it gets.
        process: ProcessId,
        /// Its identity.
        identity: Identity,
        /// What it runs.
        command: Box<str>,
    },
    /// That process is gone.
    ProcessEnded {
        /// Its row.
        process: ProcessId,
    },
    /// The end of the attempt.
    Terminal(AttemptReport),
    /// More of the transcript of its task. Opaque here.
    Entry(Arc<[u8]>),
    /// It asks its owner.
    Request(NewRequest),
    /// The same: a message that it took.
    Took {
        /// The message.
        number: u32,
        /// Opaque here.
        entry: Arc<[u8]>,
    },
    /// The same: what it delivers.
    Delivered(Arc<[u8]>),
}

/// A terminal report that a worker left on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptReport {
    /// The attempt it is about.
    pub attempt: AttemptId,
    /// Its sequence number.
    pub sequence: u64,
    /// The report.
    pub report: AttemptReport,
}

/// How a worker process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerExit {
    /// It exited.
    Code(u8),
    /// A signal ended it.
    Signal(u8),
}

/// What came of ending a process of a dead generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reap {
    /// It is proven gone, by our hand or before.
    Gone,
    /// The number belongs to somebody else now: ours is gone. Nothing was signalled.
    Stranger,
    /// It is alive and cannot be ended, or nothing certain can be said.
    Survives,
}

/// Stored rows that an input depends on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// Settled tasks.
    pub tasks: Vec<TaskId>,
    /// Sends that are over.
    pub sends: Vec<SendId>,
    /// The task whose tree is asked about: what all of it has spent, without these sends.
    pub tree: Option<(TaskId, Vec<SendId>)>,
    /// A message to a settled task, by the hash of its key.
    pub message: Option<(TaskId, KeyHash)>,
}

impl Needs {
    /// Whether nothing is needed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.sends.is_empty() && self.tree.is_none() && self.message.is_none()
    }
}

/// What the store said about [`Needs`]; what is missing does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lookup {
    /// The tasks found.
    pub tasks: BTreeMap<TaskId, TaskRow>,
    /// The sends found.
    pub sends: BTreeMap<SendId, SendRow>,
    /// What the tree that was asked about has spent.
    pub tree: Tally,
    /// The message that was asked for.
    pub message: Option<MessageRow>,
}
