//! What the model thinks, under the three names that servers have for it.

use super::stream::add;
use crate::dialect::assemble::StreamFault;
use crate::dialect::draft::Draft;
use crate::dialect::read::{some, text};
use ouroboros_proto::agent::{Part, Piece};
use serde_json::{Map, Value};

#[derive(Debug, Default)]
pub(super) struct Thinking {
    text: String,
    /// Under which name the text came, when it has to be given back under it.
    name: Option<&'static str>,
    /// The blocks of OpenRouter, in order: they are given back as they came.
    details: Vec<Map<String, Value>>,
}

impl Thinking {
    /// Reads what a piece of the message has of it. The same thought may stand in it under more than one name.
    pub(super) fn delta(&mut self, draft: &mut Draft, delta: &Map<String, Value>) -> Result<(), StreamFault> {
        let mut said = None;
        for name in ["reasoning_content", "reasoning"] {
            if let Some(text) = delta.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()) {
                self.name = self.name.or(Some(name));
                said = said.or(Some(text.to_owned()));
            }
        }
        let mut inside = String::new();
        for detail in delta.get("reasoning_details").and_then(Value::as_array).into_iter().flatten() {
            let Value::Object(fields) = detail else { continue };
            draft.grow(detail.to_string().len())?;
            inside.push_str(text(detail, "text").or_else(|| text(detail, "summary")).unwrap_or_default());
            self.detail(fields);
        }
        let said = said.or(Some(inside).filter(|text| !text.is_empty()));
        said.map_or(Ok(()), |text| self.text(draft, &text))
    }

    pub(super) fn text(&mut self, draft: &mut Draft, text: &str) -> Result<(), StreamFault> {
        draft.grow(text.len())?;
        self.text.push_str(text);
        draft.show(Piece::Reasoning(text.to_owned()));
        Ok(())
    }

    /// A piece of a block goes on the block before it when kind and index are the same; what is encrypted comes whole.
    fn detail(&mut self, fields: &Map<String, Value>) {
        let same = |block: &Map<String, Value>| {
            block.get("type") == fields.get("type")
                && block.get("index") == fields.get("index")
                && !fields.contains_key("data")
        };
        match self.details.last_mut().filter(|block| same(block)) {
            None => self.details.push(fields.clone()),
            Some(block) => {
                for (name, value) in fields {
                    match (name.as_str(), some(Some(value))) {
                        ("text" | "summary", Some(value)) => add(block, name, value),
                        (_, Some(value)) => {
                            block.insert(name.clone(), value.clone());
                        }
                        (_, None) => {}
                    }
                }
            }
        }
    }

    pub(super) fn finish(&mut self, draft: &mut Draft) {
        let text = std::mem::take(&mut self.text);
        let details = std::mem::take(&mut self.details);
        let native = match (details.is_empty(), self.name) {
            (false, _) => Some(serde_json::json!({ "reasoning_details": details })),
            (true, Some(name)) => Some(serde_json::json!({ name: text.as_str() })),
            (true, None) => None,
        };
        if !text.is_empty() || native.is_some() {
            let native = native.map(|native| draft.native(native.to_string()));
            draft.push(Part::Reasoning { text, native });
        }
    }
}
