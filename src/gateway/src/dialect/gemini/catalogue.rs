//! The catalogue: names and limits, no prices.

use crate::dialect::json::percent;
use crate::dialect::models::{self, Models, ParseError, count, has, text};
use crate::price::Price;
use crate::route::{ModelFacts, Provider};
use serde_json::Value;

pub(in crate::dialect) fn parse_models(provider: &Provider, body: &[u8]) -> Result<Models, ParseError> {
    let json = models::json(body)?;
    let list = json.get("models").and_then(Value::as_array).ok_or(ParseError::Missing("models"))?;
    let token = text(json.get("nextPageToken"));
    let next = token.map(|token| format!("/models?pageSize=1000&pageToken={}", percent(&token, b"")));
    Ok(Models { models: list.iter().filter_map(|model| facts(provider, model)).collect(), next })
}

/// Those that generate; others embed or only count.
fn facts(provider: &Provider, model: &Value) -> Option<ModelFacts> {
    let generates = has(model.get("supportedGenerationMethods"), "generateContent");
    let name = text(model.get("name"))?;
    generates.unwrap_or(true).then(|| ModelFacts {
        model: name.strip_prefix("models/").unwrap_or(&name).to_owned(),
        title: text(model.get("displayName")),
        // The prompt's own limit: the answer's comes on top of it, so it is never too much.
        window: count(model.get("inputTokenLimit")),
        max_output: count(model.get("outputTokenLimit")),
        tools: None,
        images: None,
        reasoning: model.get("thinking").and_then(Value::as_bool),
        price: provider.local.then(Price::free),
    })
}
