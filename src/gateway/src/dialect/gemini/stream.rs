//! The answer: every event is a response with more parts; one of them names the reason of the end. Counts stand in every event and grow.

use crate::dialect::Dialect;
use crate::dialect::assemble::{Stream, StreamFault};
use crate::dialect::draft::Draft;
use crate::dialect::read::{json, malformed, some, text, tokens};
use crate::dialect::rejection::{self, Rejection, RejectionClass};
use crate::dialect::wire::Event;
use ouroboros_proto::agent::{Part, Piece, StopReason, TokenUsage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A response that comes.
#[derive(Debug, Default)]
pub(in crate::dialect) struct Generate {
    done: bool,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default)]
    candidates: Option<Vec<Candidate<'a>>>,
}

#[derive(Deserialize)]
struct Candidate<'a> {
    #[serde(borrow, default)]
    content: Option<Content<'a>>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    parts: Option<Vec<&'a RawValue>>,
}

impl Stream for Generate {
    fn feed(&mut self, draft: &mut Draft, event: &Event) -> Result<(), StreamFault> {
        if event.data.trim().is_empty() {
            return Ok(());
        }
        let value = json(&event.data)?;
        draft.body_id(text(&value, "responseId"));
        draft.model(text(&value, "modelVersion"));
        if let Some(usage) = value.get("usageMetadata").map(usage) {
            if is_last(&value) || draft.stopped().is_some() {
                draft.count(usage);
            } else {
                draft.count_so_far(usage);
            }
        }
        if some(value.get("error")).is_some() {
            return Err(StreamFault::ProviderError(rejection::in_stream(Dialect::Gemini, &value)));
        }
        if let Some(reason) = value.get("promptFeedback").and_then(|feedback| text(feedback, "blockReason")) {
            return Err(StreamFault::ProviderError(blocked(&value, reason)));
        }
        // Read once more for the parts as they came, byte for byte.
        let response: Response<'_> = serde_json::from_str(&event.data).map_err(|error| malformed(&error))?;
        let candidates = value.get("candidates").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for (candidate, raw) in candidates.iter().zip(response.candidates.into_iter().flatten()) {
            if candidate.get("index").and_then(Value::as_u64).unwrap_or(0) != 0 {
                draft.note("A second answer came and was left out.");
                continue;
            }
            for part in raw.content.and_then(|content| content.parts).into_iter().flatten() {
                Self::part(draft, part)?;
            }
            self.end(draft, candidate);
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.done
    }

    fn finish(&mut self, draft: &mut Draft) -> Result<(), StreamFault> {
        if draft.stopped() == Some(&StopReason::End) && draft.has_calls() {
            draft.stop(StopReason::ToolCalls);
        }
        if self.done { Ok(()) } else { Err(StreamFault::Incomplete) }
    }
}

impl Generate {
    fn part(draft: &mut Draft, raw: &RawValue) -> Result<(), StreamFault> {
        let part = json(raw.get())?;
        let signature = text(&part, "thoughtSignature");
        if let Some(call) = part.get("functionCall") {
            return Self::call(draft, call, raw);
        }
        let thought = part.get("thought") == Some(&Value::Bool(true));
        match part.get("text").and_then(Value::as_str) {
            Some(words) if thought => {
                let native = signature.map(|_| draft.native(raw.get()));
                draft.grow_whole(if native.is_some() { raw.get().len() } else { words.len() })?;
                draft.show(Piece::Reasoning(words.to_owned()));
                draft.push(Part::Reasoning { text: words.to_owned(), native });
            }
            Some(words) => {
                draft.grow(words.len())?;
                if !words.is_empty() {
                    draft.show(Piece::Text(words.to_owned()));
                    draft.push(Part::text(words));
                }
                if let Some(signature) = signature {
                    draft.grow_whole(signature.len())?;
                    let native = draft.native(serde_json::json!({ "thoughtSignature": signature }).to_string());
                    draft.push(Part::Native { native });
                }
            }
            None => {
                draft.grow_whole(raw.get().len())?;
                let native = draft.native(raw.get());
                draft.push(Part::Native { native });
            }
        }
        Ok(())
    }

    /// Calls come whole, mostly without ids.
    fn call(draft: &mut Draft, call: &Value, raw: &RawValue) -> Result<(), StreamFault> {
        let Some(name) = text(call, "name") else {
            return Err(StreamFault::Malformed("a call names no tool".to_owned()));
        };
        draft.grow(raw.get().len())?;
        let index = draft.grow_call()?;
        let id = text(call, "id").map_or_else(|| draft.mint(index), str::to_owned);
        let arguments = some(call.get("args")).map_or_else(|| "{}".to_owned(), Value::to_string);
        draft.show(Piece::ToolCall { index, name: name.to_owned() });
        draft.show(Piece::Arguments { index, text: arguments.clone() });
        let native = Some(draft.native(raw.get()));
        draft.push(Part::ToolCall { id, name: name.to_owned(), arguments, native });
        Ok(())
    }

    fn end(&mut self, draft: &mut Draft, candidate: &Value) {
        let Some(reason) = text(candidate, "finishReason") else { return };
        self.done = true;
        let said = text(candidate, "finishMessage").map(str::to_owned);
        let stop = match reason {
            "STOP" => StopReason::End,
            "MAX_TOKENS" => StopReason::Length,
            "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" => {
                StopReason::Filtered
            }
            "MALFORMED_FUNCTION_CALL" => {
                draft.note("The model wrote a call that is none; the provider left it out.");
                StopReason::Other(reason.to_owned())
            }
            other => StopReason::Other(other.to_owned()),
        };
        if let Some(said) = said {
            draft.note(format!("The provider says of the end: {}", said.chars().take(400).collect::<String>()));
        }
        draft.stop(stop);
    }
}

/// Nothing was answered because the prompt was turned down.
fn blocked(value: &Value, reason: &str) -> Box<Rejection> {
    let said = value.get("promptFeedback").and_then(|feedback| text(feedback, "blockReasonMessage"));
    Box::new(Rejection {
        class: RejectionClass::Refused,
        code: Some(reason.to_owned()),
        message: said.unwrap_or("the prompt was blocked").to_owned(),
        request_id: None,
        retry_after: None,
        usage: None,
        hint: None,
    })
}

/// Thinking is counted beside the answer; ours is all of it. What tools of the provider put into the prompt is counted beside it too.
fn usage(usage: &Value) -> TokenUsage {
    let of = |name: &str| tokens(usage.get(name));
    let thinking = of("thoughtsTokenCount");
    let answer = of("candidatesTokenCount");
    let input = of("promptTokenCount").map(|prompt| prompt.saturating_add(of("toolUsePromptTokenCount").unwrap_or(0)));
    let counted = match (answer, thinking) {
        (None, None) => None,
        (answer, thinking) => Some(answer.unwrap_or(0).saturating_add(thinking.unwrap_or(0))),
    };
    // An answer of no token has no count of its own.
    let rest = || of("totalTokenCount")?.checked_sub(input?);
    TokenUsage {
        input,
        cached: of("cachedContentTokenCount"),
        cache_write: None,
        cache_write_long: None,
        output: counted.or_else(rest),
        reasoning: thinking,
    }
}

/// Whether nothing more is generated after this: every part says what was counted up to it.
fn is_last(value: &Value) -> bool {
    let candidates = value.get("candidates").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    value.get("promptFeedback").is_some()
        || candidates.iter().any(|candidate| text(candidate, "finishReason").is_some())
}
