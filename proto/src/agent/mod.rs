//! What is said to a model and what comes back, in one form for all providers.
//!
//! A worker writes a [`ModelRequest`] and reads an [`ModelEnd`]; the server's gateway translates at the edge. Nothing here names a
//! provider's field. What a provider sends that has no word here travels as [`Native`]: it is kept byte for byte, given back to
//! the same route only, and shown to nobody.
//!
//! The types travel as JSON. Fields may be added with a default, never renamed.

mod answer;
mod confined;
mod facts;
mod job;
mod message;
mod owner;
mod policy;
mod request;
mod safety;
mod transcript;

pub use crate::kind::{Cost, CostSource, ModelFailure, TokenUsage};
pub use answer::{ModelAnswer, ModelEnd, Parked, Piece, StopReason};
pub use confined::{ConfineStep, Confined, Guarantee, Limits, Namespaces, Profile, Unconfined};
pub use facts::{Facts, Window, WindowSource};
pub use job::Job;
pub use message::{Message, Native, Part, Role};
pub use owner::{OwnerAnswer, OwnerRequest, Rule};
pub use policy::{Decided, Decider, Mode, UnknownMode};
pub use request::{Effort, Instruction, ModelRequest, OutputSchema, ToolChoice, ToolSpec};
pub use safety::{Coverage, Judgement};
pub use transcript::{
    Author, CallImage, CallOutcome, CallResult, Entry, NoteAuthor, Objective, PrefixBreak, TOLD_CALL, TOLD_WORDS, Whole,
};
