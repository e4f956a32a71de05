//! Requests and answers of `generateContent`.

use crate::dialect::tests::{
    answer, answer_to, asked, assistant, body, body_without, call, encode, image, one, provider, result, route, user,
    with_tool,
};
use crate::dialect::{Dialect, EncodeError, Framing, RejectionClass, StreamFault};
use crate::route::Route;
use ouroboros_proto::agent::{
    Effort, Instruction, Message, ModelRequest, OutputSchema, Part, StopReason, TokenUsage, ToolChoice,
};
use serde_json::{Value, json};

fn at(model: &str) -> Route {
    route(Dialect::Gemini, model)
}

#[test]
fn a_request() {
    let mut failed = result("c1", "weather", "no such city");
    if let Part::ToolResult { is_error, parts, .. } = &mut failed {
        *is_error = true;
        parts.push(image());
    }
    let request = ModelRequest {
        instructions: vec![Instruction { text: "Be brief.".to_owned(), cache: true }],
        tool_choice: ToolChoice::Tool("weather".to_owned()),
        temperature_milli: Some(200),
        effort: Some(Effort::Low),
        output_schema: Some(OutputSchema { name: "city".to_owned(), schema: json!({ "type": "object" }) }),
        stop: vec!["END".to_owned()],
        ..with_tool(vec![
            user(vec![Part::text("Where?"), image()]),
            assistant(vec![Part::text("I ask."), call("c1", "weather", "{\"city\":\"Ulm\"}")]),
            user(vec![failed]),
        ])
    };
    let picture = json!({ "inlineData": { "mimeType": "image/png", "data": "iVBORw0KGgo=" } });
    let expected = json!({
        "systemInstruction": { "parts": [{ "text": "Be brief." }] },
        "generationConfig": {
            "maxOutputTokens": 1_000,
            "temperature": 0.2,
            "stopSequences": ["END"],
            "responseMimeType": "application/json",
            "responseJsonSchema": { "type": "object" },
            "thinkingConfig": { "thinkingBudget": 2_048, "includeThoughts": true }
        },
        "tools": [{ "functionDeclarations": [{
            "name": "weather",
            "description": "Tells the weather.",
            "parametersJsonSchema": { "type": "object", "properties": { "city": { "type": "string" } } }
        }] }],
        "toolConfig": { "functionCallingConfig": { "mode": "ANY", "allowedFunctionNames": ["weather"] } },
        "contents": [
            { "role": "user", "parts": [{ "text": "Where?" }, picture] },
            { "role": "model", "parts": [
                { "text": "I ask." },
                { "functionCall": { "name": "weather", "args": { "city": "Ulm" } } }
            ] },
            { "role": "user", "parts": [
                { "functionResponse": { "name": "weather", "response": { "error": "no such city" } } },
                { "text": "Image from weather:" },
                picture
            ] }
        ]
    });
    let wire = encode(&at("gemini-2.5-flash"), &request);
    assert_eq!(wire.path, "/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
    assert_eq!(wire.framing, Framing::Sse);
    assert_eq!(serde_json::from_slice::<Value>(&wire.body).unwrap(), expected);
    assert_eq!(encode(&at("models/x y"), &request).path, "/models/x%20y:streamGenerateContent?alt=sse");
}

#[test]
fn thinking_is_asked_for_in_the_words_of_the_generation() {
    let config = |model: &str, effort| {
        let request = ModelRequest { effort: Some(effort), ..asked(vec![Message::user("Hello")]) };
        body(&at(model), &request)["generationConfig"]["thinkingConfig"].clone()
    };
    let shown = |level: &str| json!({ "thinkingLevel": level, "includeThoughts": true });
    assert_eq!(config("gemini-3-flash-preview", Effort::None), json!({ "thinkingLevel": "minimal" }));
    assert_eq!(config("gemini-3-pro-preview", Effort::Minimal), shown("low"));
    assert_eq!(config("gemini-3-pro-preview", Effort::Medium), shown("high"));
    assert_eq!(config("gemini-flash-latest", Effort::Max), shown("high"));
    assert_eq!(config("gemini-2.5-flash", Effort::None), json!({ "thinkingBudget": 0 }));
    assert_eq!(config("gemini-2.5-pro", Effort::None), json!({ "thinkingBudget": 128 }));
    assert_eq!(config("gemini-2.0-flash", Effort::High), Value::Null);
    let request = ModelRequest { effort: Some(Effort::High), ..asked(vec![Message::user("Hello")]) };
    let sent = body_without(&at("gemini-3-pro-preview"), &request, &["thinking_level"]);
    assert_eq!(sent["generationConfig"], json!({ "maxOutputTokens": 1_000 }));
}

#[test]
fn both_spellings_of_a_field_are_one() {
    let extra = |extra: Value| {
        let Value::Object(extra) = extra else { panic!("no object") };
        ModelRequest { extra, ..asked(vec![Message::user("Hello")]) }
    };
    let request = extra(json!({
        "generation_config": {
            "top_p": 0.5, "response_schema": { "a_b": 1 }, "thinking_config": { "thinking_budget": 7 }
        },
        "generationConfig": { "topK": 3 },
        "safety_settings": [{ "in_here": "as it is" }],
    }));
    let wire = encode(&at("gemini-2.5-flash"), &ModelRequest { effort: Some(Effort::Low), ..request });
    assert_eq!(String::from_utf8(wire.body.clone()).unwrap().matches("eneration").count(), 1, "no field stands twice");
    let sent: Value = serde_json::from_slice(&wire.body).unwrap();
    assert_eq!(sent["safetySettings"], json!([{ "in_here": "as it is" }]));
    let config = json!({ "maxOutputTokens": 1_000, "topP": 0.5, "responseSchema": { "a_b": 1 }, "topK": 3,
        "thinkingConfig": { "thinkingBudget": 7, "includeThoughts": true } });
    assert_eq!(sent["generationConfig"], config);
    for closed in [
        json!({ "cached_content": "c" }),
        json!({ "system_instruction": {} }),
        json!({ "service_tier": "priority" }),
        json!({ "serviceTier": "priority" }),
        json!({ "generation_config": { "candidate_count": 2 } }),
        json!({ "generationConfig": { "max_output_tokens": 2 } }),
        json!({ "generation_config": 1 }),
    ] {
        let got = Dialect::Gemini.encode(&at("gemini-2.5-flash"), &extra(closed.clone()));
        assert!(matches!(got, Err(EncodeError::Closed(_))), "{closed}");
    }
}

#[test]
fn an_answer_and_how_its_signatures_go_back() {
    let (route, events) = one("gemini_tools");
    let answer = answer(&route, &events).unwrap();
    assert_eq!(answer.stop, StopReason::ToolCalls);
    let usage = TokenUsage {
        input: Some(57),
        cached: Some(32),
        output: Some(63),
        reasoning: Some(33),
        ..TokenUsage::default()
    };
    assert_eq!(answer.usage, usage, "thinking is part of the answer");
    let ids: Vec<&str> = answer
        .message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall { id, .. } => Some(id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["call_aB9xyz_0", "call_aB9xyz_1"]);
    let results = ids.iter().map(|id| result(id, "weather", "rain")).collect();
    let wire = encode(&route, &asked(vec![Message::user("Weather?"), answer.message.clone(), user(results)]));
    let text = String::from_utf8(wire.body).unwrap();
    let first = r#"{"functionCall":{"name":"weather","args":{"city":"Ulm","at":1.50}},"thoughtSignature":"Q2FsbA=="}"#;
    assert!(text.contains(first), "byte for byte");
    let sent: Value = serde_json::from_str(&text).unwrap();
    let parts = sent["contents"][1]["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 3, "thoughts are not sent");
    assert_eq!(parts[0], json!({ "text": "I check both.", "thoughtSignature": "VGV4dA==" }));
    let response = json!({ "functionResponse": { "name": "weather", "response": { "output": "rain" } } });
    assert_eq!(sent["contents"][2]["parts"], json!([response, response]));
}

#[test]
fn a_call_of_another_model_gets_the_mark_that_is_asked_for() {
    let calls = assistant(vec![call("a", "one", "{}"), call("b", "two", "{}")]);
    let sent = body(&at("gemini-3-pro-preview"), &asked(vec![Message::user("Go"), calls]));
    let parts = &sent["contents"][1]["parts"];
    assert_eq!(parts[0]["thoughtSignature"], "skip_thought_signature_validator");
    assert_eq!(parts[1].get("thoughtSignature"), None);
}

#[test]
fn ids_that_the_provider_gave_come_back_with_the_results() {
    let frame = json!({ "candidates": [{ "content": { "parts": [
        { "functionCall": { "id": "fc-1", "name": "one", "args": {} } }] }, "finishReason": "STOP" }] });
    let answer = answer_to(&at("gemini-3-pro-preview"), &[frame]).unwrap();
    let given = user(vec![result("fc-1", "one", "done")]);
    let sent = body(&at("gemini-3-pro-preview"), &asked(vec![Message::user("Go"), answer.message, given]));
    assert_eq!(sent["contents"][2]["parts"][0]["functionResponse"]["id"], "fc-1");
}

#[test]
fn parts_of_other_kinds_are_kept() {
    let code = json!({ "executableCode": { "language": "PYTHON", "code": "1+1" } });
    let frame = json!({ "candidates": [{ "content": { "parts": [code] }, "finishReason": "STOP" }] });
    let answer = answer_to(&at("gemini-2.5-pro"), &[frame]).unwrap();
    let sent = body(&at("gemini-2.5-pro"), &asked(vec![Message::user("Go"), answer.message, Message::user("On")]));
    assert_eq!(sent["contents"][1]["parts"][0], code);
}

#[test]
fn every_reason_has_its_word() {
    for (reason, stop) in [
        ("STOP", StopReason::End),
        ("MAX_TOKENS", StopReason::Length),
        ("SAFETY", StopReason::Filtered),
        ("PROHIBITED_CONTENT", StopReason::Filtered),
        ("MALFORMED_FUNCTION_CALL", StopReason::Other("MALFORMED_FUNCTION_CALL".to_owned())),
    ] {
        let frame = json!({ "candidates": [{ "content": { "parts": [] }, "finishReason": reason }] });
        let answer = answer_to(&at("m"), &[frame]).unwrap();
        assert_eq!(answer.stop, stop);
        assert!(answer.anomalies.iter().any(|note| note.contains("empty")));
    }
    let unfinished = json!({ "candidates": [{ "content": { "parts": [{ "text": "Hi" }] } }] });
    assert_eq!(answer_to(&at("m"), &[unfinished]), Err(StreamFault::Incomplete));
}

#[test]
fn a_blocked_prompt_is_a_refusal_with_what_was_counted() {
    let frame = json!({ "promptFeedback": { "blockReason": "SAFETY" },
        "usageMetadata": { "promptTokenCount": 7, "totalTokenCount": 7 } });
    let Err(StreamFault::ProviderError(rejection)) = answer_to(&at("m"), &[frame]) else { panic!("no refusal") };
    assert_eq!((rejection.class, rejection.code.as_deref()), (RejectionClass::Refused, Some("SAFETY")));
    let usage = rejection.usage.unwrap();
    assert_eq!((usage.input, usage.output), (Some(7), Some(0)));
    let error = json!({ "error": { "code": 503, "message": "Overloaded", "status": "UNAVAILABLE" } });
    let Err(StreamFault::ProviderError(rejection)) = answer_to(&at("m"), &[error]) else { panic!("no error") };
    assert_eq!(rejection.class, RejectionClass::Overloaded);
}

#[test]
fn an_error_in_the_middle_leaves_open_how_much_was_answered() {
    let counts = json!({ "promptTokenCount": 7, "candidatesTokenCount": 2, "totalTokenCount": 9 });
    let part = json!({ "candidates": [{ "content": { "parts": [{ "text": "Hi" }] } }], "usageMetadata": counts });
    let error = json!({ "error": { "code": 503, "message": "Overloaded", "status": "UNAVAILABLE" } });
    let Err(StreamFault::ProviderError(rejection)) = answer_to(&at("m"), &[part, error]) else { panic!("no error") };
    let usage = rejection.usage.unwrap();
    assert_eq!((usage.input, usage.output), (Some(7), None));
}

#[test]
fn the_catalogue() {
    let page = json!({ "models": [
        { "name": "models/gemini-3-pro", "displayName": "Gemini 3 Pro", "inputTokenLimit": 1_048_576,
          "outputTokenLimit": 65_536, "supportedGenerationMethods": ["generateContent"], "thinking": true },
        { "name": "models/embedding", "supportedGenerationMethods": ["embedContent"] }
    ], "nextPageToken": "a/b=" });
    let models = Dialect::Gemini.parse_models(&provider(Dialect::Gemini), page.to_string().as_bytes()).unwrap();
    assert_eq!(models.next.as_deref(), Some("/models?pageSize=1000&pageToken=a%2Fb%3D"));
    let [facts] = models.models.as_slice() else { panic!("not one") };
    assert_eq!((facts.model.as_str(), facts.window), ("gemini-3-pro", Some(1_048_576)));
    assert_eq!((facts.max_output, facts.reasoning), (Some(65_536), Some(true)));
}
