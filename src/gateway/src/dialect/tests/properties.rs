//! What holds for every format and every stream.

use super::{answer, asked, assistant, body, encode, one, openrouter, recorded, route, user};
use crate::dialect::assemble::MAX_ANSWER_BYTES;
use crate::dialect::draft::MAX_CALLS;
use crate::dialect::{Dialect, Event, StreamFault};
use ouroboros_proto::agent::{Message, ModelRequest, Part, Piece};
use serde_json::json;

/// A small generator: the same numbers every time, so that a failure can be seen again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(below.max(1)).unwrap()).unwrap()
    }
}

#[test]
fn what_was_shown_is_what_the_answer_has() {
    for (name, route, events) in recorded() {
        let mut assembler = route.provider.dialect.assembler(&route);
        let (mut text, mut thinking, mut arguments) = (String::new(), String::new(), Vec::<(String, String)>::new());
        for event in &events {
            for piece in assembler.feed(event).unwrap() {
                match piece {
                    Piece::Text(more) => text.push_str(&more),
                    Piece::Reasoning(more) => thinking.push_str(&more),
                    Piece::ToolCall { index, name } => {
                        assert_eq!(usize::try_from(index).unwrap(), arguments.len(), "{name}");
                        arguments.push((name, String::new()));
                    }
                    Piece::Arguments { index, text } => arguments[usize::try_from(index).unwrap()].1.push_str(&text),
                    _ => panic!("{name}: not the stream's"),
                }
            }
        }
        assert!(assembler.is_complete(), "{name}");
        let answer = assembler.finish().unwrap();
        assert_eq!(answer.message.text(), text, "{name}");
        let kept: Vec<(String, String)> = answer
            .message
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::ToolCall { name, arguments, .. } => Some((name.clone(), arguments.clone())),
                _ => None,
            })
            .collect();
        assert_eq!(kept, arguments, "{name}");
        let thoughts: String = answer
            .message
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Reasoning { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(thoughts, thinking, "{name}");
    }
}

#[test]
fn an_answer_that_ends_early_is_none() {
    for (name, route, events) in recorded() {
        let whole = answer(&route, &events).unwrap();
        for cut in 0..events.len() {
            match answer(&route, &events[..cut]) {
                // Only what comes after the reason of the end may be missing.
                Ok(cut) => {
                    assert_eq!(cut.message, whole.message, "{name}");
                    assert_eq!(cut.stop, whole.stop, "{name}");
                    assert!(cut.anomalies.len() > whole.anomalies.len(), "{name}: nothing was noted");
                }
                Err(fault) => {
                    assert!(matches!(fault, StreamFault::Incomplete | StreamFault::Malformed(_)), "{name}: {fault}")
                }
            }
        }
    }
}

#[test]
fn nothing_that_comes_makes_it_panic() {
    let mut dice = Dice(0x5EED_1234_ABCD_0001);
    for (_, route, events) in recorded() {
        for _ in 0..400 {
            let mut assembler = route.provider.dialect.assembler(&route);
            for _ in 0..dice.roll(events.len() * 2) {
                let event = &events[dice.roll(events.len())];
                let mut data = event.data.clone().into_bytes();
                for _ in 0..dice.roll(3) {
                    let at = dice.roll(data.len());
                    match dice.roll(3) {
                        0 => data[at] = u8::try_from(dice.roll(256)).unwrap(),
                        1 => data.truncate(at),
                        _ => data.insert(at, b"\"{}[]:,0-n"[dice.roll(10)]),
                    }
                    if data.is_empty() {
                        break;
                    }
                }
                let data = String::from_utf8_lossy(&data).into_owned();
                if assembler.feed(&Event { name: event.name.clone(), data }).is_err() {
                    break;
                }
            }
            let _ = assembler.usage();
            let _ = assembler.finish();
        }
    }
    for dialect in Dialect::ALL {
        for length in 0..64 {
            let bytes: Vec<u8> = (0..length).map(|_| u8::try_from(dice.roll(256)).unwrap()).collect();
            let _ = dialect.rejection(400, &|_| None, &bytes);
            let _ = dialect.parse_models(&super::provider(dialect), &bytes);
        }
    }
}

