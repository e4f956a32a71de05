//! The answer: events by `type`. What counts are the finished items and the response at the end; the pieces are for showing.

use super::output;
use crate::dialect::Dialect;
use crate::dialect::assemble::{MAX_ANSWER_BYTES, Stream, StreamFault};
use crate::dialect::draft::Draft;
use crate::dialect::openai_chat::cost;
use crate::dialect::read::{malformed, text, tokens, tokens_in};
use crate::dialect::rejection;
use crate::dialect::wire::Event;
use ouroboros_proto::agent::{Part, Piece, StopReason, TokenUsage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// A response that comes.
#[derive(Debug, Default)]
pub(in crate::dialect) struct Responses {
    /// Finished items by their place.
    items: BTreeMap<u64, Box<RawValue>>,
    /// The numbers of calls, by the place of their item.
    calls: BTreeMap<u64, u32>,
    /// Text that was shown: stands in for an item that never comes.
    text: String,
    shown: usize,
    done: bool,
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    output_index: u64,
    #[serde(default)]
    delta: Value,
    #[serde(borrow, default)]
    item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default)]
    output: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(default)]
    id: Value,
    #[serde(default)]
    model: Value,
    #[serde(default)]
    error: Value,
    #[serde(default)]
    incomplete_details: Value,
}

impl Stream for Responses {
    fn feed(&mut self, draft: &mut Draft, event: &Event) -> Result<(), StreamFault> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let frame: Frame<'_> = serde_json::from_str(data).map_err(|error| malformed(&error))?;
        let delta = frame.delta.as_str().unwrap_or_default();
        match frame.kind.as_str() {
            "response.output_text.delta" => {
                self.show(Piece::Text(delta.to_owned()), delta, draft)?;
                self.text.push_str(delta);
            }
            "response.refusal.delta" => self.show(Piece::Text(delta.to_owned()), delta, draft)?,
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.show(Piece::Reasoning(delta.to_owned()), delta, draft)?;
            }
            "response.function_call_arguments.delta" => {
                let index = self.calls.get(&frame.output_index).copied().unwrap_or(0);
                self.show(Piece::Arguments { index, text: delta.to_owned() }, delta, draft)?;
            }
            "response.output_item.added" => self.added(draft, &frame)?,
            "response.output_item.done" => self.item(draft, &frame)?,
            "response.created" | "response.in_progress" | "response.queued" => {
                if let Some(raw) = frame.response {
                    self.head(draft, raw)?;
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                self.end(draft, &frame)?;
            }
            "error" => {
                let error: Value = serde_json::from_str(data).map_err(|error| malformed(&error))?;
                return Err(StreamFault::ProviderError(rejection::in_stream(Dialect::OpenaiResponses, &error)));
            }
            // Markers of parts, and kinds to come.
            _ => {}
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
        for raw in std::mem::take(&mut self.items).into_values() {
            output::item(draft, &raw)?;
        }
        if draft.stopped() == Some(&StopReason::End) {
            if draft.has_calls() {
                draft.stop(StopReason::ToolCalls);
            } else if draft.has_refusal() {
                draft.stop(StopReason::Refusal);
            }
        }
        Ok(())
    }
}

impl Responses {
    /// What is shown is bounded like what is kept.
    fn show(&mut self, piece: Piece, text: &str, draft: &mut Draft) -> Result<(), StreamFault> {
        self.shown = self.shown.saturating_add(text.len());
        if self.shown > MAX_ANSWER_BYTES {
            return Err(StreamFault::TooLarge);
        }
        if !text.is_empty() {
            draft.show(piece);
        }
        Ok(())
    }

    fn added(&mut self, draft: &mut Draft, frame: &Frame<'_>) -> Result<(), StreamFault> {
        let Some(raw) = frame.item else { return Ok(()) };
        let item: Value = serde_json::from_str(raw.get()).map_err(|error| malformed(&error))?;
        if text(&item, "type") == Some("function_call") && !self.calls.contains_key(&frame.output_index) {
            let index = draft.grow_call()?;
            self.calls.insert(frame.output_index, index);
            draft.show(Piece::ToolCall { index, name: text(&item, "name").unwrap_or_default().to_owned() });
        }
        Ok(())
    }

