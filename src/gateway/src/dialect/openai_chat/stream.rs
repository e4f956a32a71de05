//! The answer.
//!
//! Every chunk has `choices[0].delta`; the last but one names the reason, one more may bring the counts, `[DONE]` ends it. Servers
//! leave out ids, indexes, counts and even `[DONE]`; what can be read without guessing is read, and noted.

use super::calls::Calls;
use super::thinking::Thinking;
use super::usage::Counts;
use crate::dialect::Dialect;
use crate::dialect::assemble::{Stream, StreamFault};
use crate::dialect::draft::Draft;
use crate::dialect::read::{malformed, some, text};
use crate::dialect::rejection;
use crate::dialect::wire::Event;
use ouroboros_proto::agent::{Part, Piece, StopReason};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A chat completion that comes.
#[derive(Debug, Default)]
pub(in crate::dialect) struct Chat {
    thinking: Thinking,
    text: String,
    refusal: String,
    calls: Calls,
    counts: Counts,
    /// Fields of the message that have no word in our form.
    others: Map<String, Value>,
    done: bool,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(default)]
    id: Value,
    #[serde(default)]
    model: Value,
    #[serde(default)]
    object: Value,
    #[serde(default)]
    choices: Option<Vec<Value>>,
    #[serde(default)]
    error: Option<Value>,
}

impl Stream for Chat {
    fn feed(&mut self, draft: &mut Draft, event: &Event) -> Result<(), StreamFault> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        if self.done {
            draft.note("Events came after the end.");
            return Ok(());
        }
        if data.is_empty() {
            return Ok(());
        }
        let chunk: Chunk<'_> = serde_json::from_str(data).map_err(|error| malformed(&error))?;
        draft.body_id(chunk.id.as_str());
        draft.model(chunk.model.as_str());
        self.counts.chunk();
        let read = chunk.choices.iter().flatten().try_for_each(|choice| self.choice(draft, choice));
        // After the choices, which it counts; whatever came of them, what was counted is not lost.
        if let Some(usage) = chunk.usage {
            self.counts.frame(draft, usage);
        }
        let broken = some(chunk.error.as_ref()).is_some() || event.name.as_deref() == Some("error");
        if broken || chunk.object.as_str() == Some("error") {
            let error: Value = serde_json::from_str(data).map_err(|error| malformed(&error))?;
            return Err(StreamFault::ProviderError(rejection::in_stream(Dialect::OpenaiChat, &error)));
        }
        read
    }

    fn is_complete(&self) -> bool {
        self.done
    }

    fn finish(&mut self, draft: &mut Draft) -> Result<(), StreamFault> {
        if !self.done {
            if draft.stopped().is_none() {
                return Err(StreamFault::Incomplete);
            }
            draft.note("The stream ended without `[DONE]`.");
        }
        self.counts.end(draft);
        self.thinking.finish(draft);
        if !self.text.is_empty() {
            draft.push(Part::text(std::mem::take(&mut self.text)));
        }
        if !self.refusal.is_empty() {
            draft.push(Part::Refusal { text: std::mem::take(&mut self.refusal) });
        }
        self.calls.finish(draft)?;
        if !self.others.is_empty() {
            let native = draft.native(Value::Object(std::mem::take(&mut self.others)).to_string());
            draft.push(Part::Native { native });
        }
        self.settle_stop(draft);
        Ok(())
    }
}

impl Chat {
    fn choice(&mut self, draft: &mut Draft, choice: &Value) -> Result<(), StreamFault> {
        if choice.get("index").and_then(Value::as_u64).unwrap_or(0) != 0 {
            draft.note("A second answer came and was left out.");
            return Ok(());
        }
        if let Some(error) = some(choice.get("error")) {
            return Err(StreamFault::ProviderError(rejection::in_stream(Dialect::OpenaiChat, error)));
        }
        if some(choice.get("logprobs")).is_some() {
            draft.note("Log probabilities came and were left out.");
        }
        match (choice.get("delta"), choice.get("message")) {
            (Some(Value::Object(delta)), _) => self.delta(draft, delta)?,
            (_, Some(Value::Object(message))) => {
                draft.note("A whole message came instead of its pieces.");
                self.delta(draft, message)?;
            }
            (_, _) => {}
        }
        let reason = self.reason(draft, choice);
        if let Some(usage) = some(choice.get("usage")) {
            self.counts.value(draft, usage);
        }
        reason
    }