#[test]
fn every_answer_can_be_said_again_on_every_route() {
    let routes = [
        route(Dialect::OpenaiChat, "gpt-5.1"),
        openrouter("anthropic/claude-sonnet-4.5"),
        route(Dialect::OpenaiResponses, "gpt-5.1"),
        route(Dialect::AnthropicMessages, "claude-sonnet-4-5"),
        route(Dialect::Gemini, "gemini-3-pro-preview"),
        route(Dialect::Ollama, "qwen3:8b"),
    ];
    for (name, from, events) in recorded() {
        let answer = answer(&from, &events).unwrap();
        let request = asked(vec![Message::user("Go on."), answer.message.clone(), Message::user("And?")]);
        assert!(!encode(&from, &request).body.is_empty());
        for to in routes.iter().filter(|to| to.id != from.id) {
            let body = body(to, &request).to_string();
            for part in &answer.message.parts {
                match part {
                    Part::Text { text, .. } => assert!(body.contains(text.as_str()), "{name} on {}", to.id),
                    Part::ToolCall { name: tool, .. } => assert!(body.contains(tool.as_str()), "{name} on {}", to.id),
                    _ => {}
                }
            }
            for secret in ["EqQB", "gAAAA", "EmwK", "VGV4", "Q2Fs", "Looking it up", "reasoning_content"] {
                assert!(!body.contains(secret), "{name} on {}: {secret}", to.id);
            }
        }
    }
}

#[test]
fn an_answer_is_bounded() {
    let chunk = "x".repeat(1 << 20);
    let delta = json!({ "choices": [{ "delta": { "content": chunk } }] }).to_string();
    let line = json!({ "message": { "content": chunk }, "done": false }).to_string();
    let part = json!({ "candidates": [{ "content": { "parts": [{ "text": chunk }] } }] }).to_string();
    let text = json!({ "type": "response.output_text.delta", "delta": chunk }).to_string();
    let block = json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": chunk } });
    let open = json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } });
    for (dialect, open, piece) in [
        (Dialect::OpenaiChat, None, delta),
        (Dialect::Ollama, None, line),
        (Dialect::Gemini, None, part),
        (Dialect::OpenaiResponses, None, text),
        (Dialect::AnthropicMessages, Some(open.to_string()), block.to_string()),
    ] {
        let mut assembler = dialect.assembler(&route(dialect, "m"));
        if let Some(open) = open {
            assembler.feed(&Event::data(open)).unwrap();
        }
        let fits = MAX_ANSWER_BYTES / chunk.len() - 1;
        for _ in 0..fits {
            assembler.feed(&Event::data(piece.clone())).unwrap();
        }
        let mut more = (0..2).map(|_| assembler.feed(&Event::data(piece.clone())));
        assert!(more.any(|fed| fed == Err(StreamFault::TooLarge)), "{dialect:?}");
    }
}

/// The events of this many calls in each format, without their ends.
fn calls(dialect: Dialect, count: u32) -> Vec<serde_json::Value> {
    let call = |number: u32| {
        let function = json!({ "name": "f", "arguments": "{}" });
        match dialect {
            Dialect::OpenaiChat => vec![json!({ "choices": [{ "delta": { "tool_calls": [
                { "index": number, "id": format!("c{number}"), "function": function }] } }] })],
            Dialect::OpenaiResponses => {
                let item = json!({ "type": "function_call", "call_id": format!("c{number}"), "name": "f" });
                let done = json!({ "type": "response.output_item.done", "output_index": number, "item": item });
                let added = json!({ "type": "response.output_item.added", "output_index": number, "item": item });
                if number.is_multiple_of(2) { vec![done] } else { vec![added, done] }
            }
            Dialect::AnthropicMessages => {
                let block = json!({ "type": "tool_use", "id": format!("c{number}"), "name": "f", "input": {} });
                let start = json!({ "type": "content_block_start", "index": number, "content_block": block });
                vec![start, json!({ "type": "content_block_stop", "index": number })]
            }
            Dialect::Gemini => {
                let part = json!({ "functionCall": { "name": "f", "args": {} } });
                vec![json!({ "candidates": [{ "content": { "parts": [part] } }] })]
            }
            Dialect::Ollama => vec![json!({ "message": { "tool_calls": [{ "function": function }] } })],
        }
    };
    (0..count).flat_map(call).collect()
}

#[test]
fn an_answer_has_a_bounded_number_of_calls() {
    for dialect in Dialect::ALL {
        let outcome = |count| {
            let mut assembler = dialect.assembler(&route(dialect, "m"));
            calls(dialect, count).iter().try_for_each(|data| assembler.feed(&Event::data(data.to_string())).map(drop))
        };
        assert_eq!(outcome(MAX_CALLS), Ok(()), "{dialect:?}");
        assert_eq!(outcome(MAX_CALLS + 1), Err(StreamFault::TooLarge), "{dialect:?}");
    }
}

