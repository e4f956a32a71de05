//! A block of an answer while it is filled.

use crate::dialect::assemble::StreamFault;
use crate::dialect::draft::Draft;
use crate::dialect::read::{json, some, text};
use ouroboros_proto::agent::{Part, Piece};
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Debug)]
pub(super) enum Block {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    /// Comes whole, and goes back byte for byte.
    Redacted(Box<RawValue>),
    Call {
        number: u32,
        id: String,
        name: String,
        /// What the block began with: used when no pieces come.
        whole: Option<String>,
        arguments: String,
    },
    /// Of a kind that has no word in our form.
    Other {
        raw: Box<RawValue>,
        /// Its `input`, where that comes in pieces.
        input: String,
    },
}

impl Block {
    pub(super) fn open(draft: &mut Draft, raw: &RawValue) -> Result<Self, StreamFault> {
        let value = json(raw.get())?;
        let word = |name: &str| text(&value, name).unwrap_or_default().to_owned();
        draft.grow(raw.get().len())?;
        Ok(match text(&value, "type").unwrap_or_default() {
            "text" => {
                let text = word("text");
                if !text.is_empty() {
                    draft.show(Piece::Text(text.clone()));
                }
                Self::Text(text)
            }
            "thinking" => Self::Thinking { text: word("thinking"), signature: word("signature") },
            "redacted_thinking" => Self::Redacted(raw.to_owned()),
            "tool_use" => {
                let (id, name) = (word("id"), word("name"));
                if id.is_empty() || name.is_empty() {
                    return Err(StreamFault::Malformed("a call has no id or names no tool".to_owned()));
                }
                let number = draft.grow_call()?;
                draft.show(Piece::ToolCall { index: number, name: name.clone() });
                let whole = some(value.get("input")).map(Value::to_string);
                Self::Call { number, id, name, whole, arguments: String::new() }
            }
            _ => Self::Other { raw: raw.to_owned(), input: String::new() },
        })
    }

    pub(super) fn delta(&mut self, draft: &mut Draft, delta: &Value) -> Result<(), StreamFault> {
        let kind = text(delta, "type").unwrap_or_default();
        let piece = |name: &str| text(delta, name).unwrap_or_default();
        match (kind, self) {
            ("text_delta", Self::Text(text)) => {
                let more = piece("text");
                draft.grow(more.len())?;
                text.push_str(more);
                draft.show(Piece::Text(more.to_owned()));
            }
            ("thinking_delta", Self::Thinking { text, .. }) => {
                let more = piece("thinking");
                draft.grow(more.len())?;
                text.push_str(more);
                draft.show(Piece::Reasoning(more.to_owned()));
            }
            ("signature_delta", Self::Thinking { signature, .. }) => {
                let more = piece("signature");
                draft.grow(more.len())?;
                signature.push_str(more);
            }
            ("input_json_delta", Self::Call { number, arguments, .. }) => {
                let more = piece("partial_json");
                draft.grow(more.len())?;
                arguments.push_str(more);
                if !more.is_empty() {
                    draft.show(Piece::Arguments { index: *number, text: more.to_owned() });
                }
            }
            ("input_json_delta", Self::Other { input, .. }) => {
                let more = piece("partial_json");
                draft.grow(more.len())?;
                input.push_str(more);
            }
            ("text_delta" | "thinking_delta" | "signature_delta" | "input_json_delta", _) => {
                return Err(StreamFault::Malformed("a piece is of another kind than its block".to_owned()));
            }
            ("citations_delta", _) => draft.note("Citations came and were left out."),
            (_, _) => draft.note("A piece of an unknown kind was left out."),
        }
        Ok(())
    }

    pub(super) fn close(self, draft: &mut Draft) -> Result<(), StreamFault> {
        match self {
            Self::Text(text) if text.is_empty() => {}
            Self::Text(text) => draft.push(Part::text(text)),
            Self::Thinking { signature, .. } if signature.is_empty() => {
                return Err(StreamFault::Malformed("thinking came without its signature".to_owned()));
            }
            Self::Thinking { text, signature } => {
                let block = serde_json::json!({ "type": "thinking", "thinking": text, "signature": signature });
                let native = Some(draft.native(block.to_string()));
                draft.push(Part::Reasoning { text, native });
            }
            Self::Redacted(raw) => {
                let native = Some(draft.native(raw.get()));
                draft.push(Part::Reasoning { text: String::new(), native });
            }
            Self::Call { id, name, whole, arguments, .. } => {
                let arguments = if arguments.is_empty() { whole.unwrap_or_else(|| "{}".to_owned()) } else { arguments };
                draft.push(Part::ToolCall { id, name, arguments, native: None });
            }
            Self::Other { raw, input } => {
                let native = draft.native(with_input(&raw, &input)?);
                draft.push(Part::Native { native });
            }
        }
        Ok(())
    }
}

/// The block with the input that came in pieces.
fn with_input(raw: &RawValue, input: &str) -> Result<String, StreamFault> {
    if input.is_empty() {
        return Ok(raw.get().to_owned());
    }
    let mut block = json(raw.get())?;
    if let Some(place) = block.get_mut("input") {
        *place = json(input)?;
    }
    Ok(block.to_string())
}
