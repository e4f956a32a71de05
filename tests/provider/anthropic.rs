//! Anthropic's messages: <https://platform.claude.com/docs/en/api/messages>, streaming at
//! <https://platform.claude.com/docs/en/build-with-claude/streaming>, errors at <https://platform.claude.com/docs/en/api/errors>.

use crate::answer::{Answer, Part, Stop};
use crate::fault::{Fault, Kind};
use crate::frames::Frames;
use crate::money::Tokens;
use crate::script::{Model, Script};
use crate::wire::{Asked, Route, Speaks, ask};
use serde_json::{Value, json};

/// How they speak.
pub struct Anthropic;

impl Speaks for Anthropic {
    fn ask(&self, route: &Route, body: &Value) -> Asked {
        Asked {
            max_output: body.get("max_tokens").and_then(Value::as_u64),
            ..ask(route, body, "messages", "content", &["messages", "system", "tools"])
        }
    }

    fn id(&self, tail: &str) -> String {
        format!("msg_{tail}")
    }

    fn header(&self, tail: &str) -> Option<(&'static str, String)> {
        Some(("request-id", format!("req_{tail}")))
    }

    fn stream(&self, answer: &Answer, out: &mut Frames) {
        let told = answer.told.first();
        let mut message = message(answer, &[], Value::Null);
        if let (Some(fields), Some(tokens)) = (message.as_object_mut(), told) {
            fields.insert("usage".to_owned(), usage(&Tokens { output: 1, ..*tokens }));
        }
        out.event(&json!({ "type": "message_start", "message": message }));
        let mut index = 0_u32;
        for part in &answer.parts {
            if let Part::Raw(text) = part {
                out.raw_piece(text.clone());
                continue;
            }
            block(answer, part, index, out);
            if out.endless {
                return;
            }
            index = index.saturating_add(1);
        }
        out.ending();
        if let Some(fault) = &answer.fault {
            out.raw(format!("event: error\ndata: {}\n\n", self.fault(fault)));
            return;
        }
        let delta = json!({ "stop_reason": stop(&answer.stop), "stop_sequence": null });
        let plain = json!({ "type": "message_delta", "delta": delta });
        if answer.told.is_empty() {
            out.event(&plain);
        }
        for tokens in &answer.told {
            let mut event = plain.clone();
            if let Some(fields) = event.as_object_mut() {
                fields.insert("usage".to_owned(), last_usage(tokens));
            }
            out.event(&event);
        }
        out.event(&json!({ "type": "message_stop" }));
    }

    fn whole(&self, answer: &Answer) -> String {
        let blocks: Vec<Value> = answer.parts.iter().filter_map(|part| full_block(answer, part)).collect();
        let mut message = message(answer, &blocks, json!(stop(&answer.stop)));
        if let (Some(fields), Some(tokens)) = (message.as_object_mut(), answer.told.first()) {
            fields.insert("usage".to_owned(), usage(tokens));
        }
        message.to_string()
    }

    fn fault(&self, fault: &Fault) -> String {
        let kind = match fault.status {
            401 => "authentication_error",
            402 => "billing_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            504 => "timeout_error",
            529 => "overloaded_error",
            400..500 => "invalid_request_error",
            _ => "api_error",
        };
        let message = fault.message(|| match (fault.kind, fault.status) {
            (Kind::Overflow { window, prompt }, _) => format!("prompt is too long: {prompt} tokens > {window} maximum"),
            (Kind::Key, _) | (Kind::Status, 401) => "invalid x-api-key".to_owned(),
            (Kind::Status, 404) => format!("model: {}", fault.model),
            (Kind::Status, 529) => "Overloaded".to_owned(),
            (Kind::Status, _) => kind.replace('_', " "),
        });
        let error = json!({ "type": fault.code(kind), "message": message });
        json!({ "type": "error", "error": error, "request_id": fault.request }).to_string()
    }

