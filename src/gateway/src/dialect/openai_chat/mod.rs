//! OpenAI chat completions, and the many servers that are compatible with it: OpenRouter, vLLM, llama.cpp, LM Studio, and others.
//!
//! Sources: `platform.openai.com/docs/api-reference/chat` and `…/chat-streaming`, `openrouter.ai/docs/api-reference/overview`,
//! `openrouter.ai/docs/use-cases/reasoning-tokens`, `…/usage-accounting`, `…/features/prompt-caching`.
//!
//! What OpenAI and OpenRouter understand beyond the common form is sent to them only. OpenAI is told by its address, as its name often
//! stands for another server that takes its place; OpenRouter by its address or its name.

mod calls;
mod catalogue;
mod encode;
mod messages;
mod stream;
#[cfg(test)]
mod tests;
mod thinking;
mod usage;

pub use catalogue::parse_lm_studio;
pub(super) use catalogue::parse_models;
pub(super) use encode::encode;
pub(super) use stream::Chat;
pub(super) use usage::cost;

use crate::route::Provider;

/// Fields that a request can do without, or that have another spelling.
pub(super) const OMITTABLE: &[&str] = &[
    "developer",
    "max_completion_tokens",
    "max_tokens",
    "prompt_cache_key",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "reasoning_effort",
    "session_id",
    "stop",
    "stream_options",
    "temperature",
];

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flavour {
    OpenAi,
    OpenRouter,
    /// Anybody's: only what all understand.
    Compatible,
}

impl Flavour {
    fn of(provider: &Provider) -> Self {
        let at = |host: &str| provider.base_url.contains(host);
        if provider.name == "openrouter" || at("//openrouter.ai") {
            Self::OpenRouter
        } else if at("//api.openai.com") || at(".openai.azure.com") {
            Self::OpenAi
        } else {
            Self::Compatible
        }
    }
}
