//! What is sent, and how the answer is framed.

use super::json::{Json, fields};
use crate::route::Route;
use ouroboros_proto::agent::{ModelRequest, OutputSchema, ToolSpec};
use serde_json::{Map, Value};

/// Most tokens of an answer when neither the request nor the model's facts name a bound.
pub const DEFAULT_MAX_OUTPUT: u32 = 8_192;

/// A request as it is sent with `POST`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wire {
    /// Appended to the provider's base URL; with a query where there is one.
    pub path: String,
    /// Without the key.
    pub headers: Vec<(&'static str, String)>,
    /// JSON.
    pub body: Vec<u8>,
    /// How the answer's stream is framed.
    pub framing: Framing,
    /// The prompt has at most this many tokens.
    pub bound_input: u64,
    /// The answer has at most this many tokens, thinking included.
    pub bound_output: u64,
    /// Images in the prompt.
    pub images: u64,
}

/// How a stream of events is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// A JSON text a line.
    JsonLines,
}

/// A server-sent event, or a line of JSON. Comments and empty lines are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The event's name, where the frame has one.
    pub name: Option<String>,
    /// Its data: all `data` lines, joined with line feeds.
    pub data: String,
}

impl Event {
    /// An event without a name.
    #[must_use]
    pub fn data(data: impl Into<String>) -> Self {
        Self { name: None, data: data.into() }
    }
}

/// Why a request cannot be said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// There is nothing to answer.
    #[error("the conversation is empty")]
    Empty,
    /// A part stands where it has no meaning.
    #[error("{0}")]
    Misplaced(&'static str),
    /// The format has no word for it, and without it the answer would be another.
    #[error("this route cannot {0}")]
    Inexpressible(&'static str),
    /// A field of `extra` decides what is sent or what it can cost.
    #[error("the extra field `{0}` is not open: it would change what is sent or what it can cost at most")]
    Closed(String),
    /// The provider accepts no spelling of the bound on the answer.
    #[error("the provider accepts no bound on the answer's tokens")]
    Unbounded,
    /// It could not be written as JSON.
    #[error("the request could not be written: {0}")]
    Unwritable(String),
}

/// Fields that a request leaves out because its provider does not accept them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Omit<'a>(pub(super) &'a [String]);

impl Omit<'_> {
    pub(super) fn has(self, name: &str) -> bool {
        self.0.iter().any(|omitted| omitted == name)
    }

    pub(super) fn any(self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }
}

/// Tools as most formats list them.
pub(super) fn functions(tools: &[ToolSpec], bound: &mut Bound) -> Vec<Json> {
    let list = tools.iter().map(|ToolSpec { name, description, parameters }| {
        bound.tool(name, description, parameters);
        let function = fields! {
            "name": name.as_str(), "description": description.as_str(), "parameters": parameters.clone()
        };
        fields! { "type": "function", "function": function }
    });
    list.collect()
}

/// Most tokens of the answer: as asked, at most what the model can.
pub(super) fn output_bound(route: &Route, request: &ModelRequest) -> u32 {
    let able = route.facts.max_output.map(|max| u32::try_from(max).unwrap_or(u32::MAX));
    let asked = request.max_output_tokens.unwrap_or(DEFAULT_MAX_OUTPUT);
    able.map_or(asked, |able| asked.min(able)).max(1)
}

/// What the tokens of a prompt are bounded with, besides its bytes.
///
/// A token of every tokenizer in use stands for at least a byte of text, so the bytes of the body (its JSON is never shorter than the
/// text in it) bound the text. What providers add is not in the body, hence:
/// * 1,024 a request, and as many more with tools: role markers, a system prompt that a model's template puts in of itself (about 600
///   for the longest in use), hidden instructions for tools (735 at most as published: Anthropic, a forced tool of an old model);
/// * 16 a message and 16 a part: the markers around it, a handful each;
/// * the JSON of tools and of the answer's schema counted once more, with 64 each: templates show a schema indented, or as types;
/// * a fixed number an image instead of its bytes, by dialect, see [`Bound::new`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    image: u64,
    images: u64,
    image_bytes: u64,
    messages: u64,
    tools: u64,
    tool_bytes: u64,
}

