//! What a provider's catalogue says.

use super::decimal;
use crate::price::{PerMillion, Price};
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
pub(super) fn count(value: Option<&Value>) -> Option<u64> {
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
pub(super) fn price_a_token(prices: &Value) -> Option<Price> {
    let of = |name: &str| decimal::dollars_a_token(&decimal_text(prices.get(name))?);
    let output = of("completion")?;
    Some(Price {
        input: of("prompt")?,
        // Where thinking has a price of its own the dearer one bounds both.
        output: of("internal_reasoning").map_or(output, |thinking| thinking.max(output)),
        cached: of("input_cache_read"),
        cache_write: of("input_cache_write"),
        cache_write_long: None,
        request: amount(prices.get("request"))?,
        image: amount(prices.get("image"))?,
    })
}

/// An amount that is nothing when it is not named, and unknown when it cannot be read.
fn amount(value: Option<&Value>) -> Option<NanoDollars> {
    decimal_text(value).map_or(Some(NanoDollars::default()), |text| decimal::dollars(&text))
}

/// Prices as dollars a million tokens, `input` and `output`.
pub(super) fn price_a_million(prices: &Value) -> Option<Price> {
    let of = |name: &str| -> Option<PerMillion> { decimal::dollars_a_million(&decimal_text(prices.get(name))?) };
    Some(Price { input: of("input")?, output: of("output")?, cached: of("cached_input"), ..Price::free() })
}
