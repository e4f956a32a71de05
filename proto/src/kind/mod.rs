//! Words of the domain as types: a bare integer in a signature never means something.
//!
//! Invariants: an id is never reused; a time says which clock it came from; unknown is a variant, not a zero.

pub mod allowance;
pub mod budget;
pub mod clock;
pub mod event;
pub mod exit;
pub mod hex;
pub mod id;
pub mod model;
pub mod money;
pub mod outcome;
pub mod process;
pub mod request;
pub mod sensitive;
pub mod task;
pub mod time;

pub use allowance::Allowance;
pub use budget::{LimitScope, SendState, WaitReason};
pub use clock::Now;
pub use event::{Event, EventSeq, HoldReason, Requeue};
pub use exit::ExitCode;
pub use id::{AttemptId, Generation, InstallationId, PauseId, ProcessId, RuleId, SendId, TaskId, TaskNumber, WorkerId};
pub use model::{Cost, CostSource, ModelFailure, TokenUsage};
pub use money::{NanoDollars, NoAmount};
pub use outcome::{AttemptReport, CancelReason, Captured, Ending, Failure, OutOfMemory, Outcome, Usage};
pub use process::{Identity, Role};
pub use request::{RequestKind, RequestState, RuleEffect, RuleScope};
pub use task::{Isolation, Priority, Stream, WorkKind};
pub use time::{BootMicros, Millis, UtcMicros};
