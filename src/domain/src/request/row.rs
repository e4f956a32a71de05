//! Rows of requests and rules. What was asked, what was answered and what a rule matches stay in the store.

use crate::row::KeyHash;
use ouroboros_proto::kind::{AttemptId, RequestKind, RequestState, RuleEffect, RuleId, RuleScope, TaskId, UtcMicros};
use std::sync::Arc;

/// Which request: the task, and the place of the call among all calls of the task.
pub type RequestKey = (TaskId, u32);

/// No attempt.
pub const NOBODY: AttemptId = AttemptId::from_bytes([0; 16]);

/// Something that an attempt asks its owner. It leaves memory when its task settles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestRow {
    /// The task.
    pub task: TaskId,
    /// The place of the call, which a later attempt that asks the same again names too.
    pub number: u32,
    /// The attempt that asked last; [`NOBODY`] when none was there to hear how it was closed.
    pub attempt: AttemptId,
    /// What kind of answer is wanted.
    pub kind: RequestKind,
    /// Hash of what is asked: an answer is for this and nothing else.
    pub digest: KeyHash,
    /// Where it stands.
    pub state: RequestState,
    /// When it was asked first.
    pub asked_at: UtcMicros,
    /// When it counts as refused, as people are shown it.
    pub expires_at: Option<UtcMicros>,
    /// When it was answered, expired or was withdrawn.
    pub closed_at: Option<UtcMicros>,
}

impl RequestRow {
    /// Which request it is.
    #[must_use]
    pub const fn key(&self) -> RequestKey {
        (self.task, self.number)
    }

    /// Whether it waits for its owner.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state == RequestState::Open
    }
}

/// A rule that an answer makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRule {
    /// Where it holds.
    pub scope: RuleScope,
    /// The tool it is about.
    pub tool: Box<str>,
    /// What it matches. Opaque here.
    pub pattern: Arc<[u8]>,
    /// What it says.
    pub effect: RuleEffect,
}

/// A rule as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleRow {
    /// Which.
    pub id: RuleId,
    /// What it says.
    pub rule: NewRule,
    /// When it was made.
    pub created_at: UtcMicros,
    /// The request whose answer made it.
    pub from: RequestKey,
}

impl RuleRow {
    /// The task that it is for, when it is for one only.
    #[must_use]
    pub fn task(&self) -> Option<TaskId> {
        (self.rule.scope == RuleScope::Task).then_some(self.from.0)
    }
}
