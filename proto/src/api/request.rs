//! What tasks ask their owner, the answers, and the rules that answers leave behind.

use super::Timestamp;
use crate::agent::{OwnerAnswer, OwnerRequest};
use crate::kind::{AttemptId, RequestState, RuleEffect, RuleId, RuleScope, TaskId, TaskNumber};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that a task asks its owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestView {
    /// The task.
    pub task: TaskId,
    /// That task's number.
    pub number: TaskNumber,
    /// Which request of the task.
    pub request: u32,
    /// The attempt that asked last.
    pub attempt: AttemptId,
    /// Where it stands.
    pub state: RequestState,
    /// What is asked.
    pub asks: OwnerRequest,
    /// When it was asked first.
    pub asked_at: Timestamp,
    /// When it counts as refused; `null` is never. Shown only: a set clock changes nothing about it.
    pub expires_at: Option<Timestamp>,
    /// When it was answered, expired or was withdrawn.
    pub closed_at: Option<Timestamp>,
    /// What the owner answered.
    pub answer: Option<OwnerAnswer>,
}

/// Answer of `GET /api/requests`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestsView {
    /// The requests, those that were asked last first; at most 1000.
    pub requests: Vec<RequestView>,
}

/// Body of `POST /api/requests/{task}/{number}/answer`: one of `option`, `text` and `decision`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    /// An option of a question, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<u32>,
    /// Words that answer a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What is decided about an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Why, with the decision `deny`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where it holds, with the decision `always`; the task's folder when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<AlwaysIn>,
}

/// What the owner decides about an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It may be done, this once.
    Once,
    /// It may be done, and its like, as long as the task goes on.
    Task,
    /// It may be done, and its like, from now on.
    Always,
    /// It may not be done.
    Deny,
}

/// Where what may always be done may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum AlwaysIn {
    /// In the folder of the task that asked.
    #[default]
    Folder,
    /// Everywhere.
    Installation,
}

/// A rule of the owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleView {
    /// Which.
    pub id: RuleId,
    /// Where it holds.
    pub scope: RuleScope,
    /// The tool it is about.
    pub tool: String,
    /// What it matches.
    pub pattern: Value,
    /// What it says.
    pub effect: RuleEffect,
    /// When it was made.
    pub created_at: Timestamp,
    /// The task whose request was answered.
    pub from_task: TaskId,
    /// Which request of that task.
    pub from_request: u32,
}

/// Answer of `GET /api/rules`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulesView {
    /// The rules, oldest first.
    pub rules: Vec<RuleView>,
}
