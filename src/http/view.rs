//! What the HTTP side reads from the store. Committed facts only.
//!
//! Implementations block: they are called on the threads of [`Blocking`](super::blocking::Blocking), never on one that
//! drives connections. Each call is short; none keeps a read open after it returns.

use bytes::Bytes;
use ouroboros_domain::{AttemptRow, EventRow, RequestRow, RuleRow, SendRow, TaskRow};
use ouroboros_proto::agent::Objective;
use ouroboros_proto::api::{ApiError, Code, CostGroup, CostView, MessageView, StreamView};
use ouroboros_proto::kind::{AttemptId, EventSeq, SendId, Stream, TaskId, TaskNumber, UtcMicros};

/// Reads of committed facts.
pub trait View: Send + Sync + 'static {
    /// The task that a reference names; `None` when there is none.
    ///
    /// # Errors
    /// The store cannot be read.
    fn find(&self, which: Which) -> Result<Option<(TaskId, TaskNumber)>, ViewError>;

    /// One task.
    ///
    /// # Errors
    /// The store cannot be read.
    fn task(&self, task: TaskId) -> Result<Option<TaskRecord>, ViewError>;

    /// All attempts of a task, oldest first.
    ///
    /// # Errors
    /// The store cannot be read.
    fn attempts(&self, task: TaskId) -> Result<Vec<AttemptRecord>, ViewError>;

    /// Tasks by falling number.
    ///
    /// # Errors
    /// The store cannot be read.
    fn page(&self, query: &PageQuery) -> Result<Vec<TaskRecord>, ViewError>;

    /// Number and completion of each of these tasks that exists, in any order.
    ///
    /// # Errors
    /// The store cannot be read.
    fn standing(&self, tasks: &[TaskId]) -> Result<Vec<Standing>, ViewError>;

    /// Events after a place in the log, by rising place, with the bounds of the log as of the same read.
    ///
    /// # Errors
    /// The store cannot be read.
    fn events(&self, query: &EventQuery) -> Result<EventBatch, ViewError>;

    /// The first kept bytes of an attempt's output at or after `from`, at most `max` of them, in one piece. Of a running
    /// attempt what its worker has written so far.
    ///
    /// # Errors
    /// The output is no longer kept, or it cannot be read.
    fn output(&self, attempt: AttemptId, stream: Stream, from: u64, max: usize) -> Result<Chunk, ViewError>;

    /// What a task spent on models: the sum over all of its sends, and the newest of those, `limit` at most, oldest first.
    ///
    /// # Errors
    /// The store cannot be read.
    fn spent(&self, task: TaskId, limit: usize) -> Result<(CostView, Vec<SendRow>), ViewError>;

    /// What a task in words did and heard, a JSON text each, from place `from` on, counted from 1; a part of it when it is long.
    ///
    /// # Errors
    /// The store cannot be read.
    fn transcript(&self, task: TaskId, from: u64) -> Result<Vec<String>, ViewError>;

    /// The newest requests to the owner, newest first, at most `limit`: of one task or all, only open ones or all.
    ///
    /// # Errors
    /// The store cannot be read.
    fn requests(&self, task: Option<TaskId>, open: bool, limit: u32) -> Result<Vec<RequestRecord>, ViewError>;

    /// A request; `None` when the task has none of this number.
    ///
    /// # Errors
    /// The store cannot be read.
    fn request(&self, task: TaskId, number: u32) -> Result<Option<RequestRecord>, ViewError>;

    /// Every rule of the owner, oldest first.
    ///
    /// # Errors
    /// The store cannot be read.
    fn rules(&self) -> Result<Vec<RuleRow>, ViewError>;
    /// What was said to a task in words, oldest first.
    ///
    /// # Errors
    /// The store cannot be read.
    fn messages(&self, task: TaskId) -> Result<Vec<MessageView>, ViewError>;

    /// The body with this hash; `None` when it is not kept.
    ///
    /// # Errors
    /// It cannot be read.
    fn content(&self, hash: &[u8; 32]) -> Result<Option<Bytes>, ViewError>;
    /// What its transcript says last of how much fits, a JSON text; `None` when nothing is known.
    ///
    /// # Errors
    /// The store cannot be read.
    fn window(&self, task: TaskId) -> Result<Option<String>, ViewError>;

    /// A send; `None` when there is none of this id.
    ///
    /// # Errors
    /// The store cannot be read.
    fn send(&self, send: SendId) -> Result<Option<SendRow>, ViewError>;

    /// What was sent and what came back; `None` when it is not kept.
    ///
    /// # Errors
    /// It cannot be read.
    fn exchange(&self, send: SendId) -> Result<Option<(Bytes, Bytes)>, ViewError>;

    /// What sends cost, in groups.
    ///
    /// # Errors
    /// The store cannot be read.
    fn costs(&self, query: &CostQuery) -> Result<Costs, ViewError>;
}

