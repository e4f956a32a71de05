//! What an agent did and heard, in the order in which it happened. It only grows.
//!
//! Everything that a later attempt needs to go on is here: the conversation that is sent to the model follows from the entries alone.

use super::answer::ModelAnswer;
use super::confined::Confined;
use super::facts::WindowSource;
use super::policy::Decided;
use super::safety::Judgement;
use crate::kind::Cost;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// With this a line begins on standard error that tells a call and what came of it, which the transcript says too.
pub const TOLD_CALL: &str = "· ";
/// With this a line begins there that tells what the model said beside its calls.
pub const TOLD_WORDS: &str = "> ";

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
        /// Images that go with it, made to fit.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<CallImage>,
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
        /// Whether what was wanted is reached, where the agent said so. It is its own word, and checked by nobody.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        objective: Option<Objective>,
    },
    /// What was said to the task while it worked.
    Said {
        /// The message, counted from 1 within the task.
        number: u32,
        /// In the words of who said it.
        text: String,
    },
    /// How many tokens prompt and answer may have together on this route, as it is believed from here on.
    Window {
        /// The route.
        route: String,
        /// Tokens.
        tokens: u64,
        /// Who says so.
        source: WindowSource,
    },
    /// The last request did not fit, as its provider says.
    Overflowed {
        /// The route that was asked.
        route: String,
        /// Tokens that would have fitted, where that was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<u64>,
        /// Bytes of the request.
        bytes: u64,
        /// Tokens that it was believed to have.
        tokens: u64,
    },
    /// From here on results of calls in the entries up to a place are shown with head and tail when they are longer than this.
    Trimmed {
        /// The last entry that it is about; entries are counted from 1.
        to: u64,
        /// Bytes that are shown.
        most: u64,
    },
    /// A summary of these entries is asked for now. Without a [`Entry::Compacted`] after it, nobody knows what came of that.
    Compacting {
        /// The first entry.
        from: u64,
        /// The last one.
        to: u64,
        /// SHA-256 of the entries.
        digest: String,
    },
    /// From here on the answers and results among these entries are shown as a text. The entries themselves stay, and can be read.
    Compacted {
        /// The first entry.
        from: u64,
        /// The last one; the text stands in its place.
        to: u64,
        /// What is shown.
        text: String,
        /// SHA-256 of the entries.
        digest: String,
        /// Whose words these are.
        author: NoteAuthor,
        /// What the call cost that wrote it, where there was one and that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
    },
    /// The request whose answer comes next did not begin with the one before it: what providers cache of a prompt did not help.
    PrefixBroken {
        /// How it differed.
        kind: PrefixBreak,
        /// Whether it was meant to, because the conversation was shortened.
        sanctioned: bool,
    },
    /// A model is asked now whether a call of the turn before should be done. It has not begun.
    Judging {
        /// The place of the call among all calls, counted from 1.
        call: u32,
        /// SHA-256 of what is asked.
        digest: String,
    },
    /// What came of that.
    Judged {
        /// The call.
        call: u32,
        /// What.
        judgement: Judgement,
        /// The route that answered, where one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        route: Option<String>,
        /// What it cost, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
    },
    /// A call of an interrupted turn, which waited for the owner then or stood behind one that did, is done now by who goes on.
    Begins {
        /// The place of the call among all calls, counted from 1.
        call: u32,
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
    /// What it sees beside the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<CallImage>,
    /// Milliseconds it took.
    pub millis: u64,
    /// What was decided about it, where something was to be decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Decided>,
    /// What was in force for the program that it ran, as it was read back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confined: Option<Confined>,
    /// What the host attests of a check that it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Value>,
    /// What it gave as a whole, where `text` is only head and tail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Whole>,
}

/// A text that is kept beside the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whole {
    /// SHA-256 of its bytes, hexadecimal.
    pub digest: String,
    /// How many there are.
    pub bytes: u64,
}

/// An image that a tool or the owner gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallImage {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: String,
    /// Its bytes, base64.
    pub data: String,
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

/// Whether what was wanted is reached, in the agent's own word. It says nothing about how the task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// It is.
    Met,
    /// A part of it is.
    Partly,
    /// It is not.
    NotMet,
}

impl Objective {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Met, Self::Partly, Self::NotMet];

    /// The word of the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Partly => "partly",
            Self::NotMet => "not_met",
        }
    }

    /// For people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Partly => "partly met",
            Self::NotMet => "not met",
        }
    }
}

/// Who wrote what stands in place of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteAuthor {
    /// The agent, of its own accord.
    Agent,
    /// A model that was asked for a summary.
    Summary,
    /// The host: an outline.
    Host,
}

/// How a request differs from the one before where it should begin with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrefixBreak {
    /// Instructions or tools are others.
    SystemRewritten,
    /// The last part is another.
    TailReplaced,
    /// A part before it is another.
    Rewritten,
    /// Parts at the end are missing.
    Shrunk,
}
