//! The request.

use super::messages::Messages;
use super::{VERSION, thinking};
use crate::dialect::conversation::{Marks, turns};
use crate::dialect::json::{Json, fields, milli};
use crate::dialect::wire::{Bound, EncodeError, Framing, Omit, Unsent, Wire, output_bound};
use crate::route::Route;
use ouroboros_proto::agent::{ModelRequest, ToolChoice, ToolSpec};
use serde_json::json;

/// The most that one image counts, at the largest size that is not scaled down: 4,784.
const IMAGE_TOKENS: u64 = 5_000;

/// Fields that would change what is sent, or what it can cost.
const CLOSED: &[&str] = &["container", "fallbacks", "mcp_servers"];

pub(in crate::dialect) fn encode(route: &Route, request: &ModelRequest, omit: Omit<'_>) -> Result<Wire, EncodeError> {
    let turns = turns(route.id.as_str(), &request.messages, id_fits)?;
    let mut bound = Bound::new(IMAGE_TOKENS);
    let max = output_bound(route, request);
    let marks = (!omit.has("cache_control")).then(|| Marks::new(&request.instructions, &turns));
    let mut messages = Messages::new(marks, &mut bound);
    let system = messages.system(&request.instructions);
    let messages = messages.all(&turns);
    let mut body = fields! { "model": route.model.as_str(), "max_tokens": max, "stream": true };
    if !system.is_empty() {
        body.put("system", system);
    }
    body.put("messages", messages);
    tools(&mut body, request, &mut bound);
    let thinking = thinking::choose(route, request, &turns, max, omit);
    let thinks = thinking.thinks();
    let config = thinking.put(&mut body, omit);
    let format = request.output_schema.as_ref().map(|schema| {
        bound.schema(schema);
        fields! { "type": "json_schema", "schema": schema.schema.clone() }
    });
    if config.is_some() || format.is_some() {
        body.put("output_config", Json::object().with_some("effort", config).with_some("format", format));
    }
    // A model that thinks takes no temperature but its own.
    if let Some(temperature) = request.temperature_milli.filter(|_| !thinks && !omit.has("temperature")) {
        body.put("temperature", milli(temperature));
    }
    if !request.stop.is_empty() && !omit.has("stop_sequences") {
        body.put("stop_sequences", json!(request.stop));
    }
    let headers = vec![("anthropic-version", VERSION.to_owned())];
    let path = "/messages".to_owned();
    let unsent = Unsent { path, headers, body, framing: Framing::Sse, bound, bound_output: max };
    unsent.finish(&request.extra, CLOSED)
}

fn id_fits(id: &str) -> bool {
    !id.is_empty() && id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

fn tools(body: &mut Json, request: &ModelRequest, bound: &mut Bound) {
    if request.tools.is_empty() {
        return;
    }
    let list = request.tools.iter().map(|ToolSpec { name, description, parameters }| {
        bound.tool(name, description, parameters);
        fields! {
            "name": name.as_str(), "description": description.as_str(), "input_schema": parameters.clone()
        }
    });
    body.put("tools", list.collect::<Vec<_>>());
    match &request.tool_choice {
        ToolChoice::Auto => {}
        ToolChoice::None => body.put("tool_choice", json!({ "type": "none" })),
        ToolChoice::Required => body.put("tool_choice", json!({ "type": "any" })),
        ToolChoice::Tool(name) => body.put("tool_choice", json!({ "type": "tool", "name": name })),
    }
}