    fn models(&self, script: &Script) -> String {
        let entry = |(id, model): (&String, &Model)| {
            json!({
                "type": "model", "id": id, "display_name": id, "created_at": "2026-01-01T00:00:00Z",
                "max_input_tokens": model.window, "max_tokens": model.max_output,
            })
        };
        let (first, last) = (script.models.keys().next(), script.models.keys().next_back());
        let data: Vec<Value> = script.models.iter().map(entry).collect();
        json!({ "data": data, "has_more": false, "first_id": first, "last_id": last }).to_string()
    }
}

fn message(answer: &Answer, content: &[Value], stop: Value) -> Value {
    json!({
        "id": Anthropic.id(&answer.tail), "type": "message", "role": "assistant", "model": answer.model, "content": content,
        "stop_reason": stop, "stop_sequence": null,
    })
}

/// The events of one block.
fn block(answer: &Answer, part: &Part, index: u32, out: &mut Frames) {
    let Some(mut empty) = full_block(answer, part) else { return };
    if let Some(fields) = empty.as_object_mut() {
        for (name, value) in fields.iter_mut() {
            match name.as_str() {
                "text" | "thinking" | "signature" => *value = json!(""),
                "input" => *value = json!({}),
                _ => {}
            }
        }
    }
    out.event(&json!({ "type": "content_block_start", "index": index, "content_block": empty }));
    if index == 0 {
        out.event(&json!({ "type": "ping" }));
    }
    let (pieces, kind, field) = match part {
        Part::Text(pieces) | Part::Refusal(pieces) => (pieces, "text_delta", "text"),
        Part::Reasoning(pieces) => (pieces, "thinking_delta", "thinking"),
        Part::Call { arguments, .. } => (arguments, "input_json_delta", "partial_json"),
        Part::Raw(_) => return,
    };
    let delta = |kind: &str, field: &str, text: &str| json!({ "type": "content_block_delta", "index": index, "delta": { "type": kind, field: text } });
    for piece in &pieces.list {
        out.event_piece(&delta(kind, field, piece));
    }
    if pieces.endless {
        out.endless = true;
        return;
    }
    if matches!(part, Part::Reasoning(_)) {
        out.event(&delta("signature_delta", "signature", &signature(answer)));
    }
    out.event(&json!({ "type": "content_block_stop", "index": index }));
}

/// A block with everything in it. Arguments that are not JSON are an empty object, as they cannot be written otherwise.
fn full_block(answer: &Answer, part: &Part) -> Option<Value> {
    match part {
        Part::Text(pieces) | Part::Refusal(pieces) => Some(json!({ "type": "text", "text": pieces.text() })),
        Part::Reasoning(pieces) => {
            Some(json!({ "type": "thinking", "thinking": pieces.text(), "signature": signature(answer) }))
        }
        Part::Call { id, tool, arguments } => {
            let input: Value = serde_json::from_str(&arguments.text()).unwrap_or_else(|_| json!({}));
            Some(json!({ "type": "tool_use", "id": id.replace("call_", "toolu_"), "name": tool, "input": input }))
        }
        Part::Raw(_) => None,
    }
}

fn signature(answer: &Answer) -> String {
    format!("signed-{}", answer.tail)
}

fn stop(stop: &Stop) -> &str {
    match stop {
        Stop::End => "end_turn",
        Stop::Length => "max_tokens",
        Stop::Calls => "tool_use",
        Stop::Filter | Stop::Refusal => "refusal",
        Stop::Pause => "pause_turn",
        Stop::Text => "stop_sequence",
        Stop::Word(word) => word,
    }
}

/// `input_tokens` is the prompt without what a cache had to do with.
fn usage(tokens: &Tokens) -> Value {
    json!({
        "input_tokens": tokens.uncached(), "cache_creation_input_tokens": tokens.cache_write,
        "cache_read_input_tokens": tokens.cached,
        "cache_creation": { "ephemeral_5m_input_tokens": tokens.cache_write, "ephemeral_1h_input_tokens": 0 },
        "output_tokens": tokens.output, "service_tier": "standard",
    })
}

fn last_usage(tokens: &Tokens) -> Value {
    json!({
        "input_tokens": tokens.uncached(), "cache_creation_input_tokens": tokens.cache_write,
        "cache_read_input_tokens": tokens.cached, "output_tokens": tokens.output,
    })
}