#[test]
fn the_bound_on_the_prompt_covers_every_byte_of_it() {
    let text = "Grüße, 世界! \u{0}\u{1}".repeat(50);
    let image = Part::Image { media_type: "image/png".to_owned(), data: "A".repeat(4_000_000) };
    for dialect in Dialect::ALL {
        let route = route(dialect, "m");
        let bytes = u64::try_from(text.len()).unwrap();
        let plain = encode(&route, &asked(vec![Message::user(text.clone())]));
        assert!(plain.bound_input >= bytes + 1_024, "{dialect:?}");
        assert!(plain.bound_input < bytes * 2 + 2_000, "{dialect:?}: far too much");
        let seen = encode(&route, &asked(vec![user(vec![Part::text(text.clone()), image.clone()])]));
        assert_eq!(seen.images, 1);
        assert!(seen.bound_input > plain.bound_input + 1_600, "{dialect:?}: an image counts");
        assert!(seen.bound_input < 100_000, "{dialect:?}: but not by its bytes");
        let tool = encode(&route, &super::with_tool(vec![Message::user(text.clone())]));
        assert!(tool.bound_input > plain.bound_input + 1_000, "{dialect:?}: hidden instructions for tools");
        assert_eq!(plain.bound_output, 1_000);
    }
}

#[test]
fn what_decides_the_price_cannot_be_set_from_outside() {
    let messages = vec![Message::user("Hello")];
    for (dialect, extra) in [
        (Dialect::OpenaiChat, json!({ "n": 5 })),
        (Dialect::OpenaiChat, json!({ "models": ["dear"] })),
        (Dialect::OpenaiChat, json!({ "max_tokens": 1_000_000 })),
        (Dialect::OpenaiChat, json!({ "service_tier": "priority" })),
        (Dialect::OpenaiResponses, json!({ "previous_response_id": "resp_1" })),
        (Dialect::AnthropicMessages, json!({ "tools": [] })),
        (Dialect::Gemini, json!({ "generationConfig": { "maxOutputTokens": 9 } })),
        (Dialect::Gemini, json!({ "generationConfig": 1 })),
        (Dialect::Ollama, json!({ "options": { "num_predict": -1 } })),
    ] {
        let extra = extra.as_object().unwrap().clone();
        let request = ModelRequest { extra: extra.clone(), ..asked(messages.clone()) };
        assert!(dialect.encode(&route(dialect, "m"), &request).is_err(), "{extra:?}");
    }
}

#[test]
fn other_extra_fields_go_into_the_body_and_into_its_objects() {
    let extra = json!({ "options": { "top_k": 5 }, "keep_alive": "1h" }).as_object().unwrap().clone();
    let request = ModelRequest { extra, ..asked(vec![Message::user("Hello")]) };
    let sent = body(&route(Dialect::Ollama, "m"), &request);
    assert_eq!(sent["options"], json!({ "num_predict": 1_000, "top_k": 5 }));
    assert_eq!(sent["keep_alive"], "1h");
}

#[test]
fn the_key_goes_where_the_format_wants_it() {
    assert_eq!(Dialect::OpenaiChat.auth_header("k"), ("authorization", "Bearer k".to_owned()));
    assert_eq!(Dialect::AnthropicMessages.auth_header("k"), ("x-api-key", "k".to_owned()));
    assert_eq!(Dialect::Gemini.auth_header("k"), ("x-goog-api-key", "k".to_owned()));
}

#[test]
fn the_id_in_the_header_is_kept_except_where_receipts_go_by_the_body() {
    let header = |name: &str| (name == "x-request-id").then(|| "req_7".to_owned());
    for (stream, id) in [("chat_tools", "req_7"), ("openrouter_reasoning", "gen-1764500001-Zk")] {
        let (route, events) = one(stream);
        let mut assembler = route.provider.dialect.assembler(&route);
        assembler.headers(&header);
        for event in &events {
            assembler.feed(event).unwrap();
        }
        assert_eq!(assembler.finish().unwrap().provider_request.as_deref(), Some(id));
    }
}

#[test]
fn a_native_part_that_is_not_json_is_left_out() {
    for dialect in Dialect::ALL {
        let route = route(dialect, "m");
        let native = ouroboros_proto::agent::Native { route: route.id.to_string(), json: "{broken".to_owned() };
        let parts = vec![Part::Native { native }, Part::text("Yes")];
        let request = asked(vec![Message::user("Hello"), assistant(parts), Message::user("Go")]);
        assert!(!body(&route, &request).to_string().contains("broken"));
    }
}
