//! JSON shapes of the HTTP API, shared by the server, the CLI and the tests.
//!
//! Requests refuse unknown fields; answers may gain fields. Times are RFC 3339 in UTC with microseconds, durations are
//! integer milliseconds, sizes are bytes, ids are UUIDs. Unknown is `null` or a named state, never zero.

pub mod error;
pub mod events;
pub mod models;
pub mod money;
mod submit;
pub mod system;
pub mod task;
pub mod time;

pub use error::{ApiError, Code};
pub use events::{EventView, LiveOutput};
pub use models::{
    CatalogView, HealthView, KeyProvider, KeySet, KeyTest, KeyView, KeysView, ModelTest, ModelTestAnswer, ModelsView,
    PriceSet, PriceView, RouteView,
};
pub use money::{
    CostBreakdown, CostGroup, CostView, LimitView, PausePhase, PauseView, ResumeRequest, SendReceipt, SendView,
    SpendingView, WaitView,
};
pub use submit::{
    AgentSpec, AskSpec, CommandSpec, ImageSpec, PtySpec, StoredAsk, StoredSpec, SubmitAnswer, SubmitMany,
    SubmitManyAnswer, SubmitOne,
};
pub use system::{
    Alarm, CommandAnswer, CommandRequest, DiskView, Health, ProcessView, QueueView, SlotsView, StateView,
};
pub use task::{
    AgentView, AskView, AttemptView, EndingView, StreamView, TaskPage, TaskStatus, TaskView, TranscriptView, UsageView,
};
pub use time::Timestamp;

/// Version of the shapes in this module; every `--json` answer and `/api/health` carry it.
pub const API_VERSION: u32 = 1;
