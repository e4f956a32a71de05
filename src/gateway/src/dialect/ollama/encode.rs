//! The request.

use crate::dialect::conversation::{Call, Given, Return, Said, Turn, instructions, result_text, turns};
use crate::dialect::json::{Json, fields, milli};
use crate::dialect::wire::{Bound, EncodeError, Framing, Omit, Unsent, Wire, functions, output_bound};
use crate::route::Route;
use ouroboros_proto::agent::{Effort, ModelRequest, ToolChoice};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The largest count of a vision model in its library, for an image that is not scaled down.
const IMAGE_TOKENS: u64 = 16_384;

/// Fields that would change what is sent, or what it can cost.
const CLOSED: &[&str] = &["options.num_predict", "prompt", "raw", "suffix", "template", "truncate"];

pub(in crate::dialect) fn encode(route: &Route, request: &ModelRequest, omit: Omit<'_>) -> Result<Wire, EncodeError> {
    let turns = turns(route.id.as_str(), &request.messages, |id| !id.is_empty())?;
    let mut bound = Bound::new(IMAGE_TOKENS);
    let max = output_bound(route, request);
    let messages = Messages { bound: &mut bound, out: Vec::new() }.all(request, &turns);
    let mut body = fields! {
        "model": route.model.as_str(), "messages": messages, "stream": true, "truncate": false, "shift": false
    };
    tools(&mut body, request, &mut bound)?;
    let thinks = route.facts.reasoning != Some(false) && !omit.has("think") && !omit.has("thinking");
    if let Some(effort) = request.effort.filter(|_| thinks) {
        body.put("think", think(&route.model, effort));
    }
    if let Some(schema) = &request.output_schema {
        bound.schema(schema);
        body.put("format", schema.schema.clone());
    }
    let mut options = fields! { "num_predict": max };
    if let Some(window) = route.facts.window {
        options.put("num_ctx", window);
    }
    if let Some(temperature) = request.temperature_milli.filter(|_| !omit.has("temperature")) {
        options.put("temperature", milli(temperature));
    }
    if !request.stop.is_empty() && !omit.has("stop") {
        options.put("stop", json!(request.stop));
    }
    body.put("options", options);
    let path = "/api/chat".to_owned();
    let unsent = Unsent { path, headers: Vec::new(), body, framing: Framing::JsonLines, bound, bound_output: max };
    unsent.finish(&request.extra, CLOSED)
}

/// It has no word for a tool that must be called; that none may be is said by naming none.
fn tools(body: &mut Json, request: &ModelRequest, bound: &mut Bound) -> Result<(), EncodeError> {
    match request.tool_choice {
        ToolChoice::Auto => {}
        ToolChoice::None => return Ok(()),
        ToolChoice::Required | ToolChoice::Tool(_) => {
            return Err(EncodeError::Inexpressible("make the model call a tool"));
        }
    }
    let list = functions(&request.tools, bound);
    if !list.is_empty() {
        body.put("tools", list);
    }
    Ok(())
}

/// A switch; only gpt-oss has levels, and cannot be switched off.
fn think(model: &str, effort: Effort) -> Json {
    if !model.contains("gpt-oss") {
        return (effort != Effort::None).into();
    }
    match effort {
        Effort::None | Effort::Minimal | Effort::Low => "low".into(),
        Effort::Medium => "medium".into(),
        Effort::High | Effort::Max => "high".into(),
    }
}

struct Messages<'b> {
    bound: &'b mut Bound,
    out: Vec<Json>,
}

impl Messages<'_> {
    fn all(mut self, request: &ModelRequest, turns: &[Turn<'_>]) -> Vec<Json> {
        if let Some(system) = instructions(&request.instructions) {
            self.push(fields! { "role": "system", "content": system });
        }
        for turn in turns {
            match turn {
                Turn::User { returns, given } => self.user(returns, given),
                Turn::Model(said) => self.model(said),
            }
        }
        self.out
    }

    fn push(&mut self, message: Json) {
        self.bound.message();
        self.out.push(message);
    }

    fn user(&mut self, returns: &[Return<'_>], given: &[Given<'_>]) {
        for result in returns {
            let content = result_text(result);
            let message = fields! {
                "role": "tool", "content": content, "tool_name": result.name, "tool_call_id": result.id.as_ref()
            };
            self.push(message);
        }
        let (mut texts, mut images) = (Vec::new(), Vec::new());
        for result in returns {
            for (number, (_, data)) in result.images().enumerate() {
                if number == 0 {
                    texts.push(format!("Images from {}:", result.name));
                }
                self.bound.image(data);
                images.push(Json::from(data));
            }
        }
        for given in given {
            match given {
                Given::Text { text, .. } => texts.push((*text).to_owned()),
                Given::Image { data, .. } => {
                    self.bound.image(data);
                    images.push(Json::from(*data));
                }
            }
        }
        if texts.is_empty() && images.is_empty() {
            return;
        }
        let mut message = fields! { "role": "user", "content": texts.join("\n\n") };
        if !images.is_empty() {
            message.put("images", images);
        }
        self.push(message);
    }

    fn model(&mut self, said: &[Said<'_>]) {
        let (mut texts, mut calls) = (Vec::new(), Vec::new());
        let mut native: BTreeMap<&str, &RawValue> = BTreeMap::new();
        for said in said {
            match said {
                Said::Text { text, .. } | Said::Refusal(text) => texts.push(*text),
                Said::Call(call) => calls.push(tool_call(call)),
                Said::Reasoning(raw) | Said::Native(raw) => native.extend(object(raw)),
            }
        }
        let mut message = fields! { "role": "assistant", "content": texts.join("\n\n") };
        for (name, value) in native {
            // Thinking is wanted back only while tools are at work.
            let unwanted = name == "thinking" && calls.is_empty();
            if !unwanted && !matches!(name, "role" | "content" | "tool_calls") {
                message.put(name, Json::Raw(value.to_owned()));
            }
        }
        if !calls.is_empty() {
            message.put("tool_calls", calls);
        }
        self.push(message);
    }
}

fn object(raw: &RawValue) -> BTreeMap<&str, &RawValue> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

fn tool_call(call: &Call<'_>) -> Json {
    let arguments = Json::raw(&call.object()).unwrap_or_else(Json::object);
    let function = fields! { "name": call.name, "arguments": arguments };
    fields! { "id": call.id.as_ref(), "function": function }
}
