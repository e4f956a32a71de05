//! The request.

use super::items::Items;
use crate::dialect::conversation::{instructions, turns};
use crate::dialect::json::{Json, fields, milli};
use crate::dialect::wire::{Bound, EncodeError, Framing, Omit, Unsent, Wire, output_bound};
use crate::route::Route;
use ouroboros_proto::agent::{Effort, ModelRequest, ToolChoice, ToolSpec};
use serde_json::json;

/// The largest published count: a large image at one of the smaller models, whose tokens are as many as they are cheap.
const IMAGE_TOKENS: u64 = 50_000;
/// The least bound on an answer that is accepted.
const LEAST_OUTPUT: u32 = 16;

/// Fields that would change what is sent, or what it can cost.
const CLOSED: &[&str] = &["conversation", "instructions", "previous_response_id", "prompt", "store"];

pub(in crate::dialect) fn encode(route: &Route, request: &ModelRequest, omit: Omit<'_>) -> Result<Wire, EncodeError> {
    if !request.stop.is_empty() {
        return Err(EncodeError::Inexpressible("end an answer at a text"));
    }
    let turns = turns(route.id.as_str(), &request.messages, |id| !id.is_empty() && id.len() <= 64)?;
    let mut bound = Bound::new(IMAGE_TOKENS);
    let max = output_bound(route, request).max(LEAST_OUTPUT);
    let mut body = fields! { "model": route.model.as_str(), "stream": true, "store": false };
    if let Some(system) = instructions(&request.instructions) {
        body.put("instructions", system);
    }
    body.put("input", Items::new(&mut bound).all(&turns));
    body.put("max_output_tokens", max);
    tools(&mut body, request, &mut bound);
    let thinks = route.facts.reasoning != Some(false);
    if thinks && !omit.has("include") {
        body.put("include", json!(["reasoning.encrypted_content"]));
    }
    if let Some(effort) = request.effort.filter(|_| thinks && !omit.has("reasoning")) {
        let tame = omit.has("reasoning.effort=extreme") || omit.has("reasoning=extreme");
        reasoning(&mut body, effort, tame, omit);
    }
    if let Some(temperature) = request.temperature_milli.filter(|_| !omit.has("temperature")) {
        body.put("temperature", milli(temperature));
    }
    if let Some(schema) = &request.output_schema {
        bound.schema(schema);
        let format = fields! {
            "type": "json_schema", "name": schema.name.as_str(), "strict": true, "schema": schema.schema.clone()
        };
        body.put("text", fields! { "format": format });
    }
    if let Some(session) = request.session.as_deref().filter(|_| !omit.has("prompt_cache_key")) {
        body.put("prompt_cache_key", session);
    }
    let path = "/responses".to_owned();
    let unsent = Unsent { path, headers: Vec::new(), body, framing: Framing::Sse, bound, bound_output: max };
    unsent.finish(&request.extra, CLOSED)
}

fn reasoning(body: &mut Json, effort: Effort, tame: bool, omit: Omit<'_>) {
    let word = match (effort, tame) {
        (Effort::None | Effort::Minimal, true) => "low",
        (Effort::Max, true) => "high",
        (Effort::Max, false) => "xhigh",
        (effort, _) => effort.as_str(),
    };
    let mut reasoning = Json::object();
    if !omit.has("reasoning.effort") {
        reasoning.put("effort", word);
    }
    if !omit.has("reasoning.summary") && effort != Effort::None {
        reasoning.put("summary", "auto");
    }
    body.put("reasoning", reasoning);
}

fn tools(body: &mut Json, request: &ModelRequest, bound: &mut Bound) {
    if request.tools.is_empty() {
        return;
    }
    let list = request.tools.iter().map(|ToolSpec { name, description, parameters }| {
        bound.tool(name, description, parameters);
        // Strict is the default here, and takes only a part of JSON Schema.
        fields! {
            "type": "function",
            "name": name.as_str(),
            "description": description.as_str(),
            "parameters": parameters.clone(),
            "strict": false,
        }
    });
    body.put("tools", list.collect::<Vec<_>>());
    match &request.tool_choice {
        ToolChoice::Auto => {}
        ToolChoice::None => body.put("tool_choice", "none"),
        ToolChoice::Required => body.put("tool_choice", "required"),
        ToolChoice::Tool(name) => body.put("tool_choice", json!({ "type": "function", "name": name })),
    }
}