    fn reason(&mut self, draft: &mut Draft, choice: &Value) -> Result<(), StreamFault> {
        let Some(reason) = text(choice, "finish_reason") else { return Ok(()) };
        if draft.stopped().is_some() {
            draft.note("The reason of the end came more than once.");
        }
        self.counts.finished();
        let stopped_by_text = choice.get("stop_reason").is_some_and(Value::is_string);
        draft.stop(match reason {
            "stop" | "eos" | "stop_sequence" if stopped_by_text => StopReason::StopText,
            "stop" | "eos" | "end_turn" => StopReason::End,
            "length" | "max_tokens" => StopReason::Length,
            "tool_calls" | "function_call" | "tool_use" => StopReason::ToolCalls,
            "content_filter" => StopReason::Filtered,
            "error" => {
                let error = serde_json::json!({ "message": "the provider behind the router failed", "code": 502 });
                return Err(StreamFault::ProviderError(rejection::in_stream(Dialect::OpenaiChat, &error)));
            }
            other => StopReason::Other(other.to_owned()),
        });
        Ok(())
    }

    fn delta(&mut self, draft: &mut Draft, delta: &Map<String, Value>) -> Result<(), StreamFault> {
        self.thinking.delta(draft, delta)?;
        for (name, value) in delta {
            let Some(value) = some(Some(value)) else { continue };
            if !matches!(name.as_str(), "role" | "name") {
                self.counts.piece();
            }
            match (name.as_str(), value) {
                ("role" | "name" | "reasoning" | "reasoning_content" | "reasoning_details", _) => {}
                ("content", Value::String(text)) => self.text(draft, text)?,
                ("content", Value::Array(parts)) => self.parts(draft, parts)?,
                ("refusal", Value::String(text)) => {
                    draft.grow(text.len())?;
                    self.refusal.push_str(text);
                    draft.show(Piece::Text(text.clone()));
                }
                ("tool_calls", Value::Array(fragments)) => {
                    for fragment in fragments {
                        self.calls.fragment(draft, fragment)?;
                    }
                }
                (name, value) => {
                    draft.grow(name.len().saturating_add(value.to_string().len()))?;
                    add(&mut self.others, name, value);
                }
            }
        }
        Ok(())
    }

    fn text(&mut self, draft: &mut Draft, text: &str) -> Result<(), StreamFault> {
        draft.grow(text.len())?;
        self.text.push_str(text);
        draft.show(Piece::Text(text.to_owned()));
        Ok(())
    }

    /// Content as a list of parts: texts, and thinking that holds texts.
    fn parts(&mut self, draft: &mut Draft, parts: &[Value]) -> Result<(), StreamFault> {
        for part in parts {
            if let Some(text) = text(part, "text") {
                self.text(draft, text)?;
            } else if let Some(thinking) = part.get("thinking").and_then(Value::as_array) {
                for thought in thinking.iter().filter_map(|thought| text(thought, "text")) {
                    self.thinking.text(draft, thought)?;
                }
            } else {
                draft.grow(part.to_string().len())?;
                add(&mut self.others, "content_parts", &Value::Array(vec![part.clone()]));
                draft.note("A part of the answer is of a kind that cannot be shown.");
            }
        }
        Ok(())
    }

    /// What the reason says and what came do not always agree.
    fn settle_stop(&self, draft: &mut Draft) {
        let stop = match draft.stopped() {
            Some(StopReason::End) if draft.has_calls() => StopReason::ToolCalls,
            Some(StopReason::End) if draft.has_refusal() => StopReason::Refusal,
            Some(StopReason::ToolCalls) if !draft.has_calls() => {
                draft.note("The answer is said to call tools, and calls none.");
                StopReason::End
            }
            None => {
                draft.note("The answer ended without a reason.");
                if draft.has_calls() { StopReason::ToolCalls } else { StopReason::Other("not said".to_owned()) }
            }
            Some(
                StopReason::End
                | StopReason::Length
                | StopReason::ToolCalls
                | StopReason::StopText
                | StopReason::Refusal
                | StopReason::Filtered
                | StopReason::Paused
                | StopReason::Other(_),
            ) => return,
        };
        draft.stop(stop);
    }
}

/// Adds to a field of pieces: texts and lists grow, of anything else the last counts.
pub(super) fn add(fields: &mut Map<String, Value>, name: &str, value: &Value) {
    match (fields.get_mut(name), value) {
        (Some(Value::String(text)), Value::String(more)) => text.push_str(more),
        (Some(Value::Array(list)), Value::Array(more)) => list.extend(more.iter().cloned()),
        (_, value) => {
            fields.insert(name.to_owned(), value.clone());
        }
    }
}