impl Bound {
    const REQUEST: u64 = 1_024;
    const WITH_TOOLS: u64 = 1_024;
    const MESSAGE: u64 = 16;
    const TOOL: u64 = 64;

    /// With `image` tokens an image.
    pub(super) const fn new(image: u64) -> Self {
        Self { image, images: 0, image_bytes: 0, messages: 0, tools: 0, tool_bytes: 0 }
    }

    /// A message, or a part of one.
    pub(super) const fn message(&mut self) {
        self.messages = self.messages.saturating_add(1);
    }

    /// An image with this base64 text.
    pub(super) fn image(&mut self, data: &str) {
        self.images = self.images.saturating_add(1);
        self.image_bytes = self.image_bytes.saturating_add(length(data.len()));
    }

    /// The schema of the answer.
    pub(super) fn schema(&mut self, schema: &OutputSchema) {
        self.tool(&schema.name, "", &schema.schema);
    }

    /// A tool.
    pub(super) fn tool(&mut self, name: &str, description: &str, schema: &Value) {
        self.tools = self.tools.saturating_add(1);
        let bytes = name.len().saturating_add(description.len()).saturating_add(schema.to_string().len());
        self.tool_bytes = self.tool_bytes.saturating_add(length(bytes));
    }

    pub(super) const fn images(&self) -> u64 {
        self.images
    }

    /// For a body of this many bytes.
    pub(super) fn of(&self, body: usize) -> u64 {
        let tools = self.tools.saturating_mul(Self::TOOL).saturating_add(self.tool_bytes);
        length(body)
            .saturating_sub(self.image_bytes)
            .saturating_add(self.images.saturating_mul(self.image))
            .saturating_add(self.messages.saturating_mul(Self::MESSAGE))
            .saturating_add(tools)
            .saturating_add(Self::REQUEST)
            .saturating_add(if self.tools == 0 { 0 } else { Self::WITH_TOOLS })
    }
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// A request that is being written: its body with everything but the extra fields.
pub(super) struct Unsent {
    pub(super) path: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Json,
    pub(super) framing: Framing,
    pub(super) bound: Bound,
    pub(super) bound_output: u32,
}

/// Fields that no format opens: what is asked of which model, how it comes back, how often it is answered, what a token costs, and
/// what else is put into the prompt.
const CLOSED: &[&str] = &[
    "background",
    "contents",
    "inference_geo",
    "input",
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "messages",
    "model",
    "n",
    "service_tier",
    "speed",
    "stream",
    "system",
    "tools",
];

impl Unsent {
    /// Sets the extra fields, objects into objects, except those in `closed` (dotted names) and in [`CLOSED`]; and writes it.
    pub(super) fn finish(mut self, extra: &Map<String, Value>, closed: &[&str]) -> Result<Wire, EncodeError> {
        for (name, value) in extra {
            if let Some(name) = closed_field(name, value, closed) {
                return Err(EncodeError::Closed(name));
            }
            self.body.merge(name, value);
        }
        let body = serde_json::to_vec(&self.body).map_err(|error| EncodeError::Unwritable(error.to_string()))?;
        let accept = match self.framing {
            Framing::Sse => "text/event-stream",
            Framing::JsonLines => "application/x-ndjson",
        };
        let mut headers = vec![("content-type", "application/json".to_owned()), ("accept", accept.to_owned())];
        headers.append(&mut self.headers);
        Ok(Wire {
            bound_input: self.bound.of(body.len()),
            bound_output: u64::from(self.bound_output),
            images: self.bound.images(),
            path: self.path,
            headers,
            body,
            framing: self.framing,
        })
    }
}

/// The closed field that `name` sets, if it does.
fn closed_field(name: &str, value: &Value, closed: &[&str]) -> Option<String> {
    if CLOSED.contains(&name) || closed.contains(&name) {
        return Some(name.to_owned());
    }
    let inner = closed.iter().filter_map(|path| path.strip_prefix(name)?.strip_prefix('.'));
    match value {
        Value::Object(fields) => {
            inner.into_iter().find(|field| fields.contains_key(*field)).map(|field| format!("{name}.{field}"))
        }
        // Anything but an object would replace the object that holds the closed field.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            inner.into_iter().next().map(|_| name.to_owned())
        }
    }
}
