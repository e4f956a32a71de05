//! How much the model thinks, in the words that it knows.
//!
//! From 4.6 on a model decides by itself (`adaptive`) and is told an effort; before, it is given a budget of tokens. The newest refuse
//! the budget, the older ones the word, so the version in the name decides, and a refusal of one leads to the other.

use crate::dialect::conversation::{Said, Turn};
use crate::dialect::json::{Json, fields};
use crate::dialect::wire::Omit;
use crate::route::Route;
use ouroboros_proto::agent::{Effort, ModelRequest, ToolChoice};
use serde_json::json;

/// The least budget that is accepted.
const LEAST_BUDGET: u32 = 1_024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thinking {
    /// Not asked for, either way.
    Unsaid,
    /// None.
    Off,
    /// As it sees fit, with this effort.
    Adaptive(&'static str),
    /// At most this many tokens.
    Budget(u32),
}

/// What is said of thinking.
pub(super) fn choose(route: &Route, request: &ModelRequest, turns: &[Turn<'_>], max: u32, omit: Omit<'_>) -> Thinking {
    let Some(effort) = request.effort.filter(|_| route.facts.reasoning != Some(false)) else {
        return Thinking::Unsaid;
    };
    let forced = match request.tool_choice {
        ToolChoice::Required | ToolChoice::Tool(_) => !request.tools.is_empty(),
        ToolChoice::Auto | ToolChoice::None => false,
    };
    // Thinking and a forced tool exclude each other.
    if omit.has("thinking") || forced {
        return Thinking::Unsaid;
    }
    if effort == Effort::None {
        return if omit.has("thinking.type.disabled") { Thinking::Unsaid } else { Thinking::Off };
    }
    let no_adaptive = omit.has("adaptive") || omit.has("thinking.type.adaptive");
    let no_budget = omit.has("thinking.type.enabled");
    match (adapts(&route.model), no_adaptive, no_budget) {
        (_, true, true) => Thinking::Unsaid,
        (true, false, _) | (false, _, true) => Thinking::Adaptive(word(effort)),
        (false, _, false) | (true, true, false) => budget(effort, max, turns),
    }
}

/// Whether a model of this name decides by itself: `claude-opus-4-6`, not `claude-haiku-4-5-20251001` or `claude-3-7-sonnet-latest`.
/// What does not come from Anthropic knows budgets.
fn adapts(model: &str) -> bool {
    let Some(name) = model.strip_prefix("claude-") else { return false };
    let mut version = name.split(['-', '.']).filter(|word| word.len() <= 2).filter_map(|word| word.parse::<u32>().ok());
    version.next().is_none_or(|major| (major, version.next().unwrap_or(0)) >= (4, 6))
}

const fn word(effort: Effort) -> &'static str {
    match effort {
        Effort::None | Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Max => "max",
    }
}

/// A budget that leaves a quarter of the bound to the answer. In the middle of a chain of tools thinking can only go on when it had
/// begun, so it is left out where the chain began without.
fn budget(effort: Effort, max: u32, turns: &[Turn<'_>]) -> Thinking {
    let wanted = match effort {
        Effort::None | Effort::Minimal => LEAST_BUDGET,
        Effort::Low => 4_096,
        Effort::Medium => 8_192,
        Effort::High => 16_384,
        Effort::Max => 32_768,
    };
    let tokens = wanted.min(max.saturating_sub(max / 4));
    if tokens < LEAST_BUDGET || tokens >= max || in_a_chain_without(turns) {
        return Thinking::Unsaid;
    }
    Thinking::Budget(tokens)
}

fn in_a_chain_without(turns: &[Turn<'_>]) -> bool {
    let mut last = turns.iter().rev();
    let answers = matches!(last.next(), Some(Turn::User { returns, .. }) if !returns.is_empty());
    let began = matches!(last.next(), Some(Turn::Model(said)) if matches!(said.first(), Some(Said::Reasoning(_))));
    answers && !began
}

impl Thinking {
    /// Whether the model thinks before it answers.
    pub(super) const fn thinks(self) -> bool {
        match self {
            Self::Adaptive(_) | Self::Budget(_) => true,
            Self::Unsaid | Self::Off => false,
        }
    }

    /// Says it; gives the effort, whose place is elsewhere.
    pub(super) fn put(self, body: &mut Json, omit: Omit<'_>) -> Option<&'static str> {
        match self {
            Self::Unsaid => None,
            Self::Off => {
                body.put("thinking", json!({ "type": "disabled" }));
                None
            }
            Self::Adaptive(effort) => {
                let mut thinking = fields! { "type": "adaptive" };
                if !omit.has("thinking.adaptive.display") {
                    thinking.put("display", "summarized");
                }
                body.put("thinking", thinking);
                let unknown = omit.any(&["effort", "output_config", "output_config.effort"]);
                (!unknown).then_some(effort)
            }
            Self::Budget(tokens) => {
                body.put("thinking", fields! { "type": "enabled", "budget_tokens": tokens });
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::adapts;

    #[test]
    fn the_version_in_the_name_decides() {
        for model in
            ["claude-opus-4-6", "claude-sonnet-4-6-20260101", "claude-opus-4.7", "claude-fable-5", "claude-next"]
        {
            assert!(adapts(model), "{model}");
        }
        for model in ["claude-haiku-4-5-20251001", "claude-sonnet-4-20250514", "claude-3-7-sonnet-latest", "glm-5"] {
            assert!(!adapts(model), "{model}");
        }
    }
}
