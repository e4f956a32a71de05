//! Google Gemini `generateContent`.
//!
//! Sources: `ai.google.dev/api/generate-content`, `ai.google.dev/gemini-api/docs/thinking`, `…/thought-signatures`,
//! `…/function-calling`, `…/structured-output`, `ai.google.dev/api/models`.

mod catalogue;
mod contents;
mod encode;
mod stream;
#[cfg(test)]
mod tests;

pub(super) use catalogue::parse_models;
pub(super) use encode::encode;
pub(super) use stream::Generate;

/// Fields that a request can do without.
pub(super) const OMITTABLE: &[&str] = &[
    "includeThoughts",
    "include_thoughts",
    "stopSequences",
    "stop_sequences",
    "temperature",
    "thinking",
    "thinkingBudget",
    "thinkingConfig",
    "thinkingLevel",
    "thinking_budget",
    "thinking_config",
    "thinking_level",
];

/// The version in a model's name: 3 of `gemini-3-pro-preview`, 2 of `gemini-2.5-flash`.
fn generation(model: &str) -> Option<u32> {
    let (_, rest) = model.split_once("gemini-")?;
    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
}
