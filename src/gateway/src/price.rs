//! Prices, what an answer costs, and what a request can cost at most.
//!
//! Prices are facts with a source and a date; they come from providers' catalogues or from the owner, never from a table here.
//! A token count that the provider did not give makes the cost unknown, not zero.
//!
//! Some models cost more from some length of the prompt on, up to twice as much: OpenAI's from 272,000 tokens,
//! Anthropic's, Google's and xAI's from 200,000 (`platform.openai.com/docs/pricing`,
//! `docs.claude.com/en/docs/about-claude/pricing`, `ai.google.dev/gemini-api/docs/pricing`, `docs.x.ai/docs/models`).
//! Where nobody says which do, the cost of a long prompt is unknown and its bound is twice as high.

use ouroboros_proto::agent::TokenUsage;
use ouroboros_proto::kind::NanoDollars;
use serde::{Deserialize, Serialize};

/// From this many tokens of the prompt on, a price may not hold that is not told apart by length.
const LONG_PROMPT: u64 = 200_000;

/// What a model costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// A prompt token.
    pub input: PerMillion,
    /// A token of the answer, thinking included.
    pub output: PerMillion,
    /// A prompt token read from a cache; as any other when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<PerMillion>,
    /// A prompt token written to a cache; as any other when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<PerMillion>,
    /// The same for an hour instead of minutes; as `cache_write` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_long: Option<PerMillion>,
    /// Each request.
    #[serde(default)]
    pub request: NanoDollars,
    /// Each image of the prompt, where it is charged apart.
    #[serde(default)]
    pub image: NanoDollars,
    /// What holds instead under conditions, the last one that fits; `None` when nobody says whether there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiers: Option<Vec<Tier>>,
}

/// A price that holds under conditions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tier {
    /// From this many tokens of the prompt on.
    pub from: u64,
    /// Whether nothing else decides. What also depends on the time of day, say, bounds a cost and does not tell it.
    pub certain: bool,
    /// The price. Tiers of its own do not count.
    pub price: Price,
}

/// Nano-dollars for a million tokens: a dollar a million is 1,000,000,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PerMillion(pub u64);

