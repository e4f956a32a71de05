//! Events as answers and streams show them.

use super::Timestamp;
use crate::agent::Entry;
use crate::kind::{Event, EventSeq, Stream, TaskId, TaskNumber};
use serde::{Deserialize, Serialize};

/// A recorded event. On a stream it is one SSE message with `id:` its sequence number and `event: event`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventView {
    /// Its place in the log.
    pub seq: EventSeq,
    /// When it was recorded.
    pub at: Timestamp,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// That task's number.
    pub number: Option<TaskNumber>,
    /// What happened.
    pub event: Event,
}

/// Output as it is written: SSE `event: output`, without an id. Not durable; the stream's file is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveOutput {
    /// Which attempt, counted from 1.
    pub attempt: u32,
    /// Which stream.
    pub stream: Stream,
    /// Where in the stream these bytes stand.
    pub offset: u64,
    /// The bytes, base64.
    pub data: String,
    /// Bytes that were dropped before these, because they are no longer kept.
    #[serde(default)]
    pub gap: u64,
}

/// An entry of a transcript, once it is durable: SSE `event: entry`, without an id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryView {
    /// Its place in the transcript, counted from 1.
    pub place: u64,
    /// What happened.
    pub entry: Entry,
}

/// A piece of the text that a model is writing: SSE `event: piece`, without an id. For showing, and without any promise: the entry of the
/// whole answer comes after it, and is what counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LivePiece {
    /// Which attempt, counted from 1.
    pub attempt: u32,
    /// Which call of a model, counted from 1 within the attempt.
    pub call: u32,
    /// Where in the text this stands, in bytes.
    pub offset: u64,
    /// The text.
    pub text: String,
}
