//! The answer: a line of JSON a piece, the last one with `done` and the counts. An error is a line too.

use crate::dialect::Dialect;
use crate::dialect::assemble::{Stream, StreamFault};
use crate::dialect::draft::Draft;
use crate::dialect::read::{json, some, text, tokens};
use crate::dialect::rejection;
use crate::dialect::wire::Event;
use ouroboros_proto::agent::{Part, Piece, StopReason, TokenUsage};
use serde_json::{Map, Value};

/// An answer that comes.
#[derive(Debug, Default)]
pub(in crate::dialect) struct Lines {
    thinking: String,
    text: String,
    calls: Vec<Part>,
    others: Map<String, Value>,
    done: bool,
}

impl Stream for Lines {
    fn feed(&mut self, draft: &mut Draft, event: &Event) -> Result<(), StreamFault> {
        if event.data.trim().is_empty() {
            return Ok(());
        }
        let line = json(&event.data)?;
        if some(line.get("error")).is_some() {
            return Err(StreamFault::ProviderError(rejection::in_stream(Dialect::Ollama, &line)));
        }
        if self.done {
            draft.note("Events came after the end.");
            return Ok(());
        }
        draft.model(text(&line, "model"));
        draft.seed(text(&line, "created_at"));
        if let Some(message) = line.get("message").and_then(Value::as_object) {
            self.message(draft, message)?;
        }
        if line.get("done") == Some(&Value::Bool(true)) {
            self.end(draft, &line);
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.done
    }

    fn finish(&mut self, draft: &mut Draft) -> Result<(), StreamFault> {
        if !self.done {
            return Err(StreamFault::Incomplete);
        }
        if !self.thinking.is_empty() {
            let text = std::mem::take(&mut self.thinking);
            let native = Some(draft.native(serde_json::json!({ "thinking": text.as_str() }).to_string()));
            draft.push(Part::Reasoning { text, native });
        }
        if !self.text.is_empty() {
            draft.push(Part::text(std::mem::take(&mut self.text)));
        }
        for call in self.calls.drain(..) {
            draft.push(call);
        }
        if !self.others.is_empty() {
            let native = draft.native(Value::Object(std::mem::take(&mut self.others)).to_string());
            draft.push(Part::Native { native });
        }
        Ok(())
    }
}

impl Lines {
    fn message(&mut self, draft: &mut Draft, message: &Map<String, Value>) -> Result<(), StreamFault> {
        for (name, value) in message {
            let Some(value) = some(Some(value)) else { continue };
            match (name.as_str(), value) {
                ("role", _) => {}
                ("content", Value::String(text)) => {
                    draft.grow(text.len())?;
                    self.text.push_str(text);
                    draft.show(Piece::Text(text.clone()));
                }
                ("thinking", Value::String(text)) => {
                    draft.grow(text.len())?;
                    self.thinking.push_str(text);
                    draft.show(Piece::Reasoning(text.clone()));
                }
                ("tool_calls", Value::Array(calls)) => {
                    for call in calls {
                        self.call(draft, call)?;
                    }
                }
                (name, value) => {
                    draft.grow(name.len().saturating_add(value.to_string().len()))?;
                    self.others.insert(name.to_owned(), value.clone());
                }
            }
        }
        Ok(())
    }

    /// Calls come whole, with an object as arguments.
    fn call(&mut self, draft: &mut Draft, call: &Value) -> Result<(), StreamFault> {
        let function = call.get("function").unwrap_or(&Value::Null);
        let Some(name) = text(function, "name") else {
            return Err(StreamFault::Malformed("a call names no tool".to_owned()));
        };
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => "{}".to_owned(),
            Some(value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_))) => value.to_string(),
        };
        let index = draft.grow_call()?;
        draft.grow(name.len().saturating_add(arguments.len()))?;
        let id = text(call, "id").map_or_else(|| draft.mint(index), str::to_owned);
        draft.show(Piece::ToolCall { index, name: name.to_owned() });
        draft.show(Piece::Arguments { index, text: arguments.clone() });
        self.calls.push(Part::ToolCall { id, name: name.to_owned(), arguments, native: None });
        Ok(())
    }

    fn end(&mut self, draft: &mut Draft, line: &Value) {
        self.done = true;
        draft.count(TokenUsage {
            input: tokens(line.get("prompt_eval_count")),
            output: tokens(line.get("eval_count")),
            ..TokenUsage::default()
        });
        draft.stop(match text(line, "done_reason") {
            Some("stop") | None if self.calls.is_empty() => StopReason::End,
            Some("stop") | None => StopReason::ToolCalls,
            Some("length") => StopReason::Length,
            Some(other) => StopReason::Other(other.to_owned()),
        });
    }
}
