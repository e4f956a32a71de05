//! The request.

use super::contents::Contents;
use super::generation;
use crate::dialect::conversation::{instructions, turns};
use crate::dialect::json::{Json, fields, milli, percent};
use crate::dialect::wire::{Bound, EncodeError, Framing, Omit, Unsent, Wire, output_bound};
use crate::route::Route;
use ouroboros_proto::agent::{Effort, ModelRequest, ToolChoice, ToolSpec};
use serde_json::{Map, Value, json};

/// The most that one image counts: sixteen tiles of 258.
const IMAGE_TOKENS: u64 = 5_000;

/// Fields that would change what is sent, or what it can cost.
const CLOSED: &[&str] = &[
    "cachedContent",
    "generationConfig.candidateCount",
    "generationConfig.maxOutputTokens",
    "generationConfig.responseModalities",
    "serviceTier",
    "systemInstruction",
];

/// Objects with fields of the API's own below them. What stands below other fields, schemas say, has names of the
/// owner's.
const OBJECTS: &[&str] = &["generationConfig", "thinkingConfig", "toolConfig", "functionCallingConfig"];

pub(in crate::dialect) fn encode(route: &Route, request: &ModelRequest, omit: Omit<'_>) -> Result<Wire, EncodeError> {
    let turns = turns(route.id.as_str(), &request.messages, |id| !id.is_empty())?;
    let mut bound = Bound::new(IMAGE_TOKENS);
    let max = output_bound(route, request);
    let mut body = Json::object();
    if let Some(system) = instructions(&request.instructions) {
        body.put("systemInstruction", json!({ "parts": [{ "text": system }] }));
    }
    body.put("contents", Contents::new(&route.model, &mut bound).all(&turns));
    tools(&mut body, request, &mut bound);
    let mut config = fields! { "maxOutputTokens": max };
    if let Some(temperature) = request.temperature_milli.filter(|_| !omit.any(&["temperature"])) {
        config.put("temperature", milli(temperature));
    }
    if !request.stop.is_empty() && !omit.any(&["stopSequences", "stop_sequences"]) {
        config.put("stopSequences", json!(request.stop));
    }
    if let Some(schema) = &request.output_schema {
        bound.schema(schema);
        config.put("responseMimeType", "application/json");
        config.put("responseJsonSchema", schema.schema.clone());
    }
    let no_thinking = omit.0.iter().any(|name| name.to_lowercase().contains("think"));
    let thoughts = !omit.any(&["includeThoughts", "include_thoughts"]);
    if let Some(effort) = request.effort.filter(|_| route.facts.reasoning != Some(false) && !no_thinking)
        && let Some(thinking) = thinking(&route.model, effort, thoughts)
    {
        config.put("thinkingConfig", thinking);
    }
    body.put("generationConfig", config);
    let model = route.model.strip_prefix("models/").unwrap_or(&route.model);
    let path = if model.contains('/') { percent(model, b"/@:") } else { format!("models/{}", percent(model, b"@:")) };
    let path = format!("/{path}:streamGenerateContent?alt=sse");
    let unsent = Unsent { path, headers: Vec::new(), body, framing: Framing::Sse, bound, bound_output: max };
    unsent.finish(&camel(&request.extra), CLOSED)
}

/// The fields in the one of the API's two spellings in which they are sent here: `generation_config` is
/// `generationConfig`.
fn camel(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    for (name, value) in fields {
        let name = camel_name(name);
        match (out.get_mut(&name), value) {
            (before, Value::Object(inner)) if OBJECTS.contains(&name.as_str()) => {
                let mut inner = camel(inner);
                match before {
                    Some(Value::Object(before)) => before.append(&mut inner),
                    Some(_) | None => drop(out.insert(name, Value::Object(inner))),
                }
            }
            (_, value) => drop(out.insert(name, value.clone())),
        }
    }
    out
}

fn camel_name(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let mut letters = word.chars();
        let head = letters.next().map(|letter| letter.to_ascii_uppercase());
        name + &head.into_iter().chain(letters).collect::<String>()
    })
}

fn tools(body: &mut Json, request: &ModelRequest, bound: &mut Bound) {
    if request.tools.is_empty() {
        return;
    }
    let list = request.tools.iter().map(|ToolSpec { name, description, parameters }| {
        bound.tool(name, description, parameters);
        fields! {
            "name": name.as_str(),
            "description": description.as_str(),
            "parametersJsonSchema": parameters.clone(),
        }
    });
    let declarations = fields! { "functionDeclarations": list.collect::<Vec<_>>() };
    body.put("tools", vec![declarations]);
    let config = match &request.tool_choice {
        ToolChoice::Auto => return,
        ToolChoice::None => json!({ "mode": "NONE" }),
        ToolChoice::Required => json!({ "mode": "ANY" }),
        ToolChoice::Tool(name) => json!({ "mode": "ANY", "allowedFunctionNames": [name] }),
    };
    body.put("toolConfig", fields! { "functionCallingConfig": config });
}

/// From the third generation on a level, before it a budget, before 2.5 nothing.
fn thinking(model: &str, effort: Effort, thoughts: bool) -> Option<Json> {
    if !model.contains("gemini") {
        return None;
    }
    let pro = model.contains("-pro");
    let shown = |config: Json| {
        if effort == Effort::None || !thoughts { config } else { config.with("includeThoughts", true) }
    };
    match generation(model) {
        Some(0..=1) => None,
        Some(2) if !model.contains("gemini-2.5") => None,
        Some(2) => {
            let tokens: u32 = match (effort, pro) {
                (Effort::None, false) => 0,
                // The large one cannot be kept from thinking.
                (Effort::None, true) => 128,
                (Effort::Minimal, _) => 512,
                (Effort::Low, _) => 2_048,
                (Effort::Medium, _) => 8_192,
                (Effort::High, _) => 16_384,
                (Effort::Max, false) => 24_576,
                (Effort::Max, true) => 32_768,
            };
            Some(shown(fields! { "thinkingBudget": tokens }))
        }
        // Names without a version mean the latest.
        Some(_) | None => {
            let level = match effort {
                Effort::None | Effort::Minimal if !pro => "minimal",
                Effort::None | Effort::Minimal | Effort::Low => "low",
                Effort::Medium if model.contains("gemini-3-pro") => "high",
                Effort::Medium => "medium",
                Effort::High | Effort::Max => "high",
            };
            Some(shown(fields! { "thinkingLevel": level }))
        }
    }
}
