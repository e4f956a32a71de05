//! Requests and answers of Messages.

use crate::dialect::tests::{
    answer, answer_to, asked, assistant, body, body_without, call, encode, image, one, provider, result, route, user,
    with_tool,
};
use crate::dialect::{Dialect, RejectionClass, StreamFault};
use crate::route::Route;
use ouroboros_proto::agent::{
    Effort, Instruction, Message, ModelRequest, OutputSchema, Part, StopReason, TokenUsage, ToolChoice,
};
use serde_json::{Value, json};

fn at(model: &str) -> Route {
    route(Dialect::AnthropicMessages, model)
}

#[test]
fn a_request() {
    let mut failed = result("t1", "weather", "no such city");
    if let Part::ToolResult { is_error, parts, .. } = &mut failed {
        *is_error = true;
        parts.push(image());
    }
    let request = ModelRequest {
        instructions: vec![Instruction { text: "Be brief.".to_owned(), cache: true }],
        tool_choice: ToolChoice::Tool("weather".to_owned()),
        temperature_milli: Some(500),
        output_schema: Some(OutputSchema { name: "x".to_owned(), schema: json!({ "type": "object" }) }),
        stop: vec!["END".to_owned()],
        ..with_tool(vec![
            user(vec![Part::text("Where?"), image()]),
            assistant(vec![Part::text("I ask."), call("t1", "weather", "{\"z\":1, \"a\":2}")]),
            user(vec![Part::text("Go on."), failed]),
        ])
    };
    let wire = encode(&at("claude-sonnet-4-5"), &request);
    assert_eq!(wire.path, "/messages");
    assert!(wire.headers.contains(&("anthropic-version", "2023-06-01".to_owned())));
    let picture =
        json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo=" } });
    let expected = json!({
        "model": "claude-sonnet-4-5",
        "max_tokens": 1_000,
        "stream": true,
        "system": [{ "type": "text", "text": "Be brief.", "cache_control": { "type": "ephemeral" } }],
        "temperature": 0.5,
        "stop_sequences": ["END"],
        "output_config": { "format": { "type": "json_schema", "schema": { "type": "object" } } },
        "tools": [{
            "name": "weather",
            "description": "Tells the weather.",
            "input_schema": { "type": "object", "properties": { "city": { "type": "string" } } }
        }],
        "tool_choice": { "type": "tool", "name": "weather" },
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "Where?" }, picture] },
            { "role": "assistant", "content": [
                { "type": "text", "text": "I ask." },
                { "type": "tool_use", "id": "t1", "name": "weather", "input": { "z": 1, "a": 2 } }
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "t1", "is_error": true,
                  "content": [{ "type": "text", "text": "no such city" }, picture] },
                { "type": "text", "text": "Go on." }
            ] }
        ]
    });
    assert_eq!(serde_json::from_slice::<Value>(&wire.body).unwrap(), expected);
    assert!(String::from_utf8(wire.body).unwrap().contains("{\"z\":1, \"a\":2}"), "arguments go as they were written");
}

#[test]
fn of_many_hints_the_last_four_become_marks() {
    let hint = |text: String| Part::Text { text, cache: true };
    let request = ModelRequest {
        instructions: (0..3).map(|n| Instruction { text: format!("i{n}"), cache: true }).collect(),
        ..asked(vec![user((0..3).map(|n| hint(format!("u{n}"))).collect())])
    };
    let sent = body(&at("claude-sonnet-4-5"), &request);
    let marked = |blocks: &Value| -> Vec<bool> {
        blocks.as_array().unwrap().iter().map(|block| block.get("cache_control").is_some()).collect()
    };
    assert_eq!(marked(&sent["system"]), [false, false, true]);
    assert_eq!(marked(&sent["messages"][0]["content"]), [true, true, true]);
}

