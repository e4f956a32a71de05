//! What was counted. The prompt's count leaves out what came from or went to a cache; ours is all of it.

use crate::dialect::read::{tokens, tokens_in};
use ouroboros_proto::agent::TokenUsage;
use serde_json::Value;

/// Counts of one stream: later ones stand in for earlier ones, field by field.
#[derive(Debug, Default)]
pub(super) struct Counts {
    plain: Option<u64>,
    written: Option<u64>,
    written_long: Option<u64>,
    read: Option<u64>,
    output: Option<u64>,
    thinking: Option<u64>,
    searches: u64,
}

impl Counts {
    pub(super) fn frame(&mut self, usage: &Value) {
        let of = |name: &str| tokens(usage.get(name));
        let short = tokens_in(usage, "cache_creation", "ephemeral_5m_input_tokens");
        let long = tokens_in(usage, "cache_creation", "ephemeral_1h_input_tokens");
        let sum = short.zip(long).map(|(short, long)| short.saturating_add(long));
        self.plain = of("input_tokens").or(self.plain);
        self.written = of("cache_creation_input_tokens").or(sum).or(self.written);
        self.written_long = long.or(self.written_long);
        self.read = of("cache_read_input_tokens").or(self.read);
        self.output = of("output_tokens").or(self.output);
        self.thinking = tokens_in(usage, "output_tokens_details", "thinking_tokens").or(self.thinking);
        self.searches = tokens_in(usage, "server_tool_use", "web_search_requests").unwrap_or(self.searches);
    }

    pub(super) fn usage(&self) -> TokenUsage {
        let cache = self.written.unwrap_or(0).saturating_add(self.read.unwrap_or(0));
        TokenUsage {
            input: self.plain.map(|plain| plain.saturating_add(cache)),
            cached: self.read,
            cache_write: self.written,
            cache_write_long: self.written_long,
            output: self.output,
            reasoning: self.thinking,
        }
    }

    /// Searches are charged apart.
    pub(super) const fn searched(&self) -> bool {
        self.searches > 0
    }
}
