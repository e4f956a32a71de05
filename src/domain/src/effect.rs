//! Effects: what may happen once the changes of a decision are durable.
//!
//! | effect | durable intent | success input | failure input | boot without a result |
//! |---|---|---|---|---|
//! | `Reply` | the changes it answers for | – | – | the caller asks again with its key |
//! | `SpawnWorker` | none: a worker without work owes nothing | `Spawned`, `Ready` | `SpawnFailed`, `Gone` | workers are started anew |
//! | `Assign` | attempt row | `Report` | `Unreadable`, `Gone` | attempt has no tool row: queued again |
//! | `Release` | process row, `released` | `Report::Terminal` | `Gone` | interrupted: by the task's policy |
//! | `Stop`, `EndWorker` | cancel intent, or the shutdown | `Report`, `Gone` | `Wedged` | ledger ends the tree, intent settles |
//! | `Acknowledge` | the report's row | `Gone` | `Gone` | worker is gone with its server |
//! | `Dismiss` | the rows that go with the worker | – | – | there are no workers yet |
//! | `Reap` | process row of a dead generation | `Reaped{Gone}` | `Reaped{Survives}` | asked again |
//! | `DropOutput` | task row removed | – | – | retention finds files without a row |
//! | `Answer` | the send's row, or the task's park | `Money` | – | the call is gone with its server |
//! | `Exit` | none | – | – | the launcher decides |

use crate::input::RequestId;
use crate::money::SendAnswer;
use ouroboros_proto::kind::{
    AttemptId, ExitCode, Identity, Isolation, LimitScope, Millis, ProcessId, SendId, TaskId, TaskNumber, WorkerId,
};

/// Something to do after the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Answer a request.
    Reply {
        /// Which.
        request: RequestId,
        /// With what.
        reply: Reply,
    },
    /// Start a worker.
    SpawnWorker {
        /// Its id.
        worker: WorkerId,
        /// Where it runs.
        isolation: Isolation,
    },
    /// Send a task to a worker.
    Assign {
        /// The worker.
        worker: WorkerId,
        /// The attempt.
        attempt: AttemptId,
        /// Which attempt of its task it is, counted from 1.
        ordinal: u32,
        /// The task, whose specification the store has.
        task: TaskId,
        /// Time that the attempt may take.
        timeout: Option<Millis>,
    },
    /// Open the barrier of a recorded process.
    Release {
        /// The worker.
        worker: WorkerId,
        /// The attempt.
        attempt: AttemptId,
        /// The process.
        process: ProcessId,
    },
    /// Ask a worker to end its attempt.
    Stop {
        /// The worker.
        worker: WorkerId,
        /// The attempt.
        attempt: AttemptId,
        /// How long the processes may take.
        grace: Millis,
    },
    /// Tell a worker what is recorded; after its terminal report it leaves.
    Acknowledge {
        /// The worker.
        worker: WorkerId,
        /// The attempt.
        attempt: AttemptId,
        /// Everything up to this number.
        sequence: u64,
    },
    /// Ask a worker to send reports again.
    Resend {
        /// The worker.
        worker: WorkerId,
        /// The attempt.
        attempt: AttemptId,
        /// Everything after this number.
        after: u64,
    },
    /// Kill a worker with everything it started. Ends in `Gone` or `Wedged`.
    EndWorker {
        /// The worker.
        worker: WorkerId,
    },
    /// Forget a worker: that it is gone is recorded.
    Dismiss {
        /// The worker.
        worker: WorkerId,
    },
    /// End a process of a dead generation, by identity only. Ends in `Reaped`.
    Reap {
        /// Its row.
        process: ProcessId,
        /// Which process.
        identity: Identity,
        /// The attempt that its worker had: a terminal report may lie on disk.
        attempt: Option<AttemptId>,
    },
    /// Remove the output files of these attempts' task.
    DropOutput {
        /// The task.
        task: TaskId,
    },
    /// Answer the gateway about a send.
    Answer {
        /// Which.
        send: SendId,
        /// What.
        answer: SendAnswer,
    },
    /// Leave. Nothing is alive any more.
    Exit(ExitCode),
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The tasks are accepted and durable: id, number, whether an earlier request made it.
    Accepted(Vec<(TaskId, TaskNumber, bool)>),
    /// It is done.
    Done,
    /// The end was asked for; these running tasks are interrupted or waited for.
    Ending(Vec<TaskNumber>),
    /// It is not done, and nothing changed.
    Refused(Refusal),
}

/// Why something is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The queue is full.
    QueueFull {
        /// How many fit.
        max: u64,
    },
    /// The server is ending.
    Stopping,
    /// The key came before with another request.
    KeyConflict {
        /// The task it made.
        task: TaskNumber,
    },
    /// A task to come after does not exist.
    UnknownDependency {
        /// Which.
        task: TaskId,
    },
    /// A task to come after did not complete.
    DependencyFailed {
        /// Which.
        task: TaskNumber,
    },
    /// No such task.
    UnknownTask,
    /// It has settled.
    AlreadySettled,
    /// It has not settled.
    NotSettled,
    /// It is running.
    AlreadyRunning,
    /// Unsettled tasks wait for it.
    HasDependents,
    /// The task that it is to belong to does not exist or has settled.
    ParentNotLive {
        /// Which.
        task: TaskId,
    },
    /// It does not wait for its owner, or not because of the pause that was meant.
    NotPaused,
    /// Its attempt has not left yet.
    StillPausing,
    /// The limit leaves nothing to spend.
    NothingLeft {
        /// Which limit.
        limit: LimitScope,
    },
}
