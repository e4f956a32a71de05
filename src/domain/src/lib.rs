//! What the system decides, and nothing else.
//!
//! [`Core`] holds the live facts: unsettled tasks, attempts that have not ended, workers, the process ledger, and what
//! is spent. One entry,
//! [`Core::step`], turns an [`Input`] into a [`Decision`]: [`Change`]s that must be committed together, and [`Effect`]s that
//! may happen only after. The same [`Core::apply`] serves a step and the loading of stored rows, so that memory and disk
//! cannot drift.
//!
//! Invariants: no I/O, no clock, no randomness, no iteration in hash order. Time and fresh ids arrive with each input. Only
//! `ouroboros_proto::kind` is known here: no SQL, no frames, no JSON.

pub mod change;
pub mod core;
pub mod effect;
pub mod input;
pub mod money;
pub mod request;
pub mod row;

mod assign;
mod boot;
mod cancel;
mod custody;
mod draft;
mod message;
mod owner;
mod pool;
mod queue;
mod settle;
mod stop;
mod submit;
mod workspace;

pub use assign::Term;
pub use change::{Change, Content, Spec};
pub use core::{Core, Decision, Due, Loaded};
pub use effect::{Effect, Refusal, Reply};
pub use input::{
    Boot, Inherit, Input, KeptReport, Living, Lookup, Needs, NewMessage, NewTask, QueueCommand, Reap, RequestId,
    Settings, ShutdownKind, Stamp, TaskCommand, WorkerEvent, WorkerExit, WorkerReport,
};
pub use money::{Limits, MoneyInput, Reservation, SendAnswer, SendEnd, Spent, Tally};
pub use pool::PoolView;
pub use queue::Counts;
pub use request::row::{NewRule, RequestKey, RequestRow, RuleRow};
pub use request::{NewRequest, RequestInput, request_timeout};
pub use row::{
    AnswerKind, AttemptRow, CancelIntent, EventRow, KeyHash, KeyRow, MessageRow, Park, Pause, Policy, PriceBasis,
    ProcessRow, Receipt, SendRow, TaskRow, TaskState, Wait,
};
pub use workspace::{outer_folders, overlap};
