//! A finished item of an answer.

use crate::dialect::assemble::StreamFault;
use crate::dialect::draft::Draft;
use crate::dialect::read::{json, some, text};
use ouroboros_proto::agent::Part;
use serde_json::Value;
use serde_json::value::RawValue;

/// Whether an item is a call of a tool.
pub(super) fn is_call(raw: &RawValue) -> Result<bool, StreamFault> {
    Ok(text(&json(raw.get())?, "type") == Some("function_call"))
}

/// Puts an item into the answer.
pub(super) fn item(draft: &mut Draft, raw: &RawValue) -> Result<(), StreamFault> {
    let item = json(raw.get())?;
    match text(&item, "type").unwrap_or_default() {
        "message" => message(draft, &item),
        "reasoning" => {
            let native = Some(draft.native(raw.get()));
            draft.push(Part::Reasoning { text: summary(&item), native });
        }
        "function_call" => {
            let word = |name: &str| text(&item, name).map(str::to_owned);
            let (Some(id), Some(name)) = (word("call_id"), word("name")) else {
                return Err(StreamFault::Malformed("a call has no id or names no tool".to_owned()));
            };
            let arguments = word("arguments").unwrap_or_default();
            draft.push(Part::ToolCall { id, name, arguments, native: None });
        }
        _ => {
            let native = draft.native(raw.get());
            draft.push(Part::Native { native });
        }
    }
    Ok(())
}

fn message(draft: &mut Draft, item: &Value) {
    for content in item.get("content").and_then(Value::as_array).into_iter().flatten() {
        if let Some(words) = text(content, "text") {
            draft.push(Part::text(words));
        } else if let Some(words) = text(content, "refusal") {
            draft.push(Part::Refusal { text: words.to_owned() });
        }
        if some(content.get("annotations")).is_some() {
            draft.note("Annotations of a text came and were left out.");
        }
    }
    // Models that speak between their calls want to know again which of their words were the last.
    if let Some(phase) = text(item, "phase") {
        let native = draft.native(serde_json::json!({ "phase": phase }).to_string());
        draft.push(Part::Native { native });
    }
}

/// What is shown of the thinking: the summary, or the thinking itself where that is open.
fn summary(item: &Value) -> String {
    let texts = |name: &str| {
        let list = item.get(name).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|part| text(part, "text")).collect::<Vec<_>>().join("\n\n")
    };
    let summary = texts("summary");
    if summary.is_empty() { texts("content") } else { summary }
}
