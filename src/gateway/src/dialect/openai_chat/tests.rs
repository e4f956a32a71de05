//! Requests and answers of chat completions.

use crate::dialect::tests::{
    answer, answer_to, asked, assistant, body, body_without, call, compatible, encode, image, one, openrouter,
    provider, result, route, user, with_tool,
};
use crate::dialect::{Dialect, EncodeError, Framing, RejectionClass, StreamFault};
use crate::price::{PerMillion, Price};
use ouroboros_proto::agent::{
    Effort, Instruction, Message, ModelRequest, OutputSchema, Part, StopReason, TokenUsage, ToolChoice,
};
use ouroboros_proto::kind::NanoDollars;
use serde_json::{Value, json};

fn instruction(text: &str, cache: bool) -> Instruction {
    Instruction { text: text.to_owned(), cache }
}

fn openai() -> crate::route::Route {
    route(Dialect::OpenaiChat, "gpt-5.1")
}

#[test]
fn a_request_to_openai() {
    let request = ModelRequest {
        instructions: vec![instruction("Be brief.", true), instruction("Be kind.", false)],
        tool_choice: ToolChoice::Required,
        temperature_milli: Some(700),
        effort: Some(Effort::Max),
        output_schema: Some(OutputSchema { name: "city".to_owned(), schema: json!({ "type": "object" }) }),
        stop: vec!["END".to_owned()],
        session: Some("s1".to_owned()),
        ..with_tool(vec![
            user(vec![Part::text("Where?"), image()]),
            assistant(vec![Part::text("I ask."), call("c1", "weather", "{\"city\": \"Ulm\"}")]),
            user(vec![result("c1", "weather", "rain"), Part::text("And then?")]),
            assistant(vec![Part::Refusal { text: "No.".to_owned() }]),
            Message::user("Why?"),
        ])
    };
    let wire = encode(&openai(), &request);
    assert_eq!((wire.path.as_str(), wire.framing), ("/chat/completions", Framing::Sse));
    let expected = json!({
        "model": "gpt-5.1",
        "stream": true,
        "stream_options": { "include_usage": true },
        "max_completion_tokens": 1_000,
        "temperature": 0.7,
        "reasoning_effort": "xhigh",
        "stop": ["END"],
        "prompt_cache_key": "s1",
        "response_format": {
            "type": "json_schema",
            "json_schema": { "name": "city", "strict": true, "schema": { "type": "object" } }
        },
        "tool_choice": "required",
        "tools": [{ "type": "function", "function": {
            "name": "weather",
            "description": "Tells the weather.",
            "parameters": { "type": "object", "properties": { "city": { "type": "string" } } }
        } }],
        "messages": [
            { "role": "developer", "content": "Be brief.\n\nBe kind." },
            { "role": "user", "content": [
                { "type": "text", "text": "Where?" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgo=" } }
            ] },
            { "role": "assistant", "content": "I ask.", "tool_calls": [
                { "id": "c1", "type": "function", "function": { "name": "weather", "arguments": "{\"city\": \"Ulm\"}" } }
            ] },
            { "role": "tool", "tool_call_id": "c1", "content": "rain" },
            { "role": "user", "content": "And then?" },
            { "role": "assistant", "content": "", "refusal": "No." },
            { "role": "user", "content": "Why?" }
        ]
    });
    assert_eq!(serde_json::from_slice::<Value>(&wire.body).unwrap(), expected);
}

#[test]
fn a_compatible_server_gets_only_what_all_understand() {
    let request = ModelRequest {
        instructions: vec![instruction("Be brief.", true)],
        effort: Some(Effort::Minimal),
        session: Some("s1".to_owned()),
        ..asked(vec![user(vec![Part::text("One"), Part::text("Two")])])
    };
    let sent = body(&compatible("llamacpp", "http://127.0.0.1:8080/v1", "local"), &request);
    let expected = json!({
        "model": "local",
        "stream": true,
        "stream_options": { "include_usage": true },
        "max_tokens": 1_000,
        "reasoning_effort": "low",
        "messages": [{ "role": "system", "content": "Be brief." }, { "role": "user", "content": "One\n\nTwo" }]
    });
    assert_eq!(sent, expected);
}

#[test]
fn openrouter_gets_its_own_fields_and_marks_for_caches() {
    let mut kept = result("c1", "weather", "rain");
    if let Part::ToolResult { cache, .. } = &mut kept {
        *cache = true;
    }
    let marked = |text: &str| Part::Text { text: text.to_owned(), cache: true };
    let request = ModelRequest {
        instructions: vec![instruction("First.", true), instruction("Second.", true)],
        effort: Some(Effort::High),
        session: Some("s1".to_owned()),
        extra: json!({ "provider": { "order": ["anthropic"] } }).as_object().unwrap().clone(),
        ..asked(vec![
            user(vec![marked("One")]),
            assistant(vec![call("c1", "weather", "{}")]),
            user(vec![kept, marked("Two")]),
        ])
    };
    let sent = body(&openrouter("anthropic/claude-sonnet-4.5"), &request);
    assert_eq!(sent["usage"], json!({ "include": true }));
    assert_eq!(sent["session_id"], "s1");
    assert_eq!(sent["reasoning"], json!({ "effort": "high" }));
    assert_eq!(sent["provider"], json!({ "order": ["anthropic"] }));
    let mark = json!({ "type": "ephemeral" });
    // Five hints, four marks: the first is left out.
    assert_eq!(sent["messages"][0]["content"][0].get("cache_control"), None);
    assert_eq!(sent["messages"][0]["content"][1]["cache_control"], mark);
    assert_eq!(sent["messages"][1]["content"][0]["cache_control"], mark);
    assert_eq!(sent["messages"][3]["content"][0]["cache_control"], mark);
    assert_eq!(sent["messages"][4]["content"][0]["cache_control"], mark);
    let other = body(&openrouter("openai/gpt-5.1"), &request);
    assert!(!other.to_string().contains("cache_control"));
}

#[test]
fn a_field_that_was_not_accepted_is_said_otherwise_or_left_out() {
    let request = ModelRequest {
        instructions: vec![instruction("Be brief.", false)],
        temperature_milli: Some(1_000),
        effort: Some(Effort::Max),
        ..asked(vec![Message::user("Hello")])
    };
    let sent = body_without(&openai(), &request, &["max_completion_tokens", "temperature", "developer"]);
    assert_eq!((&sent["max_tokens"], sent.get("temperature")), (&json!(1_000), None));
    assert_eq!(sent["messages"][0]["role"], "system");
    assert_eq!(body_without(&openai(), &request, &["reasoning_effort=extreme"])["reasoning_effort"], "high");
    assert_eq!(body_without(&openai(), &request, &["reasoning_effort"]).get("reasoning_effort"), None);
    let both = ["max_tokens".to_owned(), "max_completion_tokens".to_owned()];
    assert_eq!(Dialect::OpenaiChat.encode_without(&openai(), &request, &both), Err(EncodeError::Unbounded));
}

#[test]
fn the_answer_is_never_longer_than_the_model_can() {
    let mut route = openai();
    route.facts.max_output = Some(600);
    assert_eq!(body(&route, &asked(vec![Message::user("Hello")]))["max_completion_tokens"], 600);
    let unbounded = ModelRequest { messages: vec![Message::user("Hello")], ..ModelRequest::default() };
    assert_eq!(encode(&openai(), &unbounded).bound_output, 8_192);
}

#[test]
fn calls_side_by_side_are_put_together() {
    let (route, events) = one("chat_tools");
    let answer = answer(&route, &events).unwrap();
    let expected = vec![
        Part::text("I look at both."),
        call("call_a1", "read_file", "{\"path\":\"ä.txt\"}"),
        call("call_b2", "list_dir", "{\"path\":\".\"}"),
    ];
    assert_eq!(answer.message.parts, expected);
    assert_eq!(answer.stop, StopReason::ToolCalls);
    assert_eq!(answer.model, "gpt-5.1-2025-11-13");
    let usage = TokenUsage {
        input: Some(1_117),
        cached: Some(1_024),
        output: Some(146),
        reasoning: Some(64),
        ..TokenUsage::default()
    };
    assert_eq!((answer.usage, answer.cost), (usage, None));
    assert_eq!(answer.anomalies, Vec::<String>::new());
}

#[test]
fn openrouters_thinking_goes_back_as_it_came_and_its_cost_is_exact() {
    let (route, events) = one("openrouter_reasoning");
    let answer = answer(&route, &events).unwrap();
    // Rounded up to the next nano-dollar.
    assert_eq!(answer.cost.unwrap().amount, NanoDollars::new(196_201));
    assert_eq!(answer.usage.cache_write, Some(100));
    let sent = body(&route, &asked(vec![Message::user("Sum?"), answer.message, Message::user("Sure?")]));
    let details = json!([
        { "type": "reasoning.text", "text": "First the sum.", "signature": "EqQB/+sig==",
          "format": "anthropic-claude-v1", "index": 0 },
        { "type": "reasoning.encrypted", "data": "gAAAAABo", "id": "rs_1", "index": 1 }
    ]);
    assert_eq!(sent["messages"][1]["reasoning_details"], details);
    assert_eq!(sent["messages"][1]["content"], "It is 42.");
}

#[test]
fn what_is_encrypted_is_never_joined() {
    let secret = |data: &str| json!({ "type": "reasoning.encrypted", "data": data, "index": 0 });
    let delta = |data: &str| chunk(&json!({ "reasoning_details": [secret(data)] }));
    let got = answer_to(&openai(), &[delta("a"), delta("b"), chunk(&json!({ "content": "Hi" })), end("stop")]).unwrap();
    let Part::Reasoning { native: Some(native), .. } = &got.message.parts[0] else { panic!("no thinking") };
    let details = json!({ "reasoning_details": [secret("a"), secret("b")] });
    assert_eq!(serde_json::from_str::<Value>(&native.json).unwrap(), details);
}

#[test]
fn plain_thinking_goes_back_only_while_tools_are_at_work() {
    let (route, events) = one("deepseek_reasoning");
    let answer = answer(&route, &events).unwrap();
    assert_eq!(answer.usage.cached, Some(16));
    let given = user(vec![result("call_00_x", "weather", "rain")]);
    let sent = body(&route, &asked(vec![Message::user("Go"), answer.message.clone(), given]));
    assert_eq!(sent["messages"][1]["reasoning_content"], "Need the weather.");
    let signature = &sent["messages"][1]["tool_calls"][0]["extra_content"]["google"]["thought_signature"];
    assert_eq!(signature, "c2ln", "what a call has besides goes back with it");
    let thought = assistant(vec![answer.message.parts[0].clone(), Part::text("Rain.")]);
    let sent = body(&route, &asked(vec![Message::user("Go"), thought, Message::user("Thanks")]));
    assert_eq!(sent["messages"][1], json!({ "role": "assistant", "content": "Rain." }));
}

fn chunk(delta: &Value) -> Value {
    json!({ "id": "c", "model": "m", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn end(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn fragment(fields: Value) -> Value {
    chunk(&json!({ "tool_calls": [fields] }))
}

#[test]
fn what_servers_forget_of_a_call_is_forgiven_and_noted() {
    let route = compatible("vllm", "http://127.0.0.1:8000/v1", "m");
    let whole = |fields: Value| fragment(fields);
    let one = json!({ "function": { "name": "a", "arguments": "{" } });
    let rest = json!({ "function": { "arguments": "}" } });
    // Without index and id.
    let got = answer_to(&route, &[whole(one), whole(rest), end("tool_calls")]).unwrap();
    assert_eq!(got.message.parts, vec![call("call_c_0", "a", "{}")]);
    assert_eq!(got.anomalies.len(), 3, "{:?}", got.anomalies);
    // Two under one index, and arguments as an object.
    let first = json!({ "index": 0, "id": "x", "function": { "name": "a", "arguments": { "p": 1 } } });
    let second = json!({ "index": 0, "id": "y", "function": { "name": "b", "arguments": "{}" } });
    let got = answer_to(&route, &[whole(first), whole(second), end("stop")]).unwrap();
    assert_eq!(got.message.parts, vec![call("x", "a", "{\"p\":1}"), call("y", "b", "{}")]);
    assert_eq!(got.stop, StopReason::ToolCalls);
    // A gap, and the name once more in every fragment.
    let first = json!({ "index": 3, "id": "x", "function": { "name": "a", "arguments": "{" } });
    let again = json!({ "index": 3, "id": "x", "function": { "name": "a", "arguments": "}" } });
    let got = answer_to(&route, &[whole(first), whole(again), end("tool_calls")]).unwrap();
    assert_eq!(got.message.parts, vec![call("x", "a", "{}")]);
    assert!(got.anomalies.iter().any(|note| note.contains("gaps")));
    // Without a name there is nothing to forgive.
    let nameless = json!({ "index": 0, "id": "x", "function": { "arguments": "{}" } });
    let got = answer_to(&route, &[whole(nameless), end("tool_calls")]);
    assert!(matches!(got, Err(StreamFault::Malformed(_))));
}

#[test]
fn the_last_whole_counts_hold() {
    let usage = |prompt: Value, completion: Value| json!({ "choices": [], "usage": { "prompt_tokens": prompt, "completion_tokens": completion } });
    let said = chunk(&json!({ "content": "Hi" }));
    let frames = [said.clone(), end("stop"), usage(json!(10), json!(2)), usage(json!(10), json!(3))];
    let got = answer_to(&openai(), &frames).unwrap();
    assert_eq!((got.usage.input, got.usage.output), (Some(10), Some(3)));
    assert!(got.anomalies.iter().any(|note| note.contains("different numbers")));
    let frames = [said.clone(), end("stop"), usage(json!(10), json!(2)), usage(json!(-1), json!("many"))];
    let got = answer_to(&openai(), &frames).unwrap();
    assert_eq!((got.usage.input, got.usage.output), (Some(10), Some(2)));
    // Counting along is no oddity; no counts are no zeros.
    let frames = [usage(json!(10), json!(1)), said.clone(), usage(json!(10), json!(2)), end("stop")];
    assert!(!answer_to(&openai(), &frames).unwrap().anomalies.iter().any(|note| note.contains("counts")));
    let got = answer_to(&openai(), &[said, end("stop")]).unwrap();
    assert_eq!(got.usage, TokenUsage::default());
}

#[test]
fn a_count_on_the_way_is_not_the_count_of_the_answer() {
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 1, "cost": 0.5 });
    let said = chunk(&json!({ "content": "Hi" }));
    let with_usage = |mut chunk: Value| {
        chunk["usage"] = usage.clone();
        chunk
    };
    let counted = with_usage(said.clone());
    let error = json!({ "error": { "code": 502, "message": "busy" } });
    for (frames, output) in [
        (vec![counted.clone(), error.clone()], None),
        (vec![counted.clone(), with_usage(error.clone())], None),
        (vec![counted.clone(), with_usage(end("stop")), error], Some(1)),
    ] {
        let Err(StreamFault::ProviderError(rejection)) = answer_to(&openai(), &frames) else { panic!("no error") };
        let usage = rejection.usage.unwrap();
        assert_eq!((usage.input, usage.output), (Some(10), output), "{frames:?}");
    }
    // A whole answer is counted when nothing of it came after the count.
    for (frames, output) in [
        (vec![counted.clone(), said, end("stop")], None),
        (vec![counted.clone(), end("stop")], Some(1)),
        (vec![counted, with_usage(end("stop"))], Some(1)),
    ] {
        let got = answer_to(&openai(), &frames).unwrap();
        assert_eq!((got.usage.output, got.cost.is_some()), (output, output.is_some()), "{frames:?}");
    }
}

#[test]
fn thinking_that_is_counted_beside_the_answer_is_added() {
    let usage = json!({ "choices": [], "usage": {
        "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 115,
        "completion_tokens_details": { "reasoning_tokens": 100 }
    } });
    let got = answer_to(&openai(), &[chunk(&json!({ "content": "Hi" })), end("stop"), usage]).unwrap();
    assert_eq!((got.usage.output, got.usage.reasoning), (Some(105), Some(100)));
}

#[test]
fn an_own_key_at_another_provider_costs_both() {
    let data = r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"cost":5e-05,"is_byok":true,"cost_details":{"upstream_inference_cost":0.00095}}}"#;
    let mut assembler = Dialect::OpenaiChat.assembler(&openai());
    for data in [chunk(&json!({ "content": "Hi" })).to_string(), end("stop").to_string(), data.to_owned()] {
        assembler.feed(&crate::dialect::Event::data(data)).unwrap();
    }
    assert_eq!(assembler.finish().unwrap().cost.unwrap().amount, NanoDollars::new(1_000_000));
}

#[test]
fn an_error_inside_the_stream_is_one() {
    let cut = json!({ "id": "gen-1", "error": { "code": 429, "message": "Slow down" },
        "choices": [{ "index": 0, "delta": { "content": "" }, "finish_reason": "error" }],
        "usage": { "prompt_tokens": 7, "completion_tokens": 1 } });
    let Err(StreamFault::ProviderError(rejection)) = answer_to(&openai(), &[chunk(&json!({ "content": "H" })), cut])
    else {
        panic!("no error");
    };
    assert_eq!(rejection.class, RejectionClass::RateLimited);
    assert_eq!(rejection.usage.unwrap().input, Some(7), "what was counted is not lost");
    let vllm = json!({ "object": "error", "message": "out of memory", "type": "server_error", "code": 500 });
    assert!(matches!(answer_to(&openai(), &[vllm]), Err(StreamFault::ProviderError(_))));
}

#[test]
fn reasons_and_what_came_are_made_to_agree() {
    let refusal = [chunk(&json!({ "refusal": "I will not." })), end("stop")];
    let got = answer_to(&openai(), &refusal).unwrap();
    assert_eq!(got.stop, StopReason::Refusal);
    assert_eq!(got.message.parts, vec![Part::Refusal { text: "I will not.".to_owned() }]);
    for (reason, stop) in [
        ("length", StopReason::Length),
        ("content_filter", StopReason::Filtered),
        ("tool_calls", StopReason::End),
        ("abort", StopReason::Other("abort".to_owned())),
    ] {
        assert_eq!(answer_to(&openai(), &[chunk(&json!({ "content": "Hi" })), end(reason)]).unwrap().stop, stop);
    }
    assert_eq!(answer_to(&openai(), &[chunk(&json!({ "content": "Hi" }))]), Err(StreamFault::Incomplete));
}

#[test]
fn fields_without_a_word_go_back_on_the_same_route() {
    let notes = json!([{ "type": "url_citation", "url": "http://x" }]);
    let frames = [chunk(&json!({ "content": "Hi", "annotations": notes })), end("stop")];
    let got = answer_to(&openai(), &frames).unwrap();
    let sent = body(&openai(), &asked(vec![Message::user("?"), got.message, Message::user("!")]));
    assert_eq!(sent["messages"][1]["annotations"], notes);
}

#[test]
fn the_catalogue_of_openrouter() {
    let page = json!({ "data": [
        { "id": "anthropic/claude-sonnet-4.5", "name": "Claude", "context_length": 1_000_000,
          "architecture": { "input_modalities": ["text", "image"] },
          "top_provider": { "context_length": 200_000, "max_completion_tokens": 64_000 },
          "supported_parameters": ["tools", "reasoning"],
          "pricing": { "prompt": "0.000003", "completion": "0.000015", "request": "0", "image": "0.0048",
                       "input_cache_read": "0.0000003", "input_cache_write": "0.00000375" } },
        { "id": "openrouter/auto", "context_length": 2_000_000, "pricing": { "prompt": "-1", "completion": "-1" } },
        { "id": "free/model", "pricing": { "prompt": "0", "completion": "0" }, "supported_parameters": [] }
    ] });
    let mut of = provider(Dialect::OpenaiChat);
    of.name = "openrouter".to_owned();
    let models = Dialect::OpenaiChat.parse_models(&of, page.to_string().as_bytes()).unwrap();
    let [claude, auto, free] = models.models.as_slice() else { panic!("not three") };
    assert_eq!((claude.window, claude.max_output), (Some(200_000), Some(64_000)));
    assert_eq!((claude.tools, claude.images, claude.reasoning), (Some(true), Some(true), Some(true)));
    let price = claude.price.clone().unwrap();
    assert_eq!((price.input, price.output), (PerMillion(3_000_000_000), PerMillion(15_000_000_000)));
    assert_eq!((price.cached, price.cache_write), (Some(PerMillion(300_000_000)), Some(PerMillion(3_750_000_000))));
    assert_eq!(price.image, NanoDollars::new(4_800_000));
    assert_eq!(auto.price, None);
    assert_eq!((free.price.clone().unwrap().output, free.tools), (PerMillion(0), Some(false)));
    assert_eq!(models.next, None);
}

#[test]
fn catalogues_that_say_little_claim_little() {
    let page = br#"{"object":"list","data":[{"id":"gpt-5.1","object":"model"},{"id":"m","max_model_len":32768}]}"#;
    let models = Dialect::OpenaiChat.parse_models(&provider(Dialect::OpenaiChat), page).unwrap().models;
    assert_eq!((models[0].window, models[0].tools, models[0].price.clone()), (None, None, None));
    assert_eq!(models[1].window, Some(32_768));
    assert!(Dialect::OpenaiChat.parse_models(&provider(Dialect::OpenaiChat), b"<html>").is_err());
}

#[test]
fn prices_under_conditions_are_read_and_what_is_not_understood_tells_no_cost() {
    let priced = |overrides: Value| {
        let pricing = json!({ "prompt": "0.000002", "completion": "0.00001", "input_cache_write_1h": "0.000004",
            "overrides": overrides });
        let page = json!({ "data": [{ "id": "m", "pricing": pricing }] }).to_string();
        let models = Dialect::OpenaiChat.parse_models(&openrouter("m").provider, page.as_bytes()).unwrap();
        models.models.into_iter().next().and_then(|facts| facts.price).unwrap()
    };
    let usage = |input| TokenUsage { input: Some(input), output: Some(0), ..TokenUsage::default() };
    let cost = |price: &Price, input| price.cost(&usage(input), 0).map(|cost| cost.get() / 1_000_000);
    let long = json!({ "min_prompt_tokens": 200_000, "prompt": "0.000004", "audio": "0.1", "utc_start": null });
    let longer = json!({ "min_prompt_tokens": 500_000, "completion": "0.00003" });
    let told = priced(json!([long, longer]));
    assert_eq!([100_000, 200_000, 500_000].map(|input| cost(&told, input)), [Some(200), Some(800), Some(2_000)]);
    assert_eq!(told.cache_write_long, Some(PerMillion(4_000_000_000)));
    let least = PerMillion(4_000_000_000).of(500_000).saturating_add(PerMillion(30_000_000_000).of(1_000));
    assert_eq!(told.bound(500_000, 1_000, 0), least, "what the later one does not name holds on");
    let flat = priced(json!([]));
    assert_eq!(cost(&flat, 500_000), Some(1_000));
    for strange in [
        json!([{ "min_prompt_tokens": 1, "prompt": "0.000004", "utc_start": "09:00" }]),
        json!([{ "min_prompt_tokens": 1, "request": "many" }]),
        json!([{ "min_prompt_tokens": 9, "prompt": "0.000004" }, { "min_prompt_tokens": 1, "completion": "0.00002" }]),
        json!([{ "prompt": "0.000004" }]),
    ] {
        assert_eq!(cost(&priced(strange.clone()), 100), None, "{strange}");
    }
}
