//! Speaking to a task in words while it works.

use serde::{Deserialize, Serialize};

/// Body of `POST /api/tasks/{id}/messages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageRequest {
    /// What is said.
    pub text: String,
}

/// A message that was accepted. It is durable; the task takes it before it asks its model again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageAnswer {
    /// Counted from 1 within the task.
    pub number: u32,
    /// Whether an earlier request with the same key made it.
    pub duplicate: bool,
}

/// Body of `POST /api/tasks/{id}/interrupt`; may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct InterruptRequest {
    /// Whether the task then waits for a message, instead of going on by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hold: bool,
    /// Only this call of a tool, by its place among all calls of the task, counted from 1; the turn goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u32>,
}
