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
//! | `Answered` | the request's row | `Report` | `Gone` | told when it is asked again |
//! | `Tell` | message row | `Report` | `Gone` | told again: with the next attempt, or to the worker that lives |
//! | `Interrupt`, `CancelCall` | none: it is about this worker's turn | – | `Gone` | the turn went with its worker |
//! | `Exit` | none | – | – | the launcher decides |

use crate::input::RequestId;
use crate::money::SendAnswer;
use ouroboros_proto::kind::{
    AttemptId, ExitCode, Identity, Isolation, LimitScope, Millis, ProcessId, SendId, TaskId, TaskNumber, WorkerId,
};
use ouroboros_proto::limits::Limit;

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
        /// Entries of its transcript that another task recorded.
        inherited: u32,
        /// Requests that no attempt has heard the end of, in ascending order: the calls that asked have not begun.
        unheard: Vec<u32>,
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
    /// Tell a worker what is recorded of a request: the answer, that its time is over, or, when it is neither, that it is withdrawn.
    Answered {
        /// The worker.
        worker: WorkerId,
        /// The attempt.
        attempt: AttemptId,
        /// The task.
        task: TaskId,
        /// Which request of it.
        number: u32,
    },
    /// Tell a worker what was said to its task and is not taken: the store knows.
    Tell {
        /// The worker.
        worker: WorkerId,
        /// The attempt.
        attempt: AttemptId,
        /// The task.
        task: TaskId,
    },
    /// Ask a worker to cancel one call of a tool in the turn that is under way.
    CancelCall {
        /// The worker.
        worker: WorkerId,
        /// The attempt.
        attempt: AttemptId,
        /// Its place among all calls of the task.
        call: u32,
    },
    /// Ask a worker to stop the turn that is under way, and nothing else.
    Interrupt {
        /// The worker.
        worker: WorkerId,
        /// The attempt.
        attempt: AttemptId,
        /// Whether the task then waits for a message.
        hold: bool,
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
    /// The message is accepted and durable: its number, and whether an earlier request made it.
    Heard(u32, bool),
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
    /// It is no task in words.
    NotInWords,
    /// It has delivered, has ended or is being cancelled.
    NotListening {
        /// Which.
        task: TaskNumber,
    },
    /// Too many messages.
    TooManyMessages {
        /// The bound that they are over.
        limit: Limit,
    },
    /// No attempt of it is under way.
    NotRunning,
    /// The task to continue has not settled.
    StillAtWork {
        /// Which.
        task: TaskNumber,
    },
    /// It does not wait for its owner, or not because of the pause that was meant.
    NotPaused,
    /// Its attempt has not left yet.
    StillPausing,
    /// The request is answered, or over without an answer, or asks something else by now.
    RequestClosed,
    /// There are as many rules as there may be.
    TooManyRules {
        /// How many that is.
        max: u64,
    },
    /// No such rule.
    UnknownRule,
    /// The limit leaves nothing to spend.
    NothingLeft {
        /// Which limit.
        limit: LimitScope,
    },
}
