//! Ollama's own format, a JSON object a line: <https://docs.ollama.com/api>.

use crate::answer::{Answer, Part, Stop};
use crate::fault::{Fault, Kind};
use crate::frames::Frames;
use crate::money::Tokens;
use crate::script::{Model, Script};
use crate::wire::{Asked, Route, Speaks, ask};
use ouroboros_proto::api::Timestamp;
use ouroboros_proto::kind::UtcMicros;
use serde_json::{Value, json};

/// How it speaks.
pub struct Ollama;

impl Speaks for Ollama {
    /// Streams unless it is told not to.
    fn ask(&self, route: &Route, body: &Value) -> Asked {
        let bound = body.pointer("/options/num_predict").and_then(Value::as_u64);
        Asked {
            stream: body.get("stream").and_then(Value::as_bool).unwrap_or(true),
            max_output: bound,
            ..ask(route, body, "messages", "content", &["messages", "tools"])
        }
    }

    /// It gives none: this one is only in the record.
    fn id(&self, tail: &str) -> String {
        tail.to_owned()
    }

    fn header(&self, _tail: &str) -> Option<(&'static str, String)> {
        None
    }

    fn stream_type(&self) -> &'static str {
        "application/x-ndjson"
    }

    fn stream(&self, answer: &Answer, out: &mut Frames) {
        let mut calls = 0_u32;
        for part in &answer.parts {
            let (pieces, name) = match part {
                Part::Text(pieces) | Part::Refusal(pieces) => (pieces, "content"),
                Part::Reasoning(pieces) => (pieces, "thinking"),
                Part::Call { .. } => {
                    let message = json!({ "role": "assistant", "content": "", "tool_calls": [call(part, &mut calls)] });
                    line(out, &frame(answer, &message, false), true);
                    continue;
                }
                Part::Raw(text) => {
                    out.raw_piece(text.clone());
                    continue;
                }
            };
            for piece in &pieces.list {
                let mut message = json!({ "role": "assistant", "content": "" });
                if let Some(fields) = message.as_object_mut() {
                    fields.insert(name.to_owned(), json!(piece));
                }
                line(out, &frame(answer, &message, false), true);
            }
            if pieces.endless {
                out.endless = true;
                return;
            }
        }
        out.ending();
        if let Some(fault) = &answer.fault {
            out.raw(format!("{}\n", self.fault(fault)));
            return;
        }
        let last = frame(answer, &json!({ "role": "assistant", "content": "" }), true);
        if answer.told.is_empty() {
            line(out, &last, false);
        }
        for tokens in &answer.told {
            line(out, &counted(last.clone(), tokens), false);
        }
    }

    fn whole(&self, answer: &Answer) -> String {
        let mut message = json!({ "role": "assistant" });
        let (mut text, mut thought, mut list, mut calls) = (String::new(), String::new(), vec![], 0);
        for part in &answer.parts {
            match part {
                Part::Text(pieces) | Part::Refusal(pieces) => text.push_str(&pieces.text()),
                Part::Reasoning(pieces) => thought.push_str(&pieces.text()),
                Part::Call { .. } => list.push(call(part, &mut calls)),
                Part::Raw(_) => {}
            }
        }
        if let Some(fields) = message.as_object_mut() {
            fields.insert("content".to_owned(), json!(text));
            fields.extend((!thought.is_empty()).then(|| ("thinking".to_owned(), json!(thought))));
            fields.extend((!list.is_empty()).then(|| ("tool_calls".to_owned(), json!(list))));
        }
        let body = frame(answer, &message, true);
        answer.told.first().map_or_else(|| body.clone(), |tokens| counted(body.clone(), tokens)).to_string()
    }

    fn fault(&self, fault: &Fault) -> String {
        let message = fault.message(|| match (fault.kind, fault.status) {
            (Kind::Overflow { window, prompt }, _) => {
                format!("the prompt is too long: {prompt} tokens exceed the context length of {window}")
            }
            (Kind::Status, 404) => format!("model '{}' not found", fault.model),
            (Kind::Status, 503) => "server busy, please try again.  maximum pending requests exceeded".to_owned(),
            (Kind::Status | Kind::Key, _) => "the request failed".to_owned(),
        });
        json!({ "error": message }).to_string()
    }

    fn models(&self, script: &Script) -> String {
        let entry = |id: &String| {
            json!({
                "name": id, "model": id, "modified_at": "2026-01-01T00:00:00Z", "size": 4_000_000_000_u64,
                "digest": "0".repeat(64), "details": details(),
            })
        };
        json!({ "models": script.models.keys().map(entry).collect::<Vec<_>>() }).to_string()
    }
}

/// One model of the catalogue: status and body.
pub fn show(script: &Script, id: &str) -> (u16, String) {
    let Some(model) = script.models.get(id) else {
        return (404, json!({ "error": format!("model '{id}' not found") }).to_string());
    };
    let body = json!({
        "modelfile": format!("FROM {id}"), "parameters": "", "template": "{{ .Prompt }}", "details": details(),
        "model_info": { "general.architecture": "scripted", "general.parameter_count": 7_000_000_000_u64,
                        "scripted.context_length": model.window },
        "capabilities": capabilities(model),
    });
    (200, body.to_string())
}

fn capabilities(model: &Model) -> Vec<&'static str> {
    let all = [("completion", true), ("tools", model.tools), ("vision", model.images), ("thinking", model.reasoning)];
    all.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()
}

fn details() -> Value {
    json!({ "parent_model": "", "format": "gguf", "family": "scripted", "families": ["scripted"], "parameter_size": "7B",
            "quantization_level": "Q4_K_M" })
}

/// Arguments are an object; what is not JSON is written as text.
fn call(part: &Part, calls: &mut u32) -> Value {
    let Part::Call { id, tool, arguments } = part else { return Value::Null };
    let text = arguments.text();
    let arguments: Value = serde_json::from_str(&text).unwrap_or(Value::String(text));
    let index = *calls;
    *calls = calls.saturating_add(1);
    json!({ "id": id, "function": { "index": index, "name": tool, "arguments": arguments } })
}

fn frame(answer: &Answer, message: &Value, done: bool) -> Value {
    let created = Timestamp(UtcMicros::new(answer.created)).to_string();
    let mut frame = json!({ "model": answer.model, "created_at": created, "message": message, "done": done });
    if let Some(fields) = frame.as_object_mut().filter(|_| done) {
        fields.insert("done_reason".to_owned(), json!(stop(&answer.stop)));
    }
    frame
}

fn counted(mut frame: Value, tokens: &Tokens) -> Value {
    let counts = [
        ("total_duration", 1_000_000),
        ("load_duration", 1_000),
        ("prompt_eval_count", tokens.input),
        ("prompt_eval_duration", 1_000),
        ("eval_count", tokens.output),
        ("eval_duration", 1_000),
    ];
    if let Some(fields) = frame.as_object_mut() {
        fields.extend(counts.map(|(name, count)| (name.to_owned(), json!(count))));
    }
    frame
}

fn line(out: &mut Frames, frame: &Value, piece: bool) {
    let text = format!("{frame}\n");
    if piece { out.raw_piece(text) } else { out.raw(text) }
}

fn stop(stop: &Stop) -> &str {
    match stop {
        Stop::End | Stop::Calls | Stop::Refusal | Stop::Filter | Stop::Pause | Stop::Text => "stop",
        Stop::Length => "length",
        Stop::Word(word) => word,
    }
}
