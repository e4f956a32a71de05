//! What a provider's catalogue says.

use super::decimal;
use crate::price::{PerMillion, Price, Tier};
use crate::route::ModelFacts;
use ouroboros_proto::kind::NanoDollars;
use serde_json::Value;

/// A page of a catalogue.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Models {
    /// What it says of each model that can hold a conversation, as far as that can be told.
    pub models: Vec<ModelFacts>,
    /// The path of the next page, appended to the base URL; `None` on the last one.
    pub next: Option<String>,
}

/// It is no catalogue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// It is not JSON.
    #[error("the catalogue is not JSON: {0}")]
    Json(String),
    /// It has no list of models where one belongs.
    #[error("the catalogue has no list `{0}`")]
    Missing(&'static str),
}

/// The JSON of a catalogue.
pub(super) fn json(body: &[u8]) -> Result<Value, ParseError> {
    serde_json::from_slice(body).map_err(|error| ParseError::Json(error.to_string()))
}

/// A positive count, as a number or as digits.
pub(crate) fn count(value: Option<&Value>) -> Option<u64> {
    let value = value?;
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).filter(|count| *count > 0)
}

/// A text that is not empty.
pub(super) fn text(value: Option<&Value>) -> Option<String> {
    value?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Whether a list of words has this one; `None` when there is no list.
pub(super) fn has(value: Option<&Value>, word: &str) -> Option<bool> {
    Some(value?.as_array()?.iter().any(|item| item.as_str() == Some(word)))
}

/// Decimal text of a number or a string.
fn decimal_text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Prices as dollars a token under the names of OpenRouter. Unknown when one of the two main prices is, or is negative (the mark of a
/// router whose price depends on where it goes).
///
/// `overrides` are prices that hold under conditions; what one does not name is as usual, and of those that fit the
/// later one counts. Source: OpenRouter's API reference, "PricingOverride".
pub(super) fn price_a_token(prices: &Value) -> Option<Price> {
    let usual = named(prices, None)?;
    let tiers = prices.get("overrides").and_then(Value::as_array).map(|overrides| tiers(&usual, overrides));
    Some(Price { tiers, ..usual })
}

/// The prices that are named here; of others the usual ones.
fn named(prices: &Value, usual: Option<&Price>) -> Option<Price> {
    let of = |name: &str| decimal::dollars_a_token(&decimal_text(prices.get(name))?);
    let output = of("completion").or(usual.map(|usual| usual.output))?;
    let amount = |name: &str, usual: Option<NanoDollars>| match decimal_text(prices.get(name)) {
        // Nothing when nobody names it, and unknown when it cannot be read.
        None => Some(usual.unwrap_or_default()),
        Some(text) => decimal::dollars(&text),
    };
    Some(Price {
        input: of("prompt").or(usual.map(|usual| usual.input))?,
        // Where thinking has a price of its own the dearer one bounds both.
        output: of("internal_reasoning").map_or(output, |thinking| thinking.max(output)),
        cached: of("input_cache_read").or(usual.and_then(|usual| usual.cached)),
        cache_write: of("input_cache_write").or(usual.and_then(|usual| usual.cache_write)),
        cache_write_long: of("input_cache_write_1h").or(usual.and_then(|usual| usual.cache_write_long)),
        request: amount("request", usual.map(|usual| usual.request))?,
        image: amount("image", usual.map(|usual| usual.image))?,
        tiers: None,
    })
}

/// Each with what those before it say where it says nothing. What cannot be read, conditions other than the prompt's
/// length, and lengths that are not in order leave open what a request costs; such a tier has the highest of each price
/// that it may be.
fn tiers(usual: &Price, overrides: &[Value]) -> Vec<Tier> {
    let mut list: Vec<Tier> = Vec::new();
    for one in overrides {
        let said = one.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let conditions = said.map(|(name, _)| name.as_str()).filter(|name| !PRICES.contains(name));
        let from = count(one.get("min_prompt_tokens")).unwrap_or(0);
        let before = list.last().map_or(usual, |tier| &tier.price);
        let price = named(one, Some(before));
        let in_order = list.last().is_none_or(|last| last.certain && last.from <= from);
        let certain = price.is_some() && in_order && from > 0 && conditions.eq(["min_prompt_tokens"]);
        let price = price.unwrap_or_else(|| before.clone());
        let price = if certain { price } else { price.dearer(before) };
        list.push(Tier { from, certain, price });
    }
    list
}

/// What has a price. Any other name in an override is taken for a condition.
const PRICES: [&str; 15] = [
    "audio",
    "audio_output",
    "completion",
    "discount",
    "image",
    "image_output",
    "image_token",
    "input_audio_cache",
    "input_cache_read",
    "input_cache_write",
    "input_cache_write_1h",
    "internal_reasoning",
    "prompt",
    "request",
    "web_search",
];

/// Prices as dollars a million tokens, `input` and `output`.
pub(super) fn price_a_million(prices: &Value) -> Option<Price> {
    let of = |name: &str| -> Option<PerMillion> { decimal::dollars_a_million(&decimal_text(prices.get(name))?) };
    Some(Price { input: of("input")?, output: of("output")?, cached: of("cached_input"), ..Price::free() })
}
