//! The answer: blocks one after the other, each opened, filled and closed.
//!
//! The order is part of what is signed, so a block out of turn, one that stays open, or thinking without its signature is no answer.

use super::blocks::Block;
use super::usage::Counts;
use crate::dialect::Dialect;
use crate::dialect::assemble::{Stream, StreamFault};
use crate::dialect::draft::Draft;
use crate::dialect::read::{malformed, text};
use crate::dialect::rejection;
use crate::dialect::wire::Event;
use ouroboros_proto::agent::StopReason;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A message that comes.
#[derive(Debug, Default)]
pub(in crate::dialect) struct Messages {
    open: Option<Block>,
    /// Blocks that were opened so far.
    blocks: u64,
    counts: Counts,
    done: bool,
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    content_block: Option<&'a RawValue>,
    #[serde(default)]
    delta: Value,
    #[serde(default)]
    message: Value,
    #[serde(default)]
    usage: Value,
}

impl Stream for Messages {
    fn feed(&mut self, draft: &mut Draft, event: &Event) -> Result<(), StreamFault> {
        if event.data.trim().is_empty() {
            return Ok(());
        }
        let frame: Frame<'_> = serde_json::from_str(&event.data).map_err(|error| malformed(&error))?;
        match frame.kind.as_str() {
            "message_start" => self.start(draft, &frame.message),
            "content_block_start" => self.open(draft, &frame)?,
            "content_block_delta" => self.delta(draft, &frame)?,
            "content_block_stop" => self.close(draft, &frame)?,
            "message_delta" => self.message_delta(draft, &frame)?,
            "message_stop" => {
                self.all_closed()?;
                self.done = true;
            }
            "ping" => {}
            "error" => {
                let error: Value = serde_json::from_str(&event.data).map_err(|error| malformed(&error))?;
                return Err(StreamFault::ProviderError(rejection::in_stream(Dialect::AnthropicMessages, &error)));
            }
            // The provider asks to let pass what one does not know.
            other => draft.note(format!("An event of the unknown kind `{}` was left out.", short(other))),
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.done
    }

    fn finish(&mut self, draft: &mut Draft) -> Result<(), StreamFault> {
        if draft.stopped().is_none() {
            return Err(StreamFault::Incomplete);
        }
        self.all_closed()?;
        if !self.done {
            // The reason of the end and the counts were there: nothing is missing.
            draft.note("The stream ended without `message_stop`.");
        }
        if self.counts.searched() {
            draft.note("The provider searched the web, which it charges apart.");
        }
        Ok(())
    }
}

fn wrong<T>(what: &str) -> Result<T, StreamFault> {
    Err(StreamFault::Malformed(what.to_owned()))
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

impl Messages {
    fn start(&mut self, draft: &mut Draft, message: &Value) {
        draft.body_id(text(message, "id"));
        draft.model(text(message, "model"));
        if let Some(usage) = message.get("usage") {
            self.counts.frame(usage);
            draft.count_so_far(self.counts.usage());
        }
    }

    fn open(&mut self, draft: &mut Draft, frame: &Frame<'_>) -> Result<(), StreamFault> {
        if self.open.is_some() {
            return wrong("a block began before the one before it had ended");
        }
        if frame.index != Some(self.blocks) {
            return wrong("the blocks are not in order");
        }
        let Some(raw) = frame.content_block else { return wrong("a block began that is none") };
        self.blocks = self.blocks.saturating_add(1);
        draft.grow_part()?;
        self.open = Some(Block::open(draft, raw)?);
        Ok(())
    }

    fn delta(&mut self, draft: &mut Draft, frame: &Frame<'_>) -> Result<(), StreamFault> {
        let current = frame.index == self.blocks.checked_sub(1);
        match self.open.as_mut().filter(|_| current) {
            Some(block) => block.delta(draft, &frame.delta),
            None => wrong("a piece came for a block that is not open"),
        }
    }

    fn close(&mut self, draft: &mut Draft, frame: &Frame<'_>) -> Result<(), StreamFault> {
        let current = frame.index == self.blocks.checked_sub(1);
        match self.open.take().filter(|_| current) {
            Some(block) => block.close(draft),
            None => wrong("a block ended that is not open"),
        }
    }

    fn all_closed(&self) -> Result<(), StreamFault> {
        if self.open.is_some() { wrong("the answer ended inside a block") } else { Ok(()) }
    }

    fn message_delta(&mut self, draft: &mut Draft, frame: &Frame<'_>) -> Result<(), StreamFault> {
        let reason = text(&frame.delta, "stop_reason");
        if frame.usage.is_object() {
            self.counts.frame(&frame.usage);
            if reason.is_some() || draft.stopped().is_some() {
                draft.count(self.counts.usage());
            } else {
                draft.count_so_far(self.counts.usage());
            }
        }
        let Some(reason) = reason else { return Ok(()) };
        self.all_closed()?;
        let stop = match reason {
            "end_turn" => StopReason::End,
            "max_tokens" => StopReason::Length,
            "model_context_window_exceeded" => {
                draft.note("The answer was cut because the model's window was full.");
                StopReason::Length
            }
            "stop_sequence" => StopReason::StopText,
            "tool_use" => StopReason::ToolCalls,
            "pause_turn" => StopReason::Paused,
            "refusal" => StopReason::Refusal,
            other => StopReason::Other(other.to_owned()),
        };
        draft.stop(stop);
        Ok(())
    }
}
