//! Changes: what one decision writes. All changes of a decision are committed in one transaction.

use crate::money::Tally;
use crate::money::row::SendRow;
use crate::request::row::{RequestRow, RuleRow};
use crate::row::{AttemptRow, EventRow, KeyRow, MessageRow, ProcessRow, TaskRow};
use ouroboros_proto::kind::{AttemptId, Generation, HoldReason, ProcessId, RuleId, SendState, TaskId};
use std::sync::Arc;

/// One written fact: the new image of a row, or its removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A new task with its specification.
    TaskAdded {
        /// The row.
        row: Box<TaskRow>,
        /// What to store as its specification.
        spec: Spec,
        /// Bodies that the specification names by hash; stored once each.
        contents: Vec<Content>,
        /// What its tree had spent before, when it joins one of which nothing is unsettled. Not stored: the rows of the sends tell it.
        spent: Tally,
    },
    /// A task's new image. A settled one stays in the store and leaves memory.
    Task(Box<TaskRow>),
    /// A settled task is forgotten, with its attempts and its events.
    TaskRemoved(TaskId),
    /// An attempt's new image. An ended one stays in the store and leaves memory.
    Attempt(Box<AttemptRow>),
    /// A process is recorded.
    Process(Box<ProcessRow>),
    /// A process is proven dead.
    ProcessGone(ProcessId),
    /// A send's new image. One that is over stays in the store and leaves memory.
    Send(Box<SendRow>),
    /// What a send cost is known after it had been given up.
    SendCorrected {
        /// Its new image.
        row: Box<SendRow>,
        /// Its stored one.
        was: Box<SendRow>,
    },
    /// An idempotency key is used up.
    Key(KeyRow),
    /// More of what a task did and heard.
    Transcript {
        /// The task.
        task: TaskId,
        /// The attempt that recorded it.
        attempt: AttemptId,
        /// Opaque here.
        entry: Arc<[u8]>,
    },
    /// An attempt asks its owner. What stood under the same number before is replaced.
    Requested {
        /// The row.
        row: Box<RequestRow>,
        /// What is asked. Opaque here.
        content: Arc<[u8]>,
    },
    /// A request's new image.
    Request {
        /// The row.
        row: RequestRow,
        /// What the owner answered, in the change that records that. Opaque here.
        answer: Option<Arc<[u8]>>,
    },
    /// The owner made a rule.
    RuleAdded(Box<RuleRow>),
    /// A rule is taken back, or its task has settled.
    RuleRemoved(RuleId),
    /// A new task's transcript begins with the first entries of another one's, which is copied.
    Inherited {
        /// The new task.
        task: TaskId,
        /// The other one.
        from: TaskId,
        /// How many entries.
        entries: u32,
    },
    /// Something was said to a task in words.
    Message {
        /// The row.
        row: MessageRow,
        /// What was said.
        text: Arc<str>,
    },
    /// The entry that its task has just recorded is this message.
    MessageTaken {
        /// The task.
        task: TaskId,
        /// The message.
        number: u32,
    },
    /// Something happened.
    Event(Box<EventRow>),
    /// The whole queue is held or released.
    QueueHold(Option<HoldReason>),
    /// A server life begins.
    Generation(Generation),
}

impl Change {
    /// Whether the commit with this change must reach the disk before its effects happen. The others need to survive the
    /// death of the server only, and ride along with the next one that must.
    #[must_use]
    pub fn needs_sync(&self) -> bool {
        match self {
            Self::Process(row) => row.attempt.is_some(),
            Self::ProcessGone(_) => false,
            // An ended attempt whose report is already stored tells nothing that a restart would not find out again.
            Self::Attempt(row) => row.ended_at.is_none() || row.report.is_none(),
            // That it left is worth knowing, and nothing waits for it.
            Self::Send(row) => row.state != SendState::Dispatched,
            Self::TaskAdded { .. }
            | Self::Task(_)
            | Self::TaskRemoved(_)
            | Self::SendCorrected { .. }
            | Self::Key(_)
            | Self::Transcript { .. }
            | Self::Requested { .. }
            | Self::Request { .. }
            | Self::RuleAdded(_)
            | Self::RuleRemoved(_)
            | Self::Inherited { .. }
            | Self::Message { .. }
            | Self::MessageTaken { .. }
            | Self::Event(_)
            | Self::QueueHold(_)
            | Self::Generation(_) => true,
        }
    }
}

/// What is stored as a task's specification. Opaque here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spec {
    /// These bytes.
    New(Arc<[u8]>),
    /// The bytes of another task's.
    CopyOf(TaskId),
}

/// A body stored under its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// SHA-256 of the bytes.
    pub hash: [u8; 32],
    /// The bytes; empty when they already lie in a content file.
    pub bytes: Arc<[u8]>,
    /// Whether they lie in a content file.
    pub in_file: bool,
}
