//! Requests and answers of `/api/chat`.

use crate::dialect::tests::{
    answer, answer_to, asked, assistant, body, call, encode, image, one, provider, result, route, user, with_tool,
};
use crate::dialect::{Dialect, EncodeError, Framing, RejectionClass, StreamFault, parse_show};
use crate::price::Price;
use crate::route::Route;
use ouroboros_proto::agent::{
    Effort, Instruction, Message, ModelRequest, OutputSchema, Part, StopReason, TokenUsage, ToolChoice,
};
use serde_json::{Value, json};

fn at(model: &str) -> Route {
    route(Dialect::Ollama, model)
}

#[test]
fn a_request() {
    let mut route = at("qwen3:8b");
    route.facts.window = Some(40_960);
    let mut shown = result("c1", "weather", "rain");
    if let Part::ToolResult { parts, .. } = &mut shown {
        parts.push(image());
    }
    let request = ModelRequest {
        instructions: vec![Instruction { text: "Be brief.".to_owned(), cache: false }],
        temperature_milli: Some(300),
        effort: Some(Effort::Low),
        output_schema: Some(OutputSchema { name: "city".to_owned(), schema: json!({ "type": "object" }) }),
        stop: vec!["END".to_owned()],
        ..with_tool(vec![
            user(vec![Part::text("Where?"), image()]),
            assistant(vec![Part::text("I ask."), call("c1", "weather", "{\"city\":\"Ulm\"}")]),
            user(vec![shown, Part::text("And then?")]),
        ])
    };
    let expected = json!({
        "model": "qwen3:8b",
        "stream": true,
        "truncate": false,
        "shift": false,
        "think": true,
        "format": { "type": "object" },
        "options": { "num_predict": 1_000, "num_ctx": 40_960, "temperature": 0.3, "stop": ["END"] },
        "tools": [{ "type": "function", "function": {
            "name": "weather",
            "description": "Tells the weather.",
            "parameters": { "type": "object", "properties": { "city": { "type": "string" } } }
        } }],
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "Where?", "images": ["iVBORw0KGgo="] },
            { "role": "assistant", "content": "I ask.", "tool_calls": [
                { "id": "c1", "function": { "name": "weather", "arguments": { "city": "Ulm" } } }
            ] },
            { "role": "tool", "tool_name": "weather", "tool_call_id": "c1", "content": "rain" },
            { "role": "user", "content": "Images from weather:\n\nAnd then?", "images": ["iVBORw0KGgo="] }
        ]
    });
    let wire = encode(&route, &request);
    assert_eq!((wire.path.as_str(), wire.framing), ("/api/chat", Framing::JsonLines));
    assert_eq!(serde_json::from_slice::<Value>(&wire.body).unwrap(), expected);
}

#[test]
fn thinking_and_tools_as_far_as_it_has_words_for_them() {
    let with = |model: &str, effort| {
        let request = ModelRequest { effort: Some(effort), ..asked(vec![Message::user("Hello")]) };
        body(&at(model), &request)["think"].clone()
    };
    assert_eq!(with("qwen3:8b", Effort::None), json!(false));
    assert_eq!(with("gpt-oss:20b", Effort::Max), json!("high"));
    let mut plain = at("llama3.2");
    plain.facts.reasoning = Some(false);
    let request = ModelRequest { effort: Some(Effort::High), ..asked(vec![Message::user("Hello")]) };
    assert_eq!(body(&plain, &request).get("think"), None);
    let none = ModelRequest { tool_choice: ToolChoice::None, ..with_tool(vec![Message::user("Hello")]) };
    assert_eq!(body(&plain, &none).get("tools"), None);
    let forced = ModelRequest { tool_choice: ToolChoice::Required, ..with_tool(vec![Message::user("Hello")]) };
    let got = Dialect::Ollama.encode(&plain, &forced);
    assert!(matches!(got, Err(EncodeError::Inexpressible(_))));
}

#[test]
fn an_answer_and_how_it_goes_back() {
    let (route, events) = one("ollama_tools");
    let answer = answer(&route, &events).unwrap();
    assert_eq!((answer.stop.clone(), answer.cost), (StopReason::ToolCalls, None));
    let usage = TokenUsage { input: Some(169), output: Some(40), ..TokenUsage::default() };
    assert_eq!(answer.usage, usage);
    let Part::ToolCall { id, arguments, .. } = &answer.message.parts[2] else { panic!("no call") };
    assert_eq!((id.as_str(), arguments.as_str()), ("call_20251130T100000123456Z_0", r#"{"city":"Ulm"}"#));
    let results = vec![result(id, "weather", "rain"), result("call_k2", "weather", "sun")];
    let sent = body(&route, &asked(vec![Message::user("Weather?"), answer.message.clone(), user(results)]));
    assert_eq!(sent["messages"][1]["thinking"], "Ask the tool.");
    assert_eq!(sent["messages"][1]["tool_calls"][1]["function"]["arguments"], json!({ "city": "Bern" }));
    assert_eq!(sent["messages"][3]["content"], "sun");
}

#[test]
fn ends_and_errors() {
    let done = |reason: &str| json!({ "model": "m", "message": { "role": "assistant", "content": "Hi" }, "done": true, "done_reason": reason });
    for (reason, stop) in
        [("stop", StopReason::End), ("length", StopReason::Length), ("unload", StopReason::Other("unload".to_owned()))]
    {
        let answer = answer_to(&at("m"), &[done(reason)]).unwrap();
        assert_eq!((answer.stop, answer.usage), (stop, TokenUsage::default()));
    }
    let error = json!({ "error": "an error was encountered while running the model" });
    let Err(StreamFault::ProviderError(rejection)) = answer_to(&at("m"), &[error]) else { panic!("no error") };
    assert_eq!(rejection.class, RejectionClass::Overloaded);
    let half = json!({ "message": { "content": "Hi" }, "done": false });
    assert_eq!(answer_to(&at("m"), &[half]), Err(StreamFault::Incomplete));
}

#[test]
fn the_catalogue_and_what_is_known_of_a_model() {
    let of = provider(Dialect::Ollama);
    let tags = json!({ "models": [{ "name": "qwen3:8b", "model": "qwen3:8b", "size": 1 }] }).to_string();
    let models = Dialect::Ollama.parse_models(&of, tags.as_bytes()).unwrap().models;
    assert_eq!((models[0].model.as_str(), models[0].price.clone()), ("qwen3:8b", Some(Price::free())));
    let show = |parameters: &str| {
        let show = json!({ "parameters": parameters, "capabilities": ["completion", "tools", "thinking"],
            "model_info": { "general.architecture": "qwen3", "qwen3.context_length": 40_960 } });
        parse_show(&of, "qwen3:8b", show.to_string().as_bytes()).unwrap()
    };
    let facts = show("stop \"<|im_end|>\"\nnum_ctx                        8192");
    assert_eq!((facts.tools, facts.images, facts.reasoning), (Some(true), Some(false), Some(true)));
    assert_eq!(facts.window, Some(8_192), "what the owner set holds");
    assert_eq!(show("").window, Some(40_960));
    assert!(parse_show(&of, "x", b"{}").is_err());
}
