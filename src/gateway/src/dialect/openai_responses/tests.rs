//! Requests and answers of Responses.

use crate::dialect::tests::{
    answer, answer_to, asked, assistant, body, body_without, call, encode, image, one, result, route, user, with_tool,
};
use crate::dialect::{Dialect, EncodeError, RejectionClass, StreamFault};
use crate::route::Route;
use ouroboros_proto::agent::{
    Effort, Instruction, Message, ModelRequest, OutputSchema, Part, StopReason, TokenUsage, ToolChoice,
};
use serde_json::{Value, json};

fn openai() -> Route {
    route(Dialect::OpenaiResponses, "gpt-5.1")
}

#[test]
fn a_request() {
    let mut shown = result("c1", "weather", "rain");
    if let Part::ToolResult { parts, .. } = &mut shown {
        parts.push(image());
    }
    let request = ModelRequest {
        instructions: vec![Instruction { text: "Be brief.".to_owned(), cache: true }],
        tool_choice: ToolChoice::Tool("weather".to_owned()),
        effort: Some(Effort::Minimal),
        output_schema: Some(OutputSchema { name: "city".to_owned(), schema: json!({ "type": "object" }) }),
        session: Some("s1".to_owned()),
        ..with_tool(vec![
            user(vec![Part::text("Where?"), image()]),
            assistant(vec![Part::text("I ask."), call("c1", "weather", "{\"city\":\"Ulm\"}")]),
            user(vec![shown]),
            assistant(vec![Part::Refusal { text: "No.".to_owned() }]),
            Message::user("Why?"),
        ])
    };
    let picture = json!({ "type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw0KGgo=" });
    let expected = json!({
        "model": "gpt-5.1",
        "stream": true,
        "store": false,
        "instructions": "Be brief.",
        "max_output_tokens": 1_000,
        "include": ["reasoning.encrypted_content"],
        "reasoning": { "effort": "minimal", "summary": "auto" },
        "prompt_cache_key": "s1",
        "text": { "format": {
            "type": "json_schema", "name": "city", "strict": true, "schema": { "type": "object" }
        } },
        "tools": [{
            "type": "function",
            "name": "weather",
            "description": "Tells the weather.",
            "strict": false,
            "parameters": { "type": "object", "properties": { "city": { "type": "string" } } }
        }],
        "tool_choice": { "type": "function", "name": "weather" },
        "input": [
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Where?" }, picture] },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "I ask." }] },
            { "type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{\"city\":\"Ulm\"}" },
            { "type": "function_call_output", "call_id": "c1",
              "output": [{ "type": "input_text", "text": "rain" }, picture] },
            { "type": "message", "role": "assistant", "content": [{ "type": "refusal", "refusal": "No." }] },
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Why?" }] }
        ]
    });
    let wire = encode(&openai(), &request);
    assert_eq!(wire.path, "/responses");
    assert_eq!(serde_json::from_slice::<Value>(&wire.body).unwrap(), expected);
}

#[test]
fn what_it_cannot_say_is_refused_and_what_was_not_accepted_left_out() {
    let stop = ModelRequest { stop: vec!["END".to_owned()], ..asked(vec![Message::user("Hello")]) };
    let got = Dialect::OpenaiResponses.encode(&openai(), &stop);
    assert!(matches!(got, Err(EncodeError::Inexpressible(_))));
    let request = ModelRequest { effort: Some(Effort::Max), ..asked(vec![Message::user("Hello")]) };
    let sent = body_without(&openai(), &request, &["include", "reasoning.summary"]);
    assert_eq!((sent.get("include"), &sent["reasoning"]), (None, &json!({ "effort": "xhigh" })));
    assert_eq!(body_without(&openai(), &request, &["reasoning.effort=extreme"])["reasoning"]["effort"], "high");
    assert_eq!(body_without(&openai(), &request, &["reasoning"]).get("reasoning"), None);
    let tiny = ModelRequest { max_output_tokens: Some(1), ..request };
    assert_eq!(encode(&openai(), &tiny).bound_output, 16, "less is not accepted");
}

