//! OpenAI Responses, without anything kept at the provider: every request carries the whole conversation, with the model's thinking
//! as encrypted items.
//!
//! Sources: `platform.openai.com/docs/api-reference/responses` and `…/responses-streaming`, `platform.openai.com/docs/guides/reasoning`,
//! `…/guides/function-calling`, `…/guides/structured-outputs`.

mod encode;
mod items;
mod output;
mod stream;
#[cfg(test)]
mod tests;

pub(super) use encode::encode;
pub(super) use stream::Responses;

/// Fields that a request can do without.
pub(super) const OMITTABLE: &[&str] =
    &["include", "prompt_cache_key", "reasoning", "reasoning.effort", "reasoning.summary", "temperature"];
