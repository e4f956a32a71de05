//! OpenAI's responses: <https://platform.openai.com/docs/api-reference/responses>, the events at
//! <https://platform.openai.com/docs/api-reference/responses-streaming>.

use crate::answer::{Answer, Part, Pieces, Stop};
use crate::fault::Fault;
use crate::frames::Frames;
use crate::money::Tokens;
use crate::script::Script;
use crate::wire::{Asked, Dialect, Route, Speaks, ask, text_of};
use serde_json::{Value, json};

/// How they speak.
pub struct Responses;

impl Speaks for Responses {
    fn ask(&self, route: &Route, body: &Value) -> Asked {
        let mut asked = ask(route, body, "input", "content", &["input", "instructions", "tools"]);
        // A prompt may be a plain text.
        if let Some(Value::String(_)) = body.get("input") {
            asked.text = body.get("input").map(text_of).unwrap_or_default();
            asked.last.clone_from(&asked.text);
        }
        Asked { max_output: body.get("max_output_tokens").and_then(Value::as_u64), ..asked }
    }

    fn id(&self, tail: &str) -> String {
        format!("resp_{tail}")
    }

    fn header(&self, tail: &str) -> Option<(&'static str, String)> {
        Some(("x-request-id", format!("req_{tail}")))
    }

    fn stream(&self, answer: &Answer, out: &mut Frames) {
        let mut events = Events { out, number: 0 };
        let begun = response(answer, "in_progress", &[], None);
        events.whole(json!({ "type": "response.created", "response": begun }));
        events.whole(json!({ "type": "response.in_progress", "response": begun }));
        let mut items = vec![];
        for part in &answer.parts {
            items.extend(events.part(answer, part, items.len()));
            if events.out.endless {
                return;
            }
        }
        events.out.ending();
        if let Some(fault) = &answer.fault {
            let error = json!({ "code": fault.code("server_error"), "message": fault.message(String::new) });
            let mut failed = response(answer, "failed", &items, None);
            set(&mut failed, "error", error);
            events.whole(json!({ "type": "response.failed", "response": failed }));
            return;
        }
        let status = status(&answer.stop);
        // Usage is in the last event; told twice, that event comes twice, and without it there is one that says nothing.
        let told: Vec<Option<&Tokens>> =
            if answer.told.is_empty() { vec![None] } else { answer.told.iter().map(Some).collect() };
        for tokens in told {
            let whole = response(answer, status, &items, tokens);
            events.whole(json!({ "type": format!("response.{status}"), "response": whole }));
        }
    }

    fn whole(&self, answer: &Answer) -> String {
        let items: Vec<Value> =
            answer.parts.iter().enumerate().filter_map(|(place, part)| item(answer, part, place)).collect();
        response(answer, status(&answer.stop), &items, answer.told.first()).to_string()
    }

    fn fault(&self, fault: &Fault) -> String {
        let mut error = crate::chat::openai_fault(fault);
        if let Some(param) = error.pointer_mut("/error/param").filter(|param| *param == "messages") {
            *param = json!("input");
        }
        error.to_string()
    }

    fn models(&self, script: &Script) -> String {
        crate::chat::of(Dialect::Openai).models(script)
    }
}

/// Events with their numbers.
struct Events<'a> {
    out: &'a mut Frames,
    number: u64,
}