/// A request as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRecord {
    /// Its row.
    pub row: RequestRow,
    /// Its task's number.
    pub number: TaskNumber,
    /// What was asked, the JSON of an [`OwnerRequest`](ouroboros_proto::agent::OwnerRequest).
    pub content: String,
    /// What the owner answered, the JSON of an [`OwnerAnswer`](ouroboros_proto::agent::OwnerAnswer).
    pub answer: Option<String>,
}

/// How a caller names a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// By its number.
    Number(TaskNumber),
    /// By its id.
    Id(TaskId),
    /// The one accepted last.
    Last,
}

/// A task as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRecord {
    /// Its row.
    pub row: TaskRow,
    /// Its specification, the JSON of a [`StoredSpec`](ouroboros_proto::api::StoredSpec); `None` when no longer kept.
    pub spec: Option<Bytes>,
    /// When its last attempt started.
    pub started_at: Option<UtcMicros>,
    /// The task that keeps it from the folder that it acts in, when it waits for nothing else.
    pub behind: Option<TaskNumber>,
    /// Whether what was wanted is reached, in the agent's own word; only of a task that completed.
    pub objective: Option<Objective>,
}

/// An attempt as it is stored, with what is kept of its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRecord {
    /// Its row.
    pub row: AttemptRow,
    /// Standard output.
    pub stdout: StreamView,
    /// Standard error.
    pub stderr: StreamView,
}

/// Which tasks to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageQuery {
    /// Only tasks with a smaller number.
    pub before: Option<TaskNumber>,
    /// Only tasks in one of these phases.
    pub phases: Phases,
    /// At most this many.
    pub limit: usize,
}

/// Coarse phases that a store can select by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phases {
    /// Tasks without an attempt under way.
    pub queued: bool,
    /// Tasks with one.
    pub running: bool,
    /// Settled tasks.
    pub settled: bool,
}

impl Phases {
    /// Every task.
    pub const ALL: Self = Self { queued: true, running: true, settled: true };
    /// No task.
    pub const NONE: Self = Self { queued: false, running: false, settled: false };
}

/// Where a task stands, for those that come after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Which.
    pub task: TaskId,
    /// Its number.
    pub number: TaskNumber,
    /// Whether it completed.
    pub completed: bool,
}

/// Which events to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventQuery {
    /// Only events after this place.
    pub after: EventSeq,
    /// Only events of this task.
    pub task: Option<TaskId>,
    /// At most this many.
    pub limit: usize,
}

/// Events with the bounds of the log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventBatch {
    /// The events, by rising place.
    pub rows: Vec<EventRow>,
    /// Place of the oldest event kept; the place after the newest when none is.
    pub oldest: EventSeq,
    /// Place of the newest event ever recorded; zero when there is none.
    pub newest: EventSeq,
}

/// Which sends to sum up, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostQuery {
    /// What a group is.
    pub by: CostBy,
    /// Only sends that were set aside at or after this time.
    pub since: Option<UtcMicros>,
    /// Only sends that were set aside before this time.
    pub until: Option<UtcMicros>,
    /// Only sends of this task.
    pub task: Option<TaskId>,
    /// Only sends on this route.
    pub route: Option<String>,
    /// At most this many groups: the dearest ones, of days the newest.
    pub limit: usize,
    /// Whether the sum that limits count is compared with the rows, which reads all of them.
    pub check: bool,
}

/// What sends are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostBy {
    /// The task they are for.
    Task,
    /// The task at the root of that task's tree.
    Tree,
    /// The route they took.
    Route,
    /// The model that answered.
    Model,
    /// The day, in UTC.
    Day,
}

impl CostBy {
    /// All.
    pub const ALL: [Self; 5] = [Self::Task, Self::Tree, Self::Route, Self::Model, Self::Day];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Tree => "tree",
            Self::Route => "route",
            Self::Model => "model",
            Self::Day => "day",
        }
    }
}

/// What sends cost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Costs {
    /// All that were asked for, also those of groups that are not given.
    pub whole: CostView,
    /// The groups, dearest first, days newest first.
    pub groups: Vec<CostGroup>,
    /// What is wrong with the ledger.
    pub warning: Option<String>,
}

/// A piece of output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chunk {
    /// Where in the stream the bytes stand: what was asked for, or later when what lies between is not kept.
    pub offset: u64,
    /// The bytes; empty when there is nothing at or after the place asked for.
    pub bytes: Bytes,
}

/// Why something cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// It was there and is no longer kept.
    #[error("no longer kept")]
    Expired,
    /// The store or a file cannot be read.
    #[error("{0}")]
    Failed(String),
}

impl From<ViewError> for ApiError {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::Expired => Self::new(Code::Expired, "This is no longer kept.")
                .remedy("Raise `retention.output` to keep output for longer."),
            ViewError::Failed(why) => {
                tracing::error!(why, "a read of the store failed");
                Self::new(Code::Internal, "The store could not be read; nothing was changed.")
                    .remedy("Look at `ouroboros logs --server`.")
            }
        }
    }
}
