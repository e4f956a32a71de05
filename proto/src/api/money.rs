//! Spending, routes and keys as answers show them, and what is asked about them. Money is whole nano-dollars.

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

/// Answer of `GET /api/models`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelsView {
    /// The route that is taken when none is named.
    pub default: Option<String>,
    /// Why that one.
    pub why: String,
    /// Every route.
    pub routes: Vec<RouteView>,
    /// What was looked for and is not usable, a sentence each.
    pub problems: Vec<String>,
    /// The limits in force.
    pub limits: Vec<LimitView>,
}

/// A route to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RouteView {
    /// Its id.
    pub id: String,
    /// Its provider.
    pub provider: String,
    /// The model in the provider's words.
    pub model: String,
    /// How it was found: the variable with the key, the port that answered, the setting.
    pub found: String,
    /// Tokens that prompt and answer may have together.
    pub window: Option<u64>,
    /// Tokens that an answer may have.
    pub max_output: Option<u64>,
    /// Whether it can call tools.
    pub tools: Option<bool>,
    /// Whether it sees images.
    pub images: Option<bool>,
    /// What it costs; `null` when not known.
    pub price: Option<PriceView>,
    /// How it does.
    pub health: HealthView,
}

/// A price: nano-dollars for a million tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceView {
    /// Of the prompt.
    pub input_nanos_per_million: u64,
    /// Of the answer.
    pub output_nanos_per_million: u64,
    /// Of the prompt, read from a cache.
    pub cached_nanos_per_million: Option<u64>,
    /// Of the prompt, written to a cache.
    pub cache_write_nanos_per_million: Option<u64>,
    /// Who says so.
    pub source: String,
    /// When that was asked.
    pub at: Option<Timestamp>,
}

/// How a route does.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HealthView {
    /// `untried`, `well`, `cooling` or `failing`.
    pub state: String,
    /// What went wrong last.
    pub reason: Option<String>,
    /// Until when nothing is sent.
    pub cooling_until: Option<Timestamp>,
    /// Sends under way.
    pub in_flight: u32,
}

/// Body of `POST /api/models/test`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelTest {
    /// The route to call.
    pub route: String,
}

/// A key of a provider, as far as it may be seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyView {
    /// The provider.
    pub provider: String,
    /// Where it was found.
    pub found: String,
    /// Its last four characters.
    pub ending: String,
    /// When it was set, when that is known.
    pub set_at: Option<Timestamp>,
}

/// Answer of `GET /api/keys`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeysView {
    /// The keys.
    pub keys: Vec<KeyView>,
    /// How they are protected, in a sentence.
    pub protection: String,
    /// What could not be read, a sentence each.
    pub problems: Vec<String>,
    /// Providers that take a key, with the variable it is looked for in.
    pub providers: Vec<KeyProvider>,
}

/// A provider that takes a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyProvider {
    /// Its name.
    pub name: String,
    /// Variables that its key is looked for in, first one first.
    pub variables: Vec<String>,
}

/// Body of `POST /api/keys`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeySet {
    /// The provider.
    pub provider: String,
    /// The key. It is never shown again.
    pub key: String,
}

impl std::fmt::Debug for KeySet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeySet").field("provider", &self.provider).finish_non_exhaustive()
    }
}

/// Answer of `POST /api/models/test`: what came of a real call that asks for a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelTestAnswer {
    /// The route.
    pub route: String,
    /// Whether a well-formed call of the tool came back.
    pub works: bool,
    /// What is wrong, when something is.
    pub problem: Option<String>,
    /// Text that came.
    pub text: String,
    /// The tool that was called, with its arguments as they came.
    pub tool_call: Option<(String, String)>,
    /// What was counted.
    pub usage: TokenUsage,
    /// What it cost; `null` when not known.
    pub cost: Option<Cost>,
    /// In all.
    pub elapsed_ms: u64,
}

/// Answer of `POST /api/keys/{provider}/test`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyTest {
    /// The provider.
    pub provider: String,
    /// Whether it accepts the key; `null` when that could not be found out.
    pub accepted: Option<bool>,
    /// A sentence.
    pub detail: String,
}

/// A model's price as it is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CatalogView {
    /// The route.
    pub route: String,
    /// Tokens that prompt and answer may have together.
    pub window: Option<u64>,
    /// What it costs; `null` when not known.
    pub price: Option<PriceView>,
}

/// Body of `POST /api/model-catalog`: the owner's own price of a route. Without amounts it is removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceSet {
    /// The route.
    pub route: String,
    /// Dollars for a million tokens of the prompt, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// The same of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The same of the prompt, read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<String>,
    /// The same of the prompt, written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<String>,
}
