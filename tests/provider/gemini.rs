//! Google's Gemini: <https://ai.google.dev/api/generate-content>, errors at <https://ai.google.dev/gemini-api/docs/troubleshooting>.
//!
//! Only the stream of events (`alt=sse`) is spoken, not the stream as one JSON array.

use crate::answer::{Answer, Part, Stop};
use crate::fault::{Fault, Kind};
use crate::frames::Frames;
use crate::money::Tokens;
use crate::script::{Model, Script};
use crate::wire::{Asked, Route, Speaks, ask};
use serde_json::{Value, json};

/// How it speaks.
pub struct Gemini;

impl Speaks for Gemini {
    fn ask(&self, route: &Route, body: &Value) -> Asked {
        Asked {
            max_output: body.pointer("/generationConfig/maxOutputTokens").and_then(Value::as_u64),
            ..ask(route, body, "contents", "parts", &["contents", "systemInstruction", "tools"])
        }
    }

    fn id(&self, tail: &str) -> String {
        tail.to_owned()
    }

    /// It has none: the id is in the body only.
    fn header(&self, _tail: &str) -> Option<(&'static str, String)> {
        None
    }

    fn stream(&self, answer: &Answer, out: &mut Frames) {
        for part in &answer.parts {
            frames(answer, part, out);
            if out.endless {
                return;
            }
        }
        out.ending();
        if let Some(fault) = &answer.fault {
            out.raw(format!("data: {}\r\n\r\n", self.fault(fault)));
            return;
        }
        let last = candidate(&[json!({ "text": "" })], Some(stop(answer)));
        if answer.told.is_empty() {
            send(out, &chunk(answer, &last, None), false);
        }
        for tokens in &answer.told {
            send(out, &chunk(answer, &last, Some(usage(tokens))), false);
        }
    }

    fn whole(&self, answer: &Answer) -> String {
        let parts: Vec<Value> = answer.parts.iter().filter_map(|part| full_part(answer, part)).collect();
        chunk(answer, &candidate(&parts, Some(stop(answer))), answer.told.first().map(usage)).to_string()
    }

    fn bad_key(&self) -> u16 {
        400
    }

    fn fault(&self, fault: &Fault) -> String {
        let status = match fault.status {
            400 => "INVALID_ARGUMENT",
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            500 => "INTERNAL",
            503 => "UNAVAILABLE",
            504 => "DEADLINE_EXCEEDED",
            _ => "UNKNOWN",
        };
        let message = fault.message(|| match (fault.kind, fault.status) {
            (Kind::Overflow { window, prompt }, _) => {
                format!("The input token count ({prompt}) exceeds the maximum number of tokens allowed ({window}).")
            }
            (Kind::Key, _) => "API key not valid. Please pass a valid API key.".to_owned(),
            (Kind::Status, 404) => {
                format!(
                    "models/{} is not found for API version v1beta, or is not supported for generateContent.",
                    fault.model
                )
            }
            (Kind::Status, 429) => {
                "You exceeded your current quota, please check your plan and billing details.".to_owned()
            }
            (Kind::Status, 503) => "The model is overloaded. Please try again later.".to_owned(),
            (Kind::Status, _) => "The request failed.".to_owned(),
        });
        let mut error = json!({ "code": fault.status, "message": message, "status": fault.code(status) });
        let info = (fault.kind == Kind::Key).then(|| {
            let kind = "type.googleapis.com/google.rpc.ErrorInfo";
            json!({ "@type": kind, "reason": "API_KEY_INVALID", "domain": "googleapis.com" })
        });
        let retry = fault.retry_after.as_ref().map(
            |after| json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{after}s") }),
        );
        if let (Some(fields), Some(detail)) = (error.as_object_mut(), info.or(retry)) {
            fields.insert("details".to_owned(), json!([detail]));
        }
        json!({ "error": error }).to_string()
    }

    fn models(&self, script: &Script) -> String {
        let entry = |(id, model): (&String, &Model)| {
            json!({
                "name": format!("models/{id}"), "version": "001", "displayName": id, "description": "A scripted model.",
                "inputTokenLimit": model.window, "outputTokenLimit": model.max_output, "thinking": model.reasoning,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
            })
        };
        json!({ "models": script.models.iter().map(entry).collect::<Vec<_>>() }).to_string()
    }
}