impl Events<'_> {
    fn numbered(&mut self, mut event: Value) -> Value {
        set(&mut event, "sequence_number", json!(self.number));
        self.number = self.number.saturating_add(1);
        event
    }

    fn whole(&mut self, event: Value) {
        let event = self.numbered(event);
        self.out.event(&event);
    }

    fn piece(&mut self, event: Value) {
        let event = self.numbered(event);
        self.out.event_piece(&event);
    }

    /// The events of one part; its item, when it has one.
    fn part(&mut self, answer: &Answer, part: &Part, place: usize) -> Option<Value> {
        if let Part::Raw(text) = part {
            self.out.raw_piece(text.clone());
            return None;
        }
        let done = item(answer, part, place)?;
        let id = done.get("id").cloned().unwrap_or_default();
        self.whole(json!({ "type": "response.output_item.added", "output_index": place, "item": begun(&done) }));
        let at = |kind: &str| json!({ "type": format!("response.{kind}"), "item_id": id, "output_index": place });
        match part {
            Part::Text(pieces) => self.content(pieces, &at, "output_text"),
            Part::Refusal(pieces) => self.content(pieces, &at, "refusal"),
            Part::Reasoning(pieces) => self.summary(pieces, &at),
            Part::Call { arguments, .. } => {
                for piece in &arguments.list {
                    let mut event = at("function_call_arguments.delta");
                    set(&mut event, "delta", json!(piece));
                    self.piece(event);
                }
                let mut event = at("function_call_arguments.done");
                set(&mut event, "arguments", json!(arguments.text()));
                self.whole(event);
            }
            Part::Raw(_) => {}
        }
        if !self.out.endless {
            self.whole(json!({ "type": "response.output_item.done", "output_index": place, "item": done }));
        }
        Some(done)
    }

    fn content(&mut self, pieces: &Pieces, at: &dyn Fn(&str) -> Value, kind: &str) {
        let event = |name: &str, field: &str, value: Value| {
            let mut event = at(name);
            set(&mut event, "content_index", json!(0));
            set(&mut event, field, value);
            event
        };
        self.whole(event("content_part.added", "part", content(kind, "")));
        for piece in &pieces.list {
            self.piece(event(&format!("{kind}.delta"), "delta", json!(piece)));
        }
        if pieces.endless {
            self.out.endless = true;
            return;
        }
        let field = if kind == "refusal" { "refusal" } else { "text" };
        self.whole(event(&format!("{kind}.done"), field, json!(pieces.text())));
        self.whole(event("content_part.done", "part", content(kind, &pieces.text())));
    }

    fn summary(&mut self, pieces: &Pieces, at: &dyn Fn(&str) -> Value) {
        let event = |name: &str, field: &str, value: Value| {
            let mut event = at(name);
            set(&mut event, "summary_index", json!(0));
            set(&mut event, field, value);
            event
        };
        let part = |text: &str| json!({ "type": "summary_text", "text": text });
        self.whole(event("reasoning_summary_part.added", "part", part("")));
        for piece in &pieces.list {
            self.piece(event("reasoning_summary_text.delta", "delta", json!(piece)));
        }
        self.whole(event("reasoning_summary_text.done", "text", json!(pieces.text())));
        self.whole(event("reasoning_summary_part.done", "part", part(&pieces.text())));
    }
}

/// The finished item of a part.
fn item(answer: &Answer, part: &Part, place: usize) -> Option<Value> {
    let id = |prefix: &str| format!("{prefix}_{}{place:02}", answer.tail);
    let message = |content: Value| json!({ "id": id("msg"), "type": "message", "status": "completed", "role": "assistant", "content": [content] });
    match part {
        Part::Text(pieces) => Some(message(content("output_text", &pieces.text()))),
        Part::Refusal(pieces) => Some(message(content("refusal", &pieces.text()))),
        Part::Reasoning(pieces) => Some(json!({
            "id": id("rs"), "type": "reasoning", "summary": [{ "type": "summary_text", "text": pieces.text() }],
            "encrypted_content": format!("sealed-{}{place:02}", answer.tail),
        })),
        Part::Call { id: call, tool, arguments } => Some(json!({
            "id": id("fc"), "type": "function_call", "status": "completed", "call_id": call, "name": tool,
            "arguments": arguments.text(),
        })),
        Part::Raw(_) => None,
    }
}

/// The same item before anything is in it.
fn begun(item: &Value) -> Value {
    let mut begun = item.clone();
    let empty =
        [("content", json!([])), ("summary", json!([])), ("arguments", json!("")), ("status", json!("in_progress"))];
    for (name, value) in empty {
        if begun.get(name).is_some() {
            set(&mut begun, name, value);
        }
    }
    begun
}

fn content(kind: &str, text: &str) -> Value {
    match kind {
        "refusal" => json!({ "type": kind, "refusal": text }),
        _ => json!({ "type": kind, "text": text, "annotations": [], "logprobs": [] }),
    }
}

fn status(stop: &Stop) -> &'static str {
    match stop {
        Stop::End | Stop::Calls | Stop::Refusal | Stop::Pause | Stop::Text => "completed",
        Stop::Length | Stop::Filter | Stop::Word(_) => "incomplete",
    }
}

fn response(answer: &Answer, status: &str, items: &[Value], tokens: Option<&Tokens>) -> Value {
    let reason = match &answer.stop {
        _ if status != "incomplete" => None,
        Stop::Filter => Some("content_filter"),
        Stop::Word(word) => Some(word.as_str()),
        Stop::Length | Stop::End | Stop::Calls | Stop::Refusal | Stop::Pause | Stop::Text => Some("max_output_tokens"),
    };
    json!({
        "id": Responses.id(&answer.tail), "object": "response", "created_at": answer.created / 1_000_000, "status": status,
        "background": false, "error": null, "incomplete_details": reason.map(|reason| json!({ "reason": reason })),
        "model": answer.model, "output": items, "parallel_tool_calls": true, "previous_response_id": null, "store": false,
        "tool_choice": "auto", "tools": [], "truncation": "disabled", "metadata": {}, "usage": tokens.map(usage),
    })
}

fn usage(tokens: &Tokens) -> Value {
    json!({
        "input_tokens": tokens.input, "input_tokens_details": { "cached_tokens": tokens.cached },
        "output_tokens": tokens.output, "output_tokens_details": { "reasoning_tokens": tokens.reasoning },
        "total_tokens": tokens.total(),
    })
}

fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}
