//! What was counted, and what it cost if the server says so.

use crate::dialect::decimal;
use crate::dialect::draft::Draft;
use crate::dialect::read::{tokens, tokens_in};
use ouroboros_proto::agent::TokenUsage;
use ouroboros_proto::kind::NanoDollars;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The frames of counts in one stream. Some servers count along in every chunk, some say it twice at the end; the last
/// frame that has both counts holds. It counts all of the answer when the reason of the end comes with it or came
/// before it, or when the stream ends and nothing of the answer came after it.
#[derive(Debug, Default)]
pub(super) struct Counts {
    last: Option<TokenUsage>,
    finished: bool,
    /// The reason of the end had come before this chunk.
    finished_before: bool,
    since_finish: bool,
    /// Something of the answer came after the last frame.
    outrun: bool,
}

/// Money is read from its decimal text, never through floating point.
#[derive(Deserialize)]
struct Money<'a> {
    #[serde(borrow, default)]
    cost: Option<&'a RawValue>,
    #[serde(default)]
    is_byok: Option<bool>,
    #[serde(borrow, default)]
    cost_details: Option<Details<'a>>,
}

#[derive(Deserialize)]
struct Details<'a> {
    #[serde(borrow, default)]
    upstream_inference_cost: Option<&'a RawValue>,
}

impl Counts {
    /// The reason of the end has come.
    pub(super) const fn finished(&mut self) {
        self.finished = true;
    }

    /// A chunk begins.
    pub(super) const fn chunk(&mut self) {
        self.finished_before = self.finished;
    }

    /// A piece of the answer has come.
    pub(super) const fn piece(&mut self) {
        self.outrun = true;
    }

    /// The stream has ended.
    pub(super) fn end(&self, draft: &mut Draft) {
        if let Some(usage) = self.last.filter(|_| !self.outrun) {
            draft.count(usage);
        }
    }

    pub(super) fn frame(&mut self, draft: &mut Draft, raw: &RawValue) {
        let Ok(value) = serde_json::from_str::<Value>(raw.get()) else { return };
        self.value(draft, &value);
        if let Some(cost) = cost(raw) {
            draft.cost(cost);
        }
    }

    pub(super) fn value(&mut self, draft: &mut Draft, value: &Value) {
        if !value.is_object() {
            return;
        }
        let usage = read(value);
        let complete = |usage: &TokenUsage| usage.input.is_some() && usage.output.is_some();
        if let Some(last) = self.last {
            if self.since_finish {
                let how = if last == usage { "the same" } else { "different numbers" };
                draft.note(format!("The counts came more than once, with {how}."));
            }
            if complete(&last) && !complete(&usage) {
                draft.note("Counts came that are not whole.");
                return;
            }
        }
        self.since_finish = self.finished_before;
        self.last = Some(usage);
        self.outrun = false;
        if self.finished {
            draft.count(usage);
        } else {
            draft.count_so_far(usage);
        }
    }
}

fn read(value: &Value) -> TokenUsage {
    let of = |name: &str| tokens(value.get(name));
    let input = of("prompt_tokens");
    let reasoning =
        tokens_in(value, "completion_tokens_details", "reasoning_tokens").or_else(|| of("reasoning_tokens"));
    let said = of("completion_tokens");
    let apart = match (input, said, reasoning, of("total_tokens")) {
        // Some count thinking beside the answer: then only with it do the parts make the total.
        (Some(input), Some(said), Some(reasoning), Some(total)) if reasoning > 0 => {
            total == input.saturating_add(said).saturating_add(reasoning)
        }
        (_, _, _, _) => false,
    };
    TokenUsage {
        input,
        cached: tokens_in(value, "prompt_tokens_details", "cached_tokens")
            .or_else(|| of("prompt_cache_hit_tokens"))
            .or_else(|| of("cached_tokens")),
        cache_write: tokens_in(value, "prompt_tokens_details", "cache_write_tokens"),
        cache_write_long: None,
        output: said.map(|said| if apart { said.saturating_add(reasoning.unwrap_or(0)) } else { said }),
        reasoning,
    }
}

/// The cost in dollars; where the owner's own key at another provider paid, that provider's part too.
pub(in crate::dialect) fn cost(raw: &RawValue) -> Option<NanoDollars> {
    let money: Money<'_> = serde_json::from_str(raw.get()).ok()?;
    let own = decimal::dollars(money.cost?.get().trim_matches('"'))?;
    let upstream = money.cost_details.filter(|_| money.is_byok == Some(true));
    match upstream.and_then(|details| details.upstream_inference_cost) {
        Some(raw) => Some(own.saturating_add(decimal::dollars(raw.get())?)),
        None => Some(own),
    }
}
