//! A rule of the script: what it answers, when, and how the connection fares.

use crate::money::{Dollars, Usage};
use crate::script::Match;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Wait {
    /// Milliseconds.
    Millis(u64),
    /// The word `forever`.
    Word(Forever),
}

/// The word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Forever {
    /// Until the other side gives up.
    Forever,
}

impl Wait {
    /// The span; `None` for ever.
    pub fn span(self) -> Option<Duration> {
        match self {
            Self::Millis(millis) => Some(Duration::from_millis(millis)),
            Self::Word(Forever::Forever) => None,
        }
    }
}

/// How an answer is broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// The response ends properly, but the dialect's last frame is missing.
    End,
    /// The connection is closed within the response.
    Close,
    /// The connection is reset.
    Reset,
}

/// A tool call.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Its name.
    pub tool: String,
    /// The text of the arguments, which need not be JSON.
    #[serde(default = "no_arguments")]
    pub arguments: String,
    /// Its id; made up when absent.
    pub id: Option<String>,
}

fn no_arguments() -> String {
    "{}".to_owned()
}

/// One part of an answer, where their order matters.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Said {
    /// Text.
    Say(String),
    /// Thinking.
    Reasoning(String),
    /// A tool call.
    Call(Call),
    /// Bytes of the stream as they are; left out when the answer is not streamed.
    Raw(String),
}

/// One or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Calls {
    /// One.
    One(Call),
    /// Several.
    Many(Vec<Call>),
}

/// Text or a number, kept as text.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Word {
    /// A number.
    Number(u64),
    /// Text.
    Text(String),
}

impl std::fmt::Display for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// An error in the middle of a stream that began well.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorFrame {
    /// The status that the error would have had.
    #[serde(default = "server_error")]
    pub status: u16,
    /// Its message.
    #[serde(default = "failed")]
    pub message: String,
    /// Its code or kind; what goes with the status when absent.
    pub code: Option<String>,
}

fn server_error() -> u16 {
    500
}

fn failed() -> String {
    "The server had an error while processing your request.".to_owned()
}

/// Who pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bill {
    /// All of the usage, whatever became of the answer.
    Whole,
    /// Nothing.
    Nothing,
}

/// A rule.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// Which requests.
    #[serde(rename = "match")]
    pub when: Match,
    /// So often, then the rules after it.
    pub times: Option<u64>,
    /// How likely, from 0 to 1; drawn from the seed and the number of the request.
    pub probability: Option<f64>,

    /// Thinking, before the text.
    pub reasoning: Option<String>,
    /// Text.
    pub say: Option<String>,
    /// Tool calls, after the text.
    pub call: Option<Calls>,
    /// Parts in an order of their own, after those.
    pub parts: Vec<Said>,
    /// The model declines, in these words.
    pub refuse: Option<String>,
    /// This word for ever, or as often as `repeat_times`.
    pub repeat: Option<String>,
    /// How often.
    pub repeat_times: Option<u64>,
    /// Why it ends: `end`, `length`, `calls`, `filter`, `pause`, `stop_text`, or the provider's word. What fits the parts when absent.
    pub stop: Option<String>,
    /// The model that claims to have answered.
    pub substitute_model: Option<String>,

    /// Bytes of text in a piece.
    pub chunk: Option<usize>,
    /// Before each piece.
    pub gap_ms: u64,
    /// The stream is handed over in writes of so many bytes, wherever that splits it.
    pub write_bytes: Option<usize>,
    /// This text, wherever it stands in a frame, becomes the time at which the frame is handed over: microseconds since boot, as many
    /// digits as the text has letters.
    pub stamp: Option<String>,

    /// What is billed and told; what is not given is counted.
    pub usage: Usage,
    /// Dollars, as decimal text: billed, and told where the dialect has a word for it.
    pub cost: Option<Dollars>,
    /// Told in place of what is billed. With `duplicate_usage`, told first, and then the truth.
    pub wrong_usage: Option<Usage>,
    /// Told twice.
    pub duplicate_usage: bool,
    /// Not told.
    pub no_usage: bool,
    /// Who pays, when it is not what is usual.
    pub bill: Option<Bill>,

    /// Before the head of the response.
    pub stall_before_ms: Option<Wait>,
    /// After so many bytes of the body.
    pub stall_after_bytes: Option<u64>,
    /// How long; for ever when absent.
    pub stall_ms: Option<Wait>,
    /// The answer is broken off after so many bytes of the body.
    pub cut_after_bytes: Option<u64>,
    /// How, `close` when absent. Without `cut_after_bytes` before the frame that says why the answer ended.
    pub cut: Option<Cut>,
    /// No answer: the connection is broken off once the request was read.
    pub hang_up: Option<Cut>,
    /// No answer, and the connection stays.
    pub half_open: bool,

    /// An error in the dialect's shape.
    pub status: Option<u16>,
    /// Its message.
    pub error: Option<String>,
    /// Its code or kind.
    pub code: Option<String>,
    /// The field of the request that it is about, where the dialect has a word for it.
    pub param: Option<String>,
    /// When to ask again: seconds, or a date.
    pub retry_after: Option<Word>,
    /// The prompt does not fit a window of so many tokens.
    pub overflow: Option<u64>,
    /// The body of the response as it is; with status 200 unless another is given.
    pub body: Option<String>,
    /// More headers of the response.
    pub headers: BTreeMap<String, String>,
    /// The stream ends with an error in place of its last frames.
    pub error_frame: Option<ErrorFrame>,
}