impl PerMillion {
    /// What `tokens` cost, rounded up to a nano-dollar.
    #[must_use]
    pub fn of(self, tokens: u64) -> NanoDollars {
        let nanos = u128::from(self.0).saturating_mul(u128::from(tokens)).div_ceil(1_000_000);
        NanoDollars::new(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl Price {
    /// Nothing.
    #[must_use]
    pub fn free() -> Self {
        Self {
            input: PerMillion(0),
            output: PerMillion(0),
            cached: None,
            cache_write: None,
            cache_write_long: None,
            request: NanoDollars::default(),
            image: NanoDollars::default(),
            tiers: None,
        }
    }

    /// The higher of each price, whatever they depend on.
    #[must_use]
    pub fn dearer(&self, other: &Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cached: self.cached.max(other.cached),
            cache_write: self.cache_write.max(other.cache_write),
            cache_write_long: self.cache_write_long.max(other.cache_write_long),
            request: self.request.max(other.request),
            image: self.image.max(other.image),
            tiers: None,
        }
    }

    /// What an answer with this usage cost; `None` when prompt or answer were not counted, or it is not known which
    /// price holds. A part of the prompt is charged once: what was cached or written to a cache is not charged as an
    /// ordinary token too.
    #[must_use]
    pub fn cost(&self, usage: &TokenUsage, images: u64) -> Option<NanoDollars> {
        let (input, output) = (usage.input?, usage.output?);
        Some(self.at(input)?.flat_cost(usage, (input, output), images))
    }

    /// The price for a prompt of this many tokens.
    fn at(&self, input: u64) -> Option<&Self> {
        match &self.tiers {
            None if input >= LONG_PROMPT => None,
            None => Some(self),
            Some(tiers) => {
                let fitting = || tiers.iter().filter(|tier| tier.from <= input);
                if fitting().any(|tier| !tier.certain) {
                    return None;
                }
                Some(fitting().next_back().map_or(self, |tier| &tier.price))
            }
        }
    }

    fn flat_cost(&self, usage: &TokenUsage, (input, output): (u64, u64), images: u64) -> NanoDollars {
        let cached = usage.cached.unwrap_or(0).min(input);
        let written = usage.cache_write.unwrap_or(0).min(input.saturating_sub(cached));
        let long = usage.cache_write_long.unwrap_or(0).min(written);
        let plain = input.saturating_sub(cached).saturating_sub(written);
        let write = self.cache_write.unwrap_or(self.input);
        let parts = [
            self.input.of(plain),
            self.cached.unwrap_or(self.input).of(cached),
            write.of(written.saturating_sub(long)),
            self.cache_write_long.unwrap_or(write).of(long),
            self.output.of(output),
            self.request,
            times(self.image, images),
        ];
        parts.into_iter().fold(NanoDollars::default(), NanoDollars::saturating_add)
    }

    /// What a request can cost at most, when its prompt has at most `input` tokens and its answer at most `output`.
    #[must_use]
    pub fn bound(&self, input: u64, output: u64, images: u64) -> NanoDollars {
        let flat = self.flat_bound(input, output, images);
        match &self.tiers {
            None if input >= LONG_PROMPT => flat.saturating_add(flat),
            None => flat,
            Some(tiers) => {
                let fitting = tiers.iter().filter(|tier| tier.from <= input);
                fitting.map(|tier| tier.price.flat_bound(input, output, images)).fold(flat, NanoDollars::max)
            }
        }
    }

    fn flat_bound(&self, input: u64, output: u64, images: u64) -> NanoDollars {
        let dearest = [Some(self.input), self.cached, self.cache_write, self.cache_write_long];
        let dearest = dearest.into_iter().flatten().max().unwrap_or_default();
        dearest
            .of(input)
            .saturating_add(self.output.of(output))
            .saturating_add(self.request)
            .saturating_add(times(self.image, images))
    }
}

fn times(amount: NanoDollars, count: u64) -> NanoDollars {
    NanoDollars::new(amount.get().saturating_mul(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dollars(input: u64, output: u64, cached: u64, write: u64) -> Price {
        let milli = |milli: u64| PerMillion(milli * 1_000_000);
        Price {
            input: milli(input),
            output: milli(output),
            cached: Some(milli(cached)),
            cache_write: Some(milli(write)),
            ..Price::free()
        }
    }

    #[test]
    fn tokens_written_to_a_cache_are_charged_once() {
        // 3 $, 15 $, 0.30 $, 3.75 $ a million: 6 plain, 159,217 written, 2,745 answered.
        let price = dollars(3_000, 15_000, 300, 3_750);
        let usage = TokenUsage {
            input: Some(159_223),
            cache_write: Some(159_217),
            output: Some(2_745),
            ..TokenUsage::default()
        };
        assert_eq!(price.cost(&usage, 0), Some(NanoDollars::new(18_000 + 597_063_750 + 41_175_000)));
    }

    #[test]
    fn what_was_not_counted_is_not_free() {
        let price = dollars(1, 1, 1, 1);
        assert_eq!(price.cost(&TokenUsage { input: Some(1), ..TokenUsage::default() }, 0), None);
        assert_eq!(price.cost(&TokenUsage { output: Some(1), ..TokenUsage::default() }, 0), None);
    }

    #[test]
    fn no_answer_within_its_counts_costs_more_than_the_bound() {
        let price = dollars(3_000, 15_000, 300, 3_750);
        for (cached, write) in [(0, 0), (1_000, 0), (0, 1_000), (400, 600)] {
            let usage = TokenUsage {
                input: Some(1_000),
                cached: Some(cached),
                cache_write: Some(write),
                output: Some(50),
                ..TokenUsage::default()
            };
            assert!(price.cost(&usage, 0) <= Some(price.bound(1_000, 50, 0)));
        }
    }

    #[test]
    fn what_a_long_prompt_costs_is_not_known_unless_it_is_said() {
        let usage = |input| TokenUsage { input: Some(input), output: Some(1), ..TokenUsage::default() };
        let silent = dollars(3_000, 15_000, 300, 3_750);
        assert_eq!(silent.cost(&usage(199_999), 0), Some(NanoDollars::new(599_997_000 + 15_000)));
        assert_eq!(silent.cost(&usage(200_000), 0), None);
        let doubled = Price { input: PerMillion(6_000_000_000), output: PerMillion(30_000_000_000), ..silent.clone() };
        let cost = doubled.flat_cost(&usage(200_000), (200_000, 1), 0);
        assert!(silent.bound(200_000, 1, 0) >= cost && silent.bound(199_999, 1, 0) < cost);

        let flat = Price { tiers: Some(Vec::new()), ..silent.clone() };
        assert_eq!(flat.cost(&usage(1_000_000), 0), Some(NanoDollars::new(3_000_000_000 + 15_000)));
        let tier = |certain| Some(vec![Tier { from: 100_000, certain, price: doubled.clone() }]);
        let told = Price { tiers: tier(true), ..silent.clone() };
        assert_eq!(told.cost(&usage(99_999), 0), silent.cost(&usage(99_999), 0));
        assert_eq!(told.cost(&usage(100_000), 0), Some(NanoDollars::new(600_000_000 + 30_000)));
        assert_eq!(told.bound(99_999, 1, 0), silent.bound(99_999, 1, 0));
        assert!(Some(told.bound(300_000, 1, 0)) >= told.cost(&usage(300_000), 0));
        let open = Price { tiers: tier(false), ..silent };
        assert_eq!((open.cost(&usage(100_000), 0), open.bound(100_000, 1, 0)), (None, told.bound(100_000, 1, 0)));
    }

    #[test]
    fn a_fraction_of_a_nano_dollar_counts_as_one() {
        assert_eq!(PerMillion(1).of(1), NanoDollars::new(1));
        assert_eq!(PerMillion(u64::MAX).of(u64::MAX), NanoDollars::MAX);
    }
}