#[test]
fn thinking_is_asked_for_in_the_words_of_the_model() {
    let request = ModelRequest {
        effort: Some(Effort::Max),
        temperature_milli: Some(1_000),
        max_output_tokens: Some(20_000),
        ..asked(vec![Message::user("Hello")])
    };
    let new = body(&at("claude-opus-4-6"), &request);
    assert_eq!(new["thinking"], json!({ "type": "adaptive", "display": "summarized" }));
    assert_eq!(new["output_config"], json!({ "effort": "max" }));
    assert_eq!(new.get("temperature"), None);
    let old = body(&at("claude-haiku-4-5"), &request);
    assert_eq!(old["thinking"], json!({ "type": "enabled", "budget_tokens": 15_000 }));
    assert_eq!(old.get("output_config"), None);
    // A refusal of one leads to the other, and of both to none.
    let other = body_without(&at("claude-opus-4-6"), &request, &["adaptive"]);
    assert_eq!(other["thinking"]["type"], "enabled");
    let other = body_without(&at("claude-haiku-4-5"), &request, &["thinking.type.enabled"]);
    assert_eq!(other["thinking"]["type"], "adaptive");
    let none = body_without(&at("claude-haiku-4-5"), &request, &["thinking.type.enabled", "adaptive"]);
    assert_eq!((none.get("thinking"), &none["temperature"]), (None, &json!(1.0)));
    let off = ModelRequest { effort: Some(Effort::None), ..request.clone() };
    assert_eq!(body(&at("claude-opus-4-6"), &off)["thinking"], json!({ "type": "disabled" }));
    let small = ModelRequest { max_output_tokens: Some(1_200), ..request.clone() };
    assert_eq!(body(&at("claude-haiku-4-5"), &small).get("thinking"), None, "no room for a budget");
    let forced = ModelRequest { tool_choice: ToolChoice::Required, ..with_tool(request.messages.clone()) };
    let forced = ModelRequest { effort: Some(Effort::High), ..forced };
    assert_eq!(body(&at("claude-opus-4-6"), &forced).get("thinking"), None, "a forced tool excludes it");
}

#[test]
fn a_budget_is_left_out_in_a_chain_that_began_without_thinking() {
    let chain = |parts: Vec<Part>| ModelRequest {
        effort: Some(Effort::Low),
        max_output_tokens: Some(20_000),
        ..asked(vec![Message::user("Go"), assistant(parts), user(vec![result("toolu_01A", "read_file", "x")])])
    };
    let foreign = chain(vec![call("toolu_01A", "read_file", "{}")]);
    assert_eq!(body(&at("claude-sonnet-4-5"), &foreign).get("thinking"), None);
    let (route, events) = one("anthropic_thinking");
    let own = chain(answer(&route, &events).unwrap().message.parts);
    assert_eq!(body(&route, &own)["thinking"]["budget_tokens"], 4_096);
}

#[test]
fn thinking_and_calls_of_an_answer_go_back_byte_for_byte() {
    let (route, events) = one("anthropic_thinking");
    let answer = answer(&route, &events).unwrap();
    assert_eq!(answer.stop, StopReason::ToolCalls);
    let usage = TokenUsage {
        input: Some(160_223),
        cached: Some(1_000),
        cache_write: Some(159_217),
        cache_write_long: Some(200),
        output: Some(2_745),
        reasoning: None,
    };
    assert_eq!(answer.usage, usage);
    let request = asked(vec![Message::user("Read"), answer.message, user(vec![result("toolu_01A", "read_file", "x")])]);
    let sent = String::from_utf8(encode(&route, &request).body).unwrap();
    assert!(sent.contains(r#"{"type":"redacted_thinking",  "data":"EmwKAhgBEgy3va3pzix/LafPsn4a"}"#));
    assert!(sent.contains(r#"{"path": "a.txt"}"#));
    let sent: Value = serde_json::from_str(&sent).unwrap();
    let thinking =
        json!({ "type": "thinking", "thinking": "Read it first.", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h" });
    assert_eq!(sent["messages"][1]["content"][0], thinking);
    let kinds: Vec<&Value> = sent["messages"][1]["content"].as_array().unwrap().iter().map(|b| &b["type"]).collect();
    assert_eq!(kinds, ["thinking", "redacted_thinking", "text", "tool_use"]);
}

#[test]
fn a_turn_never_ends_with_thinking() {
    let (route, events) = one("anthropic_thinking");
    let mut message = answer(&route, &events).unwrap().message;
    message.parts.truncate(2);
    let sent = body(&route, &asked(vec![Message::user("Read"), message, Message::user("Go on")]));
    assert!(sent["messages"].as_array().unwrap().iter().all(|message| message["role"] == "user"));
}

#[test]
fn blocks_of_other_kinds_are_kept_and_a_paused_turn_goes_on() {
    let (route, events) = one("anthropic_search");
    let answer = answer(&route, &events).unwrap();
    assert_eq!(answer.stop, StopReason::Paused);
    assert!(answer.anomalies.iter().any(|note| note.contains("searched")));
    let sent = body(&route, &asked(vec![Message::user("Otters?"), answer.message]));
    let content = &sent["messages"][1]["content"];
    assert_eq!(content[0]["input"], json!({ "query": "otter" }));
    assert_eq!(content[1]["content"][0]["encrypted_content"], "Eo8=");
}

fn start(index: u64, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn stop(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn end(reason: &str) -> [Value; 2] {
    [
        json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 5 } }),
        json!({ "type": "message_stop" }),
    ]
}

#[test]
fn blocks_out_of_order_open_or_unsigned_are_no_answer() {
    let text = || json!({ "type": "text", "text": "Hi" });
    let delta = json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "x" } });
    let tool = json!({ "type": "tool_use", "id": "t", "name": "n", "input": {} });
    let thinking = json!({ "type": "thinking", "thinking": "Hm", "signature": "" });
    for frames in [
        vec![start(1, text()), stop(0)],
        vec![start(0, text()), start(1, text())],
        vec![start(0, text()), stop(1)],
        vec![start(0, text()), stop(0), delta.clone()],
        vec![start(0, tool.clone()), delta],
        vec![start(0, thinking), stop(0)],
        vec![start(0, tool)],
        vec![json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "tool_use" } })],
    ] {
        let got = answer_to(&at("m"), &[frames.clone(), end("end_turn").to_vec()].concat());
        assert!(matches!(got, Err(StreamFault::Malformed(_))), "{frames:?}: {got:?}");
    }
}

