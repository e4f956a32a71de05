//! The request.

use super::Flavour;
use super::messages::Messages;
use crate::dialect::conversation::{Marks, turns};
use crate::dialect::json::{Json, fields, milli};
use crate::dialect::wire::{Bound, EncodeError, Framing, Omit, Unsent, Wire, functions, output_bound};
use crate::route::Route;
use ouroboros_proto::agent::{Effort, ModelRequest, OutputSchema, ToolChoice};
use serde_json::json;

/// The largest published count: a large image at one of the smaller models, whose tokens are as many as they are cheap.
const IMAGE_TOKENS: u64 = 50_000;

/// Fields that would change what is sent, or what it can cost.
const CLOSED: &[&str] = &[
    "audio",
    "best_of",
    "functions",
    "modalities",
    "models",
    "plugins",
    "prediction",
    "prompt",
    "route",
    "stream_options",
    "usage",
    "web_search_options",
];

pub(in crate::dialect) fn encode(route: &Route, request: &ModelRequest, omit: Omit<'_>) -> Result<Wire, EncodeError> {
    let flavour = Flavour::of(&route.provider);
    let id_fits: fn(&str) -> bool = match flavour {
        Flavour::OpenAi => |id| !id.is_empty() && id.len() <= 40,
        Flavour::OpenRouter | Flavour::Compatible => |id| !id.is_empty(),
    };
    let turns = turns(route.id.as_str(), &request.messages, id_fits)?;
    let mut bound = Bound::new(IMAGE_TOKENS);
    let marked = flavour == Flavour::OpenRouter && route.model.starts_with("anthropic/");
    let marks = marked.then(|| Marks::new(&request.instructions, &turns));
    let messages = Messages::new(flavour, marks, omit, &mut bound).all(&request.instructions, &turns);
    let max = output_bound(route, request);
    let mut body = fields! { "model": route.model.as_str(), "messages": messages, "stream": true };
    if !omit.has("stream_options") {
        body.put("stream_options", json!({ "include_usage": true }));
    }
    body.put(max_field(flavour, omit)?, max);
    tools(&mut body, request, &mut bound);
    if let Some(temperature) = request.temperature_milli.filter(|_| !omit.has("temperature")) {
        body.put("temperature", milli(temperature));
    }
    if !request.stop.is_empty() && !omit.has("stop") {
        body.put("stop", json!(request.stop));
    }
    if let Some(schema) = &request.output_schema {
        bound.schema(schema);
        body.put("response_format", response_format(schema));
    }
    if route.facts.reasoning != Some(false) && !omit.has("reasoning_effort") && !omit.has("reasoning") {
        let tame = omit.has("reasoning_effort=extreme") || omit.has("reasoning=extreme");
        effort(&mut body, flavour, request.effort, tame);
    }
    if let Some(session) = &request.session {
        session_fields(&mut body, flavour, session, omit);
    }
    if flavour == Flavour::OpenRouter {
        body.put("usage", json!({ "include": true }));
    }
    let path = "/chat/completions".to_owned();
    let unsent = Unsent { path, headers: Vec::new(), body, framing: Framing::Sse, bound, bound_output: max };
    unsent.finish(&request.extra, CLOSED)
}

/// The name of the bound: OpenAI's own, unless the server takes only the other.
fn max_field(flavour: Flavour, omit: Omit<'_>) -> Result<&'static str, EncodeError> {
    let names = match flavour {
        Flavour::OpenAi => ["max_completion_tokens", "max_tokens"],
        Flavour::OpenRouter | Flavour::Compatible => ["max_tokens", "max_completion_tokens"],
    };
    names.into_iter().find(|name| !omit.has(name)).ok_or(EncodeError::Unbounded)
}

fn tools(body: &mut Json, request: &ModelRequest, bound: &mut Bound) {
    if request.tools.is_empty() {
        return;
    }
    body.put("tools", functions(&request.tools, bound));
    match &request.tool_choice {
        ToolChoice::Auto => {}
        ToolChoice::None => body.put("tool_choice", "none"),
        ToolChoice::Required => body.put("tool_choice", "required"),
        ToolChoice::Tool(name) => {
            body.put("tool_choice", json!({ "type": "function", "function": { "name": name } }));
        }
    }
}

fn response_format(OutputSchema { name, schema }: &OutputSchema) -> Json {
    let inner = fields! { "name": name.as_str(), "strict": true, "schema": schema.clone() };
    fields! { "type": "json_schema", "json_schema": inner }
}

/// The nearest word: `tame` are those that every model with such a field knows.
fn effort(body: &mut Json, flavour: Flavour, effort: Option<Effort>, tame: bool) {
    let Some(effort) = effort else { return };
    let word = match (effort, flavour, tame) {
        (Effort::None | Effort::Minimal | Effort::Low, _, true) => "low",
        (Effort::High | Effort::Max, _, true) => "high",
        (Effort::Minimal, Flavour::Compatible, false) => "low",
        (Effort::Max, Flavour::Compatible, false) => "high",
        (Effort::Max, Flavour::OpenAi | Flavour::OpenRouter, false) => "xhigh",
        (effort, _, _) => effort.as_str(),
    };
    match flavour {
        Flavour::OpenRouter => body.put("reasoning", json!({ "effort": word })),
        Flavour::OpenAi | Flavour::Compatible => body.put("reasoning_effort", word),
    }
}

fn session_fields(body: &mut Json, flavour: Flavour, session: &str, omit: Omit<'_>) {
    let name = match flavour {
        Flavour::OpenAi => "prompt_cache_key",
        Flavour::OpenRouter => "session_id",
        Flavour::Compatible => return,
    };
    if !omit.has(name) {
        body.put(name, session);
    }
}