    /// Makes room for a finished item: a call that was not shown is one more.
    fn keep(&mut self, draft: &mut Draft, place: u64, raw: &RawValue) -> Result<(), StreamFault> {
        draft.grow_whole(raw.get().len())?;
        if output::is_call(raw)? && !self.calls.contains_key(&place) {
            self.calls.insert(place, draft.grow_call()?);
        }
        self.items.insert(place, raw.to_owned());
        Ok(())
    }

    fn item(&mut self, draft: &mut Draft, frame: &Frame<'_>) -> Result<(), StreamFault> {
        let Some(raw) = frame.item else { return Ok(()) };
        match self.items.get(&frame.output_index) {
            None => self.keep(draft, frame.output_index, raw),
            Some(before) if before.get() == raw.get() => {
                draft.note("An item of the answer came twice.");
                Ok(())
            }
            Some(_) => {
                draft.note("Two items of the answer came for one place.");
                let next = self.items.keys().next_back().map_or(0, |last| last.saturating_add(1));
                self.keep(draft, next, raw)
            }
        }
    }

    fn head<'a>(&self, draft: &mut Draft, raw: &'a RawValue) -> Result<Response<'a>, StreamFault> {
        let response: Response<'_> = serde_json::from_str(raw.get()).map_err(|error| malformed(&error))?;
        draft.body_id(response.id.as_str());
        draft.model(response.model.as_str());
        Ok(response)
    }

    fn end(&mut self, draft: &mut Draft, frame: &Frame<'_>) -> Result<(), StreamFault> {
        let Some(raw) = frame.response else {
            return Err(StreamFault::Malformed("the end of a response has none".to_owned()));
        };
        let response = self.head(draft, raw)?;
        if let Some(usage) = response.usage {
            count(draft, usage);
        }
        let reason = text(&response.incomplete_details, "reason");
        let stop = match (frame.kind.as_str(), reason) {
            ("response.failed" | "response.cancelled", _) => {
                return Err(StreamFault::ProviderError(rejection::in_stream(
                    Dialect::OpenaiResponses,
                    &response.error,
                )));
            }
            ("response.incomplete", Some("max_output_tokens")) => StopReason::Length,
            ("response.incomplete", Some("content_filter")) => StopReason::Filtered,
            ("response.incomplete", reason) => StopReason::Other(reason.unwrap_or("incomplete").to_owned()),
            (_, _) => StopReason::End,
        };
        draft.stop(stop);
        self.done = true;
        self.missing(draft, response.output.unwrap_or_default())
    }

    /// Items that only the end has, or that nothing has but the pieces that were shown.
    fn missing(&mut self, draft: &mut Draft, output: Vec<&RawValue>) -> Result<(), StreamFault> {
        for (place, raw) in output.into_iter().enumerate() {
            let place = u64::try_from(place).unwrap_or(u64::MAX);
            if !self.items.contains_key(&place) {
                draft.note("An item of the answer came at its end only.");
                self.keep(draft, place, raw)?;
            }
        }
        if self.items.is_empty() && !self.text.is_empty() {
            draft.note("The answer came in pieces only.");
            draft.push(Part::text(std::mem::take(&mut self.text)));
        }
        Ok(())
    }
}

fn count(draft: &mut Draft, raw: &RawValue) {
    let Ok(usage) = serde_json::from_str::<Value>(raw.get()) else { return };
    if !usage.is_object() {
        return;
    }
    let of = |name: &str| tokens(usage.get(name));
    draft.count(TokenUsage {
        input: of("input_tokens"),
        cached: tokens_in(&usage, "input_tokens_details", "cached_tokens"),
        cache_write: tokens_in(&usage, "input_tokens_details", "cache_write_tokens"),
        cache_write_long: None,
        output: of("output_tokens"),
        reasoning: tokens_in(&usage, "output_tokens_details", "reasoning_tokens"),
    });
    if let Some(cost) = cost(raw) {
        draft.cost(cost);
    }
}