#[test]
fn every_reason_has_its_word() {
    for (reason, expected) in [
        ("end_turn", StopReason::End),
        ("max_tokens", StopReason::Length),
        ("model_context_window_exceeded", StopReason::Length),
        ("stop_sequence", StopReason::StopText),
        ("refusal", StopReason::Refusal),
        ("pause_turn", StopReason::Paused),
        ("novel", StopReason::Other("novel".to_owned())),
    ] {
        let frames = [vec![start(0, json!({ "type": "text", "text": "Hi" })), stop(0)], end(reason).to_vec()].concat();
        assert_eq!(answer_to(&at("m"), &frames).unwrap().stop, expected);
    }
}

#[test]
fn an_error_frame_tells_what_was_counted() {
    let head = json!({ "type": "message_start", "message": { "usage": { "input_tokens": 25, "output_tokens": 1 } } });
    let error = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let Err(StreamFault::ProviderError(rejection)) = answer_to(&at("m"), &[head, error]) else { panic!("no error") };
    assert_eq!(rejection.class, RejectionClass::Overloaded);
    let usage = rejection.usage.unwrap();
    assert_eq!((usage.input, usage.output), (Some(25), None), "how much was answered is only known at the end");
}

#[test]
fn a_count_before_the_reason_of_the_end_is_not_that_of_the_answer() {
    let so_far = json!({ "type": "message_delta", "delta": {}, "usage": { "input_tokens": 25, "output_tokens": 3 } });
    let error = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let Err(StreamFault::ProviderError(rejection)) = answer_to(&at("m"), &[so_far.clone(), error]) else {
        panic!("no error");
    };
    assert_eq!(rejection.usage.map(|usage| (usage.input, usage.output)), Some((Some(25), None)));
    let uncounted = json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } });
    let got = answer_to(&at("m"), &[so_far.clone(), uncounted]).unwrap();
    assert_eq!((got.usage.input, got.usage.output), (Some(25), None));
    let got = answer_to(&at("m"), &[vec![so_far], end("end_turn").to_vec()].concat()).unwrap();
    assert_eq!((got.usage.input, got.usage.output), (Some(25), Some(5)));
}

#[test]
fn the_catalogue() {
    let page = json!({ "data": [{ "id": "claude-sonnet-4-5", "display_name": "Claude Sonnet 4.5", "type": "model",
        "max_input_tokens": 200_000, "max_tokens": 64_000,
        "capabilities": { "thinking": { "supported": true }, "image_input": { "supported": true } } }],
        "has_more": true, "last_id": "claude-sonnet-4-5" });
    let of = provider(Dialect::AnthropicMessages);
    let models = Dialect::AnthropicMessages.parse_models(&of, page.to_string().as_bytes()).unwrap();
    assert_eq!(models.next.as_deref(), Some("/models?limit=1000&after_id=claude-sonnet-4-5"));
    let facts = &models.models[0];
    assert_eq!((facts.window, facts.max_output, facts.reasoning), (Some(200_000), Some(64_000), Some(true)));
    assert_eq!(facts.price, None, "the catalogue has no prices");
}
