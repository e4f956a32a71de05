//! The catalogue: ids, names, and on newer servers limits and abilities. It has no prices.

use crate::dialect::json::percent;
use crate::dialect::models::{self, Models, ParseError, count, text};
use crate::price::Price;
use crate::route::{ModelFacts, Provider};
use serde_json::Value;

pub(in crate::dialect) fn parse_models(provider: &Provider, body: &[u8]) -> Result<Models, ParseError> {
    let json = models::json(body)?;
    let list = json.get("data").and_then(Value::as_array).ok_or(ParseError::Missing("data"))?;
    let more = json.get("has_more").and_then(Value::as_bool).unwrap_or(false);
    let last = text(json.get("last_id")).filter(|_| more);
    let next = last.map(|last| format!("/models?limit=1000&after_id={}", percent(&last, b"")));
    Ok(Models { models: list.iter().filter_map(|model| facts(provider, model)).collect(), next })
}

fn facts(provider: &Provider, model: &Value) -> Option<ModelFacts> {
    let able = |name: &str| model.get("capabilities")?.get(name)?.get("supported")?.as_bool();
    Some(ModelFacts {
        model: text(model.get("id"))?,
        title: text(model.get("display_name")),
        window: count(model.get("max_input_tokens")),
        max_output: count(model.get("max_tokens")),
        tools: None,
        images: able("image_input"),
        reasoning: able("thinking"),
        price: provider.local.then(Price::free),
    })
}
