//! Routes to models, their prices and the keys of providers as answers show them, and what is asked about them.

use super::Timestamp;
use super::money::LimitView;
use crate::kind::{Cost, TokenUsage};
use serde::{Deserialize, Serialize};

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