#[test]
fn an_answer_and_how_it_goes_back() {
    let (route, events) = one("responses_tools");
    let answer = answer(&route, &events).unwrap();
    assert_eq!((answer.stop.clone(), answer.provider_request.as_deref()), (StopReason::ToolCalls, Some("resp_68a")));
    let usage = TokenUsage {
        input: Some(328),
        cached: Some(256),
        output: Some(87),
        reasoning: Some(64),
        ..TokenUsage::default()
    };
    assert_eq!(answer.usage, usage);
    assert_eq!(answer.anomalies, Vec::<String>::new());
    let given = user(vec![result("call_q7", "search", "found")]);
    let sent = encode(&route, &asked(vec![Message::user("Otters?"), answer.message, given]));
    let text = String::from_utf8(sent.body).unwrap();
    let reasoning = r#"{"type":"reasoning", "id":"rs_68b","summary":[{"type":"summary_text","text":"Looking it up."}],"encrypted_content":"gAAAAABo/\u002b9","z":1.50}"#;
    assert!(text.contains(reasoning), "byte for byte");
    let sent: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(sent["input"][2]["phase"], "commentary");
    assert_eq!(sent["input"][3]["call_id"], "call_q7");
    assert_eq!(sent["input"][4], json!({ "type": "function_call_output", "call_id": "call_q7", "output": "found" }));
}

#[test]
fn thinking_that_led_to_nothing_is_not_sent() {
    let (route, events) = one("responses_tools");
    let mut message = answer(&route, &events).unwrap().message;
    message.parts.truncate(1);
    let sent = body(&route, &asked(vec![Message::user("Otters?"), message, Message::user("Go on")]));
    assert_eq!(sent["input"].as_array().unwrap().len(), 2);
}

fn ended(kind: &str, response: Value) -> Value {
    json!({ "type": kind, "response": response })
}

fn message(content: Value) -> Value {
    json!({ "type": "response.output_item.done", "output_index": 0,
        "item": { "type": "message", "role": "assistant", "content": [content] } })
}

#[test]
fn incomplete_failed_and_refused() {
    let text = message(json!({ "type": "output_text", "text": "Half" }));
    for (reason, stop) in [
        ("max_output_tokens", StopReason::Length),
        ("content_filter", StopReason::Filtered),
        ("novel", StopReason::Other("novel".to_owned())),
    ] {
        let end = ended("response.incomplete", json!({ "incomplete_details": { "reason": reason }, "error": null }));
        assert_eq!(answer_to(&openai(), &[text.clone(), end]).unwrap().stop, stop);
    }
    let refusal = message(json!({ "type": "refusal", "refusal": "No." }));
    let done = ended("response.completed", json!({ "status": "completed" }));
    assert_eq!(answer_to(&openai(), &[refusal, done]).unwrap().stop, StopReason::Refusal);
    let failed = json!({ "error": { "code": "server_error", "message": "It broke" },
        "usage": { "input_tokens": 5, "output_tokens": 0 } });
    let got = answer_to(&openai(), &[text.clone(), ended("response.failed", failed)]);
    let Err(StreamFault::ProviderError(rejection)) = got else { panic!("no error") };
    assert_eq!((rejection.class, rejection.usage.unwrap().input), (RejectionClass::Overloaded, Some(5)));
    let error = json!({ "type": "error", "code": "rate_limit_exceeded", "message": "Slow down", "param": null });
    let Err(StreamFault::ProviderError(rejection)) = answer_to(&openai(), &[error]) else { panic!("no error") };
    assert_eq!(rejection.class, RejectionClass::RateLimited);
    assert_eq!(answer_to(&openai(), &[text]), Err(StreamFault::Incomplete));
}

#[test]
fn items_of_other_kinds_are_kept() {
    let item = json!({ "type": "web_search_call", "id": "ws_1", "status": "completed" });
    let frame = json!({ "type": "response.output_item.done", "output_index": 0, "item": item });
    let done = ended("response.completed", json!({ "status": "completed" }));
    let answer = answer_to(&openai(), &[frame, done]).unwrap();
    let sent = body(&openai(), &asked(vec![Message::user("?"), answer.message, Message::user("!")]));
    assert_eq!(sent["input"][1], item);
}

#[test]
fn an_answer_without_finished_items_is_read_from_what_there_is() {
    let delta = json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "Hi" });
    let done = ended("response.completed", json!({ "status": "completed", "output": [] }));
    let answer = answer_to(&openai(), &[delta.clone(), done]).unwrap();
    assert_eq!((answer.message.text().as_str(), answer.anomalies.len()), ("Hi", 1));
    let output = json!([{ "type": "message", "content": [{ "type": "output_text", "text": "Hi" }] }]);
    let done = ended("response.completed", json!({ "output": output }));
    let answer = answer_to(&openai(), &[delta, done]).unwrap();
    assert_eq!((answer.message.text().as_str(), answer.anomalies.len()), ("Hi", 1));
}
