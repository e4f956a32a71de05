//! Routes: a model at a provider.

use crate::dialect::Dialect;
use crate::price::Price;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The id of a route: `openai/gpt-5.1`, `openrouter/anthropic/claude-sonnet-4.5`, `ollama/qwen3:8b`. The part before the first
/// slash is the provider's name, the rest is the model in the provider's words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RouteId(String);

impl RouteId {
    /// The route of `model` at `provider`.
    #[must_use]
    pub fn new(provider: &str, model: &str) -> Self {
        Self(format!("{provider}/{model}"))
    }

    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The provider's name.
    #[must_use]
    pub fn provider(&self) -> &str {
        self.0.split_once('/').map_or(self.0.as_str(), |(provider, _)| provider)
    }

    /// The model in the provider's words.
    #[must_use]
    pub fn model(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, model)| model)
    }
}

impl fmt::Display for RouteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for RouteId {
    fn from(id: String) -> Self {
        Self(id)
    }
}

/// A provider as it is configured: where it is, which format it speaks, what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Its name, as it stands before the slash of its routes: lower-case letters, digits and `-`.
    pub name: String,
    /// The format it speaks.
    pub dialect: Dialect,
    /// Where its API begins, without a slash at the end: `https://api.openai.com/v1`.
    pub base_url: String,
    /// Whether it runs on this machine and costs nothing.
    pub local: bool,
}

/// A model at a provider, with what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// Its id.
    pub id: RouteId,
    /// Its provider.
    pub provider: Provider,
    /// The model in the provider's words.
    pub model: String,
    /// What is known of the model.
    pub facts: ModelFacts,
}

/// What is known of a model. `None` is not known; a guess is never put here.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelFacts {
    /// The model in the provider's words.
    pub model: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Tokens that prompt and answer may have together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Tokens that an answer may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// Whether it can call tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// Whether it sees images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// Whether it thinks before it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<bool>,
    /// What it costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}
