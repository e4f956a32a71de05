//! JSON shapes of the HTTP API, shared by the server, the CLI and the tests.
//!
//! Requests refuse unknown fields; answers may gain fields. Times are RFC 3339 in UTC with microseconds, durations are
//! integer milliseconds, sizes are bytes, ids are UUIDs. Unknown is `null` or a named state, never zero.

mod changes;
pub mod error;
pub mod events;
mod message;
pub mod models;
pub mod money;
pub mod request;
mod submit;
pub mod system;
pub mod task;
pub mod time;

pub use changes::{ChangeKind, ChangeView, ChangesView, UndoAnswer, UndoOne, UndoRequest, Undone};
pub use error::{ApiError, Code};
pub use events::{EntryView, EventView, LiveOutput, LivePiece};
pub use message::{InterruptRequest, MessageAnswer, MessageRequest};
pub use models::{
    CatalogView, HealthView, KeyProvider, KeySet, KeyTest, KeyView, KeysView, ModelTest, ModelTestAnswer, ModelsView,
    PriceSet, PriceView, RouteView,
};
pub use money::{
    CostBreakdown, CostGroup, CostView, LimitView, PausePhase, PauseView, ResumeRequest, SendReceipt, SendView,
    SpendingView, WaitView,
};
pub use request::{AlwaysIn, AnswerRequest, Decision, RequestView, RequestsView, RuleView, RulesView};
pub use submit::{
    AgentSpec, AskSpec, CommandSpec, Continued, FromSpec, ImageSpec, PtySpec, StoredAsk, StoredSpec, SubmitAnswer,
    SubmitMany, SubmitManyAnswer, SubmitOne,
};
pub use system::{
    Alarm, CommandAnswer, CommandRequest, DiskView, Health, ProcessView, QueueView, SlotsView, StateView,
};
pub use task::{
    AgentView, AskView, AttemptView, EndingView, MessageView, StreamView, TaskPage, TaskStatus, TaskView,
    TranscriptView, UsageView, WindowView,
};
pub use time::Timestamp;

/// Version of the shapes in this module; every `--json` answer and `/api/health` carry it.
pub const API_VERSION: u32 = 1;