fn frames(answer: &Answer, part: &Part, out: &mut Frames) {
    match part {
        Part::Text(pieces) | Part::Refusal(pieces) => {
            for piece in &pieces.list {
                send(out, &chunk(answer, &candidate(&[json!({ "text": piece })], None), None), true);
            }
            out.endless |= pieces.endless;
        }
        Part::Reasoning(pieces) => {
            for piece in &pieces.list {
                let thought = json!({ "text": piece, "thought": true });
                send(out, &chunk(answer, &candidate(&[thought], None), None), true);
            }
        }
        // A call always comes whole.
        Part::Call { .. } => {
            if let Some(call) = full_part(answer, part) {
                send(out, &chunk(answer, &candidate(&[call], None), None), true);
            }
        }
        Part::Raw(text) => out.raw_piece(text.clone()),
    }
}

fn send(out: &mut Frames, chunk: &Value, piece: bool) {
    let text = format!("data: {chunk}\r\n\r\n");
    if piece { out.raw_piece(text) } else { out.raw(text) }
}

/// A part with everything in it. A call whose arguments are no object is not there: the reason of the end tells of it.
fn full_part(answer: &Answer, part: &Part) -> Option<Value> {
    match part {
        Part::Text(pieces) | Part::Refusal(pieces) => Some(json!({ "text": pieces.text() })),
        Part::Reasoning(pieces) => Some(json!({ "text": pieces.text(), "thought": true })),
        Part::Call { tool, arguments, .. } => {
            let args: Value = serde_json::from_str(&arguments.text()).ok()?;
            args.is_object().then(|| {
                let signature = format!("signed-{}", answer.tail);
                json!({ "functionCall": { "name": tool, "args": args }, "thoughtSignature": signature })
            })
        }
        Part::Raw(_) => None,
    }
}

fn candidate(parts: &[Value], finish: Option<&str>) -> Value {
    let mut candidate = json!({ "content": { "parts": parts, "role": "model" }, "index": 0 });
    if let (Some(fields), Some(finish)) = (candidate.as_object_mut(), finish) {
        fields.insert("finishReason".to_owned(), json!(finish));
        // What its filter cuts comes without content.
        if finish == "SAFETY" || finish == "MALFORMED_FUNCTION_CALL" {
            fields.remove("content");
        }
    }
    candidate
}

fn chunk(answer: &Answer, candidate: &Value, usage: Option<Value>) -> Value {
    let mut chunk =
        json!({ "candidates": [candidate], "modelVersion": answer.model, "responseId": Gemini.id(&answer.tail) });
    if let (Some(fields), Some(usage)) = (chunk.as_object_mut(), usage) {
        fields.insert("usageMetadata".to_owned(), usage);
    }
    chunk
}

/// Tool calls end with `STOP` like everything else.
fn stop(answer: &Answer) -> &str {
    let lost = |part: &Part| matches!(part, Part::Call { .. }) && full_part(answer, part).is_none();
    match &answer.stop {
        Stop::Word(word) => word,
        _ if answer.parts.iter().any(lost) => "MALFORMED_FUNCTION_CALL",
        Stop::End | Stop::Calls | Stop::Pause | Stop::Text => "STOP",
        Stop::Length => "MAX_TOKENS",
        Stop::Filter | Stop::Refusal => "SAFETY",
    }
}

/// `candidatesTokenCount` is without thinking.
fn usage(tokens: &Tokens) -> Value {
    let mut usage = json!({
        "promptTokenCount": tokens.input, "candidatesTokenCount": tokens.visible(), "totalTokenCount": tokens.total(),
        "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": tokens.input }],
    });
    if let Some(fields) = usage.as_object_mut() {
        let more = [("thoughtsTokenCount", tokens.reasoning), ("cachedContentTokenCount", tokens.cached)];
        fields.extend(
            more.iter().filter(|(_, count)| *count > 0).map(|(name, count)| ((*name).to_owned(), json!(count))),
        );
    }
    usage
}
