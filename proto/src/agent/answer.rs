//! What comes back from a model: pieces while it is written, then one end.

use super::facts::Window;
use super::message::Message;
use crate::kind::{Cost, LimitScope, ModelFailure, TokenUsage, UtcMicros, WaitReason};
use serde::{Deserialize, Serialize};

/// A piece of an answer that is being written. For showing: the [`ModelAnswer`] at the end is what counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// Text.
    Text(String),
    /// Thinking.
    Reasoning(String),
    /// A tool call begins.
    ToolCall {
        /// Counted from 0 within the answer.
        index: u32,
        /// The tool.
        name: String,
    },
    /// More of its arguments.
    Arguments {
        /// Which call.
        index: u32,
        /// Characters of JSON.
        text: String,
    },
    /// What is waited for, in words: a model that is being loaded, a pause before the next try. For people.
    Status(String),
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelEnd {
    /// A whole answer. What it cost is recorded.
    Answer(Box<ModelAnswer>),
    /// There is none, and asking the same again would not change that.
    Failed {
        /// Why.
        failure: ModelFailure,
        /// What the provider or the transport said, for people; secrets are masked.
        detail: String,
        /// Tokens that prompt and answer may have together, where an overflow says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<u64>,
        /// The route that was asked last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        route: Option<String>,
    },
    /// There is none yet: the task waits, under the same id, and its slot is free meanwhile.
    Parked {
        /// What for.
        park: Parked,
        /// For people.
        detail: String,
    },
}

/// What a parked task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parked {
    /// Money: until the owner resumes it.
    Paused {
        /// The limit that is used up.
        limit: LimitScope,
    },
    /// The model: it wakes by itself.
    Waiting {
        /// For what.
        reason: WaitReason,
        /// When it looks again; an event may wake it sooner.
        until: UtcMicros,
    },
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelAnswer {
    /// The model's turn, ready to be added to the conversation.
    pub message: Message,
    /// Why it ended.
    pub stop: StopReason,
    /// What the provider counted.
    pub usage: TokenUsage,
    /// What it cost; `None` when that is not known.
    pub cost: Option<Cost>,
    /// The route that answered.
    pub route: String,
    /// The model that answered, in the provider's words.
    pub model: String,
    /// The provider's id of the request.
    pub provider_request: Option<String>,
    /// What was odd and was let pass, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anomalies: Vec<String>,
    /// How much prompt and answer may have together on this route, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model was done.
    End,
    /// The bound on tokens was reached: the answer is cut.
    Length,
    /// It calls tools.
    ToolCalls,
    /// One of the request's stop texts came.
    StopText,
    /// The model declined.
    Refusal,
    /// The provider's filter cut it.
    Filtered,
    /// The provider paused a long turn; it goes on when the conversation is sent again as it is.
    Paused,
    /// Something else, in the provider's word.
    Other(String),
}
