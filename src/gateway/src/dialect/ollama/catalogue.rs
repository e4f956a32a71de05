//! The catalogue: `/api/tags` has the names, `/api/show` what is known of one.

use crate::dialect::models::{self, Models, ParseError, count, has, text};
use crate::price::Price;
use crate::route::{ModelFacts, Provider};
use serde_json::Value;

/// Where what is known of a model is asked for with `POST`, appended to the base URL; the body is [`show_body`].
pub const SHOW_PATH: &str = "/api/show";

/// What is sent to [`SHOW_PATH`].
#[must_use]
pub fn show_body(model: &str) -> Vec<u8> {
    serde_json::json!({ "model": model }).to_string().into_bytes()
}

pub(in crate::dialect) fn parse_tags(provider: &Provider, body: &[u8]) -> Result<Models, ParseError> {
    let json = models::json(body)?;
    let list = json.get("models").and_then(Value::as_array).ok_or(ParseError::Missing("models"))?;
    let facts = list.iter().filter_map(|model| {
        let model = text(model.get("model")).or_else(|| text(model.get("name")))?;
        Some(ModelFacts { model, price: provider.local.then(Price::free), ..ModelFacts::default() })
    });
    Ok(Models { models: facts.collect(), next: None })
}

/// What the answer of [`SHOW_PATH`] says of a model.
///
/// # Errors
/// When it is not such an answer.
pub fn parse_show(provider: &Provider, model: &str, body: &[u8]) -> Result<ModelFacts, ParseError> {
    let json = models::json(body)?;
    let info = json.get("model_info").and_then(Value::as_object).ok_or(ParseError::Missing("model_info"))?;
    let trained = info.iter().find(|(name, _)| name.ends_with(".context_length")).map(|(_, length)| length);
    // The owner may have set a smaller one, for the sake of memory.
    let set = json
        .get("parameters")
        .and_then(Value::as_str)
        .and_then(|text| text.lines().find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse::<u64>().ok()));
    let able = |word: &str| has(json.get("capabilities"), word);
    Ok(ModelFacts {
        model: model.to_owned(),
        title: None,
        window: [count(trained), set].into_iter().flatten().min(),
        max_output: None,
        tools: able("tools"),
        images: able("vision"),
        reasoning: able("thinking"),
        price: provider.local.then(Price::free),
    })
}
