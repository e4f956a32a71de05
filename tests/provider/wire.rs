//! The wire formats: which path belongs to which, and what each must be able to say.

use crate::answer::Answer;
use crate::fault::Fault;
use crate::frames::Frames;
use crate::script::Script;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A wire format, with the habits of who speaks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// OpenAI's chat completions.
    Openai,
    /// The same as servers on one's own machine speak it.
    Compatible,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// OpenRouter's chat completions.
    Openrouter,
    /// Ollama's own.
    Ollama,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    /// A model's answer.
    Chat,
    /// The catalogue.
    Models,
    /// One model of Ollama.
    Show,
    /// What an earlier answer of OpenRouter came to.
    Generation,
    /// What OpenRouter says of a key.
    Key,
}

/// Where a request goes.
#[derive(Debug, Clone)]
pub struct Route {
    /// The wire format.
    pub dialect: Dialect,
    /// What is asked for.
    pub endpoint: Endpoint,
    /// The model or the id that the address names.
    pub named: Option<String>,
    /// Whether the address says that the answer is streamed.
    pub streams: Option<bool>,
}

/// What is asked.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The wire format.
    pub dialect: Dialect,
    /// What is asked for.
    pub endpoint: Endpoint,
    /// The model's name.
    pub model: String,
    /// Whether the answer comes in pieces.
    pub stream: bool,
    /// Whether usage is told in a stream.
    pub include_usage: bool,
    /// The last text of the user.
    pub text: String,
    /// The text of the last turn, whoever spoke.
    pub last: String,
    /// Bytes of text that the model reads.
    pub prompt: usize,
    /// Most tokens of the answer.
    pub max_output: Option<u64>,
    /// The body as it was sent.
    pub raw: String,
}

/// How a dialect speaks.
pub trait Speaks: Sync {
    /// Reads a request. A field that is missing or of another kind is as if it were empty: the script decides what is turned down.
    fn ask(&self, route: &Route, body: &Value) -> Asked;
    /// The id of an answer.
    fn id(&self, tail: &str) -> String;
    /// The header that carries the request's id, and how the id is written there.
    fn header(&self, tail: &str) -> Option<(&'static str, String)>;
    /// Media type of a stream.
    fn stream_type(&self) -> &'static str {
        "text/event-stream"
    }
    /// The frames of a streamed answer.
    fn stream(&self, answer: &Answer, out: &mut Frames);
    /// The body of an answer that is not streamed.
    fn whole(&self, answer: &Answer) -> String;
    /// The status that a key gets which is not accepted.
    fn bad_key(&self) -> u16 {
        401
    }
    /// The body of an error.
    fn fault(&self, fault: &Fault) -> String;
    /// The catalogue.
    fn models(&self, script: &Script) -> String;
}

impl Dialect {
    /// How it speaks.
    pub fn speaks(self) -> &'static dyn Speaks {
        match self {
            Self::Openai | Self::Compatible | Self::Openrouter => crate::chat::of(self),
            Self::Responses => &crate::responses::Responses,
            Self::Anthropic => &crate::anthropic::Anthropic,
            Self::Gemini => &crate::gemini::Gemini,
            Self::Ollama => &crate::ollama::Ollama,
        }
    }
}

/// Where a path goes. Below the root the usual paths belong to whoever made them usual; `/v1/chat/completions` to servers on one's
/// own machine, because OpenAI's is asked for by name.
pub fn route(path: &str, query: &str) -> Option<Route> {
    use {Dialect as D, Endpoint as E};
    let names = ["/openai", "/anthropic", "/gemini", "/openrouter", "/ollama"];
    let (name, rest) = names
        .iter()
        .find_map(|name| path.strip_prefix(name).filter(|rest| rest.starts_with('/')).map(|rest| (*name, rest)))
        .unwrap_or(("", path));
    let plain = |dialect, endpoint| Some(Route { dialect, endpoint, named: None, streams: None });
    let chat = if name == "/openai" { D::Openai } else { D::Compatible };
    match rest {
        "/v1/models" if name == "/anthropic" => plain(D::Anthropic, E::Models),
        "/v1/chat/completions" => plain(chat, E::Chat),
        "/v1/models" => plain(chat, E::Models),
        "/v1/responses" => plain(D::Responses, E::Chat),
        "/v1/messages" => plain(D::Anthropic, E::Chat),
        "/api/v1/chat/completions" => plain(D::Openrouter, E::Chat),
        "/api/v1/models" => plain(D::Openrouter, E::Models),
        "/api/v1/key" => plain(D::Openrouter, E::Key),
        "/api/v1/generation" => {
            let named = query.split('&').find_map(|pair| pair.strip_prefix("id=")).map(str::to_owned);
            Some(Route { dialect: D::Openrouter, endpoint: E::Generation, named, streams: None })
        }
        "/api/chat" => plain(D::Ollama, E::Chat),
        "/api/tags" => plain(D::Ollama, E::Models),
        "/api/show" => plain(D::Ollama, E::Show),
        "/v1beta/models" => plain(D::Gemini, E::Models),
        _ => {
            let (model, verb) = rest.strip_prefix("/v1beta/models/")?.rsplit_once(':')?;
            let streams = match verb {
                "streamGenerateContent" => true,
                "generateContent" => false,
                _ => return None,
            };
            Some(Route { dialect: D::Gemini, endpoint: E::Chat, named: Some(model.to_owned()), streams: Some(streams) })
        }
    }
}

/// A text field; empty when it is not there.
pub fn text_at<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The text of a turn's content: itself, or the `text` of its parts one after the other.
pub fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(|part| text_at(part, "text")).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// Bytes of all texts below a value, without images.
pub fn bytes_of(value: &Value) -> usize {
    match value {
        Value::String(text) if text.starts_with("data:") => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes_of).sum(),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| *name != "data" && *name != "images")
            .map(|(_, value)| bytes_of(value))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// What is common to bodies that list turns with a `role`: model, streaming, the last texts, and the bytes of these fields.
pub fn ask(route: &Route, body: &Value, turns: &str, content: &str, prompt: &[&str]) -> Asked {
    let turns = body.get(turns).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let text = |turn: &Value| turn.get(content).map(text_of).unwrap_or_default();
    let users = turns.iter().rev().filter(|turn| text_at(turn, "role") == "user");
    Asked {
        dialect: route.dialect,
        endpoint: route.endpoint,
        model: route.named.clone().unwrap_or_else(|| text_at(body, "model").to_owned()),
        stream: route.streams.or_else(|| body.get("stream").and_then(Value::as_bool)).unwrap_or(false),
        include_usage: true,
        text: users.map(text).find(|text| !text.is_empty()).unwrap_or_default(),
        last: turns.last().map(|turn| turn.to_string()).unwrap_or_default(),
        prompt: prompt.iter().filter_map(|name| body.get(*name)).map(bytes_of).sum(),
        max_output: None,
        raw: String::new(),
    }
}

/// The text of an object with one more field, whose value is written as it is.
pub fn with(object: &Value, name: &str, raw: &str) -> String {
    let text = object.to_string();
    let open = text.strip_suffix('}').unwrap_or(&text);
    let comma = if open.ends_with('{') { "" } else { "," };
    format!("{open}{comma}\"{name}\":{raw}}}")
}
