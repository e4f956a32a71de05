//! What an agent did and heard, in the order in which it happened. It only grows.
//!
//! Everything that a later attempt needs to go on is here: the conversation that is sent to the model follows from the entries alone.

use super::answer::ModelAnswer;
use serde::{Deserialize, Serialize};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Entry {
    /// What the owner wants.
    Asked {
        /// In the owner's words.
        text: String,
        /// What stands in the folder for those who work in it, and where: instructions, marked as what they are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        guidance: Option<String>,
    },
    /// Something the host says to the model.
    Notice {
        /// In words that name the host as the speaker.
        text: String,
    },
    /// The model's turn.
    Answered {
        /// As it came.
        answer: Box<ModelAnswer>,
    },
    /// What the calls of the turn before came to: one for each, in their order.
    Results {
        /// They.
        results: Vec<CallResult>,
    },
    /// The attempt left in order: it waits for money or for a model, and goes on from here.
    Parked {
        /// What for, in words.
        detail: String,
    },
    /// The end of the work.
    Delivered {
        /// What is delivered.
        text: String,
        /// Whose words these are.
        author: Author,
    },
}

/// What one tool call came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    /// The id of the call.
    pub call: String,
    /// The tool.
    pub name: String,
    /// How it ended.
    pub outcome: CallOutcome,
    /// A word for why, when it is not [`CallOutcome::Ok`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What the model reads.
    pub text: String,
    /// Milliseconds it took.
    pub millis: u64,
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// It did what it is for.
    Ok,
    /// What it was to find is not there.
    Miss,
    /// It is not allowed. Nothing was done.
    Refusal,
    /// The arguments are not right. Nothing was done.
    ArgumentError,
    /// It failed.
    Failure,
    /// Nobody knows: it was interrupted, and may have had effects.
    Unknown,
}

/// Who wrote what was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The model, when it was done.
    Model,
    /// The model, when it was told that there are no rounds left.
    ModelAtLimit,
    /// The model, when it was told that it goes in circles.
    ModelInCircles,
    /// The host: the last words of the model, which it did not mean as its answer.
    Host,
}
