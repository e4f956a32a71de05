//! Ollama's own API.
//!
//! Sources: `docs.ollama.com/api/chat`, `…/api/tags`, `…/api-reference/show-model-details`, `docs.ollama.com/capabilities/thinking`,
//! `…/capabilities/tool-calling`, `docs.ollama.com/context-length`.
//!
//! It keeps only as much of a prompt as its window has, which is small unless it is told; so the window is always sent where it is
//! known, and cutting is switched off: an error is better than half a prompt.

mod catalogue;
mod encode;
mod stream;
#[cfg(test)]
mod tests;

pub(super) use catalogue::parse_tags;
pub use catalogue::{SHOW_PATH, parse_show, show_body};
pub(super) use encode::encode;
pub(super) use stream::Lines;

/// Fields that a request can do without.
pub(super) const OMITTABLE: &[&str] = &["think", "thinking", "temperature", "stop"];
