//! Anthropic Messages.
//!
//! Sources: `docs.claude.com/en/api/messages`, `…/build-with-claude/streaming`, `…/extended-thinking`, `…/adaptive-thinking`, `…/effort`,
//! `…/prompt-caching`, `…/structured-outputs`, `…/handling-stop-reasons`, `…/api/models-list`.

mod blocks;
mod catalogue;
mod encode;
mod messages;
mod stream;
#[cfg(test)]
mod tests;
mod thinking;
mod usage;

pub(super) use catalogue::parse_models;
pub(super) use encode::encode;
pub(super) use stream::Messages;

/// The version of the API, a header.
pub(super) const VERSION: &str = "2023-06-01";

/// Fields that a request can do without, or that have another spelling.
pub(super) const OMITTABLE: &[&str] = &[
    "adaptive",
    "cache_control",
    "effort",
    "output_config",
    "output_config.effort",
    "stop_sequences",
    "temperature",
    "thinking",
    "thinking.adaptive.display",
    "thinking.type.adaptive",
    "thinking.type.disabled",
    "thinking.type.enabled",
];
