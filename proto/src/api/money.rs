//! Spending as answers show it, and what is asked about it. Money is whole nano-dollars.

use super::Timestamp;
use crate::kind::{Cost, LimitScope, NanoDollars, PauseId, SendId, SendState, TokenUsage, WaitReason};
use serde::{Deserialize, Serialize};

/// Body of `POST /api/tasks/{id}/resume`; may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResumeRequest {
    /// The pause that is meant; refused when the task is in another one by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<PauseId>,
    /// Dollars that the task may spend from now on, in all, as text; `none` for no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<String>,
}

/// A pause of a task for want of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseView {
    /// Which.
    pub id: PauseId,
    /// The limit that is used up.
    pub limit: LimitScope,
    /// Since when.
    pub since: Timestamp,
    /// How far it is.
    pub phase: PausePhase,
}

/// How far a pause is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PausePhase {
    /// The attempt saves itself and leaves.
    Pausing,
    /// Its owner may resume it.
    Paused,
    /// It was resumed; the first send that fits uses that up.
    Resumed,
}

/// A wait of a task for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitView {
    /// For what.
    pub reason: WaitReason,
    /// Since when.
    pub since: Timestamp,
    /// When it looks again.
    pub until: Timestamp,
}

/// What was spent. The three amounts are never one: what is set aside or not known is not spent, and not nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CostView {
    /// Known costs.
    pub settled_nanos: NanoDollars,
    /// Bounds of sends under way.
    pub reserved_nanos: NanoDollars,
    /// Bounds of sends whose cost is not known.
    pub unresolved_nanos: NanoDollars,
    /// All three: it is never more than that.
    pub accounted_nanos: NanoDollars,
    /// Whether nothing of it can change any more.
    pub is_final: bool,
    /// Sends to providers.
    pub sends: u64,
    /// Of those, how many were answered and the cost is not known.
    pub unpriced: u64,
    /// Of those, how many may have reached the provider without an answer.
    pub unresolved: u64,
    /// Tokens of prompts, as far as counted.
    pub input_tokens: u64,
    /// Of those, read from a cache.
    pub cached_tokens: u64,
    /// Tokens of answers, as far as counted.
    pub output_tokens: u64,
}

/// One send to a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendView {
    /// Its id.
    pub id: SendId,
    /// The call of its attempt.
    pub call: u32,
    /// Which send of the call.
    pub ordinal: u32,
    /// The route it took.
    pub route: String,
    /// The model that answered, when known.
    pub model: Option<String>,
    /// Where it stands.
    pub state: SendState,
    /// What it can cost at most.
    pub bound_nanos: NanoDollars,
    /// What it cost.
    pub cost: Option<Cost>,
    /// What was counted.
    pub usage: TokenUsage,
    /// The provider's id of the request.
    pub provider_request: Option<String>,
    /// When its bound was set aside.
    pub reserved_at: Timestamp,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
}

/// Body of `POST /api/sends/{id}/receipt`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendReceipt {
    /// Dollars that it cost, as text.
    pub cost: String,
}

/// A limit and how it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitView {
    /// Which.
    pub limit: LimitScope,
    /// How much; `null` when there is none.
    pub nanos: Option<NanoDollars>,
    /// What counts against it; `null` for limits of single tasks.
    pub accounted_nanos: Option<NanoDollars>,
}

/// What all tasks together spent, and what they may spend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpendingView {
    /// Known costs.
    pub settled_nanos: NanoDollars,
    /// Bounds of sends under way.
    pub reserved_nanos: NanoDollars,
    /// Bounds of sends whose cost is not known.
    pub unresolved_nanos: NanoDollars,
    /// All three: it is never more than that.
    pub accounted_nanos: NanoDollars,
    /// The limits in force.
    pub limits: Vec<LimitView>,
}

/// Answer of `GET /api/cost-breakdown`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostBreakdown {
    /// Everything that was asked for.
    pub whole: CostView,
    /// The limits in force.
    pub limits: Vec<LimitView>,
    /// What the groups are: `task`, `tree`, `route`, `model` or `day`.
    pub by: String,
    /// The groups, dearest first, days newest first.
    pub groups: Vec<CostGroup>,
    /// What is wrong with the ledger; `null` when nothing is, and when that was not to be checked.
    pub warning: Option<String>,
}

/// A group of sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostGroup {
    /// Its key: a task's number, a route, a model, a day as `2026-11-30`.
    pub key: String,
    /// What was spent.
    pub cost: CostView,
}
