//! What the tests of the formats share, and tests of all formats together.

mod conversations;
mod properties;
mod rejections;

use super::{Dialect, Event, Framing, StreamFault, Wire};
use crate::route::{ModelFacts, Provider, Route, RouteId};
use ouroboros_proto::agent::{Message, ModelAnswer, ModelRequest, Part, Role, ToolSpec};
use serde_json::{Value, json};

/// The provider that speaks a format, by its usual name.
pub(super) fn provider(dialect: Dialect) -> Provider {
    let (name, base_url) = match dialect {
        Dialect::OpenaiChat | Dialect::OpenaiResponses => ("openai", "https://api.openai.com/v1"),
        Dialect::AnthropicMessages => ("anthropic", "https://api.anthropic.com/v1"),
        Dialect::Gemini => ("gemini", "https://generativelanguage.googleapis.com/v1beta"),
        Dialect::Ollama => ("ollama", "http://127.0.0.1:11434"),
    };
    let local = dialect == Dialect::Ollama;
    Provider { name: name.to_owned(), dialect, base_url: base_url.to_owned(), local }
}

/// A route at the usual provider.
pub(super) fn route(dialect: Dialect, model: &str) -> Route {
    let provider = provider(dialect);
    Route {
        id: RouteId::new(&provider.name, model),
        provider,
        model: model.to_owned(),
        facts: ModelFacts { model: model.to_owned(), ..ModelFacts::default() },
    }
}

/// A route at a server that is compatible with OpenAI.
pub(super) fn compatible(name: &str, base_url: &str, model: &str) -> Route {
    let mut route = route(Dialect::OpenaiChat, model);
    route.provider.name = name.to_owned();
    route.provider.base_url = base_url.to_owned();
    route.id = RouteId::new(name, model);
    route
}

pub(super) fn openrouter(model: &str) -> Route {
    compatible("openrouter", "https://openrouter.ai/api/v1", model)
}

/// A request with this conversation.
pub(super) fn asked(messages: Vec<Message>) -> ModelRequest {
    ModelRequest { messages, max_output_tokens: Some(1_000), ..ModelRequest::default() }
}

/// A request with one tool.
pub(super) fn with_tool(messages: Vec<Message>) -> ModelRequest {
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let tool = ToolSpec { name: "weather".to_owned(), description: "Tells the weather.".to_owned(), parameters };
    ModelRequest { tools: vec![tool], ..asked(messages) }
}

pub(super) fn assistant(parts: Vec<Part>) -> Message {
    Message { role: Role::Assistant, parts }
}

pub(super) fn user(parts: Vec<Part>) -> Message {
    Message { role: Role::User, parts }
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned(), native: None }
}

pub(super) fn result(call: &str, name: &str, text: &str) -> Part {
    let parts = vec![Part::text(text)];
    Part::ToolResult { call: call.to_owned(), name: name.to_owned(), parts, is_error: false, cache: false }
}

pub(super) fn image() -> Part {
    Part::Image { media_type: "image/png".to_owned(), data: "iVBORw0KGgo=".to_owned() }
}

pub(super) fn encode(route: &Route, request: &ModelRequest) -> Wire {
    route.provider.dialect.encode(route, request).unwrap()
}

/// The body that is sent.
pub(super) fn body(route: &Route, request: &ModelRequest) -> Value {
    serde_json::from_slice(&encode(route, request).body).unwrap()
}

/// The body that is sent when these fields were not accepted.
pub(super) fn body_without(route: &Route, request: &ModelRequest, omit: &[&str]) -> Value {
    let omit: Vec<String> = omit.iter().map(|name| (*name).to_owned()).collect();
    let wire = route.provider.dialect.encode_without(route, request, &omit).unwrap();
    serde_json::from_slice(&wire.body).unwrap()
}

/// The events of a recorded stream.
pub(super) fn events(framing: Framing, recorded: &str) -> Vec<Event> {
    match framing {
        Framing::JsonLines => recorded.lines().filter(|line| !line.is_empty()).map(Event::data).collect(),
        Framing::Sse => recorded.split("\n\n").filter_map(sse).collect(),
    }
}

fn sse(frame: &str) -> Option<Event> {
    let of = |field: &'static str| frame.lines().filter_map(move |line| line.strip_prefix(field)).map(str::trim_start);
    let data: Vec<&str> = of("data:").collect();
    (!data.is_empty()).then(|| Event { name: of("event:").next().map(str::to_owned), data: data.join("\n") })
}

/// The answer to these events.
pub(super) fn answer(route: &Route, events: &[Event]) -> Result<ModelAnswer, StreamFault> {
    let mut assembler = route.provider.dialect.assembler(route);
    for event in events {
        assembler.feed(event)?;
    }
    assembler.finish()
}

/// The answer to events with these data.
pub(super) fn answer_to(route: &Route, data: &[Value]) -> Result<ModelAnswer, StreamFault> {
    answer(route, &data.iter().map(|data| Event::data(data.to_string())).collect::<Vec<_>>())
}

/// Every recorded stream with the route it came on.
pub(super) fn recorded() -> Vec<(&'static str, Route, Vec<Event>)> {
    let sse = |name, route, text| (name, route, events(Framing::Sse, text));
    vec![
        sse("chat_tools", route(Dialect::OpenaiChat, "gpt-5.1"), include_str!("streams/chat_tools.sse")),
        sse(
            "openrouter_reasoning",
            openrouter("anthropic/claude-sonnet-4.5"),
            include_str!("streams/openrouter_reasoning.sse"),
        ),
        sse(
            "deepseek_reasoning",
            compatible("deepseek", "https://api.deepseek.com", "deepseek-reasoner"),
            include_str!("streams/deepseek_reasoning.sse"),
        ),
        sse("responses_tools", route(Dialect::OpenaiResponses, "gpt-5.1"), include_str!("streams/responses_tools.sse")),
        sse(
            "anthropic_thinking",
            route(Dialect::AnthropicMessages, "claude-sonnet-4-5"),
            include_str!("streams/anthropic_thinking.sse"),
        ),
        sse(
            "anthropic_search",
            route(Dialect::AnthropicMessages, "claude-opus-4-6"),
            include_str!("streams/anthropic_search.sse"),
        ),
        sse("gemini_tools", route(Dialect::Gemini, "gemini-3-pro-preview"), include_str!("streams/gemini_tools.sse")),
        (
            "ollama_tools",
            route(Dialect::Ollama, "qwen3:8b"),
            events(Framing::JsonLines, include_str!("streams/ollama_tools.jsonl")),
        ),
    ]
}

/// One of them.
pub(super) fn one(name: &str) -> (Route, Vec<Event>) {
    let (_, route, events) = recorded().into_iter().find(|(found, _, _)| *found == name).unwrap();
    (route, events)
}
