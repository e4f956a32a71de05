//! The catalogue. OpenAI's own has ids only; compatible servers add what they know, each under its own names.

use crate::dialect::models::{self, Models, ParseError, count, has, text};
use crate::price::Price;
use crate::route::{ModelFacts, Provider};
use serde_json::Value;

pub(in crate::dialect) fn parse_models(provider: &Provider, body: &[u8]) -> Result<Models, ParseError> {
    let json = models::json(body)?;
    // Together gives the list itself.
    let list = json.get("data").unwrap_or(&json).as_array().ok_or(ParseError::Missing("data"))?;
    Ok(Models { models: list.iter().filter_map(|model| facts(provider, model)).collect(), next: None })
}

fn facts(provider: &Provider, model: &Value) -> Option<ModelFacts> {
    let id = text(model.get("id"))?;
    let of = |names: &[&str]| names.iter().find_map(|name| count(model.get(*name)));
    let within = |object: &str, name: &str| model.get(object).and_then(|object| object.get(name));
    let parameters = model.get("supported_parameters");
    let capable = |name: &str| within("capabilities", name).and_then(Value::as_bool);
    let modalities = within("architecture", "input_modalities").or_else(|| model.get("input_modalities"));
    let window = of(&["max_model_len", "context_window", "context_length", "max_context_length"]);
    // OpenRouter's own number is the largest; the endpoint that is asked first may have less.
    let endpoint = count(within("top_provider", "context_length"));
    Some(ModelFacts {
        title: text(model.get("name")).filter(|name| *name != id),
        window: [window.or_else(|| count(within("meta", "n_ctx"))), endpoint].into_iter().flatten().min(),
        max_output: count(within("top_provider", "max_completion_tokens"))
            .or_else(|| of(&["max_completion_tokens", "max_output_tokens"])),
        tools: has(parameters, "tools").or_else(|| capable("function_calling")),
        images: has(modalities, "image").or_else(|| capable("vision")),
        reasoning: has(parameters, "reasoning").or_else(|| capable("reasoning")),
        price: price(provider, model.get("pricing")),
        model: id,
    })
}

/// LM Studio's own list (`/api/v0/models`): it says what is a language model, and how much of its window is loaded.
///
/// # Errors
/// When it is no such list.
pub fn parse_lm_studio(body: &[u8]) -> Result<Vec<ModelFacts>, ParseError> {
    let json = models::json(body)?;
    let list = json.get("data").and_then(Value::as_array).ok_or(ParseError::Missing("data"))?;
    let facts = list.iter().filter_map(|model| {
        let kind = text(model.get("type"));
        let sees = match kind.as_deref() {
            Some("llm") | None => false,
            Some("vlm") => true,
            Some(_) => return None,
        };
        Some(ModelFacts {
            model: text(model.get("id"))?,
            window: count(model.get("loaded_context_length")).or_else(|| count(model.get("max_context_length"))),
            tools: has(model.get("capabilities"), "tool_use"),
            images: Some(sees),
            price: Some(Price::free()),
            ..ModelFacts::default()
        })
    });
    Ok(facts.collect())
}

fn price(provider: &Provider, prices: Option<&Value>) -> Option<Price> {
    if provider.local {
        return Some(Price::free());
    }
    let prices = prices?;
    models::price_a_token(prices).or_else(|| models::price_a_million(prices))
}
