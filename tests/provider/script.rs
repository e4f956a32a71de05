//! The script: which request gets which answer. TOML; a field that is not known is an error, so that a misspelt rule is noticed.
//!
//! ```toml
//! seed = 7                          # of `probability`
//! keys = ["sk-good"]                # any other key is turned down; every key is good when this is absent
//! [models."gpt-x"]                  # for the catalogue
//! window = 128000
//! [prices."gpt-x"]                  # nano-dollars a token
//! input = 2500
//! output = 10000
//! [[rule]]                          # the first rule that fits answers; without one the last text of the user comes back
//! match = { model = "gpt-x", text = "weather", nth = 1 }
//! call = { tool = "weather", arguments = '{"city":"Oslo"}' }
//! ```
//!
//! Durations are in milliseconds or the word `forever`, and are the only time that passes.

use crate::money::Price;
use crate::rule::Rule;
use crate::wire::{Asked, Dialect, Endpoint};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A whole script.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// Of the rules with a probability.
    pub seed: u64,
    /// Keys that are accepted; all when empty.
    pub keys: Vec<String>,
    /// The catalogue.
    pub models: BTreeMap<String, Model>,
    /// What a model's tokens cost. A model that is not here costs nothing.
    pub prices: BTreeMap<String, Price>,
    /// In order of precedence.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
}

/// A model of the catalogue.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Model {
    /// Tokens of prompt and answer.
    pub window: u64,
    /// Most tokens of an answer.
    pub max_output: u64,
    /// Whether it calls tools.
    pub tools: bool,
    /// Whether it sees images.
    pub images: bool,
    /// Whether it thinks.
    pub reasoning: bool,
}

impl Default for Model {
    fn default() -> Self {
        Self { window: 128_000, max_output: 16_384, tools: true, images: true, reasoning: true }
    }
}

/// What a request must be for a rule to fit. Everything that is given must hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Match {
    /// The wire format.
    pub dialect: Option<Dialect>,
    /// What is asked for; only answers of models when absent.
    pub endpoint: Option<Endpoint>,
    /// The model's name.
    pub model: Option<String>,
    /// Contained in the last text of the user.
    pub text: Option<String>,
    /// Contained in the last turn of anybody, results of tools included.
    pub last: Option<String>,
    /// Contained anywhere in the body as it was sent.
    pub body: Option<String>,
    /// Headers with these values.
    pub headers: BTreeMap<String, String>,
    /// Only these, counted from 1, of the requests that fit in every other respect and that no rule before this one answered.
    pub nth: Nth,
}

/// One number or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Nth {
    /// One.
    One(u64),
    /// Several; any when empty.
    Many(Vec<u64>),
}

impl Default for Nth {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Nth {
    fn fits(&self, count: u64) -> bool {
        match self {
            Self::One(wanted) => *wanted == count,
            Self::Many(wanted) => wanted.is_empty() || wanted.contains(&count),
        }
    }
}

/// A script with what it has seen.
#[derive(Default)]
pub struct Live {
    /// All of it but the rules.
    pub script: Arc<Script>,
    rules: Vec<Seen>,
}

struct Seen {
    rule: Arc<Rule>,
    fitting: u64,
    fired: u64,
}

impl Script {
    /// Reads one.
    ///
    /// # Errors
    /// It is not TOML, or has a field that there is not.
    pub fn parse(text: &str) -> Result<Self, toml_edit::de::Error> {
        toml_edit::de::from_str(text)
    }
}

impl Live {
    /// One that has seen nothing.
    pub fn new(mut script: Script) -> Self {
        let seen = |rule| Seen { rule: Arc::new(rule), fitting: 0, fired: 0 };
        let rules = std::mem::take(&mut script.rules).into_iter().map(seen).collect();
        Self { script: Arc::new(script), rules }
    }

    /// The rule that answers; `None` when no rule fits. `number` counts requests.
    pub fn choose(&mut self, number: u64, asked: &Asked, header: &dyn Fn(&str) -> Option<String>) -> Option<Arc<Rule>> {
        let seed = self.script.seed;
        for (place, seen) in self.rules.iter_mut().enumerate() {
            let rule = &seen.rule;
            if !rule.when.fits(asked, header) || rule.times.is_some_and(|times| seen.fired >= times) {
                continue;
            }
            seen.fitting = seen.fitting.saturating_add(1);
            let drawn = rule.probability.is_none_or(|likely| draw(seed, place, number) < likely);
            if rule.when.nth.fits(seen.fitting) && drawn {
                seen.fired = seen.fired.saturating_add(1);
                return Some(Arc::clone(rule));
            }
        }
        None
    }
}

impl Match {
    fn fits(&self, asked: &Asked, header: &dyn Fn(&str) -> Option<String>) -> bool {
        let holds = |wanted: &Option<String>, text: &str| wanted.as_ref().is_none_or(|wanted| text.contains(wanted));
        self.dialect.is_none_or(|dialect| dialect == asked.dialect)
            && self.endpoint.unwrap_or(Endpoint::Chat) == asked.endpoint
            && self.model.as_ref().is_none_or(|model| *model == asked.model)
            && holds(&self.text, &asked.text)
            && holds(&self.last, &asked.last)
            && holds(&self.body, &asked.raw)
            && self.headers.iter().all(|(name, value)| header(name).as_ref() == Some(value))
    }
}

/// From 0 to 1, the same for the same arguments: the finaliser of SplitMix64.
fn draw(seed: u64, place: usize, number: u64) -> f64 {
    let place = u64::try_from(place).unwrap_or(u64::MAX);
    let mut z = seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ place.wrapping_mul(0xD1B5_4A32_D192_ED03);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    f64::from(u32::try_from(z >> 32).unwrap_or(u32::MAX)) / 4_294_967_296.0
}
