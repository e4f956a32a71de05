//! Calls of tools, put together from fragments.
//!
//! A fragment has the index of its call; the first one has id and name, the others have more of the arguments. What servers forget
//! of this is forgiven where only one reading is possible.

use super::stream::add;
use crate::dialect::assemble::StreamFault;
use crate::dialect::draft::Draft;
use crate::dialect::read::{some, text};
use ouroboros_proto::agent::{Part, Piece};
use serde_json::{Map, Value};

#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
}

#[derive(Debug, Default)]
struct Call {
    number: u32,
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Fields that have no word in our form.
    others: Map<String, Value>,
}

impl Calls {
    pub(super) fn fragment(&mut self, draft: &mut Draft, fragment: &Value) -> Result<(), StreamFault> {
        let at = self.place(draft, fragment)?;
        let Some(call) = self.calls.get_mut(at) else { return Ok(()) };
        let shown = call.number;
        if let Some(id) = text(fragment, "id").filter(|_| call.id.is_empty()) {
            id.clone_into(&mut call.id);
        }
        let function = fragment.get("function").unwrap_or(&Value::Null);
        let known = !call.name.is_empty();
        // Some servers repeat the name in every fragment.
        if let Some(name) = text(function, "name").filter(|name| call.name != *name) {
            draft.grow(name.len())?;
            call.name.push_str(name);
            if !known {
                draft.show(Piece::ToolCall { index: shown, name: call.name.clone() });
            }
        }
        let arguments = match some(function.get("arguments")) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_))) => {
                draft.note("Arguments of a call came as JSON instead of text.");
                other.to_string()
            }
        };
        if !arguments.is_empty() {
            draft.grow(arguments.len())?;
            call.arguments.push_str(&arguments);
            draft.show(Piece::Arguments { index: shown, text: arguments });
        }
        for (name, value) in fragment.as_object().into_iter().flatten() {
            if !matches!(name.as_str(), "index" | "id" | "type" | "function") && some(Some(value)).is_some() {
                draft.grow(value.to_string().len())?;
                add(&mut call.others, name, value);
            }
        }
        Ok(())
    }

    /// Which call a fragment belongs to.
    fn place(&mut self, draft: &mut Draft, fragment: &Value) -> Result<usize, StreamFault> {
        let id = text(fragment, "id");
        let name = fragment.get("function").and_then(|function| text(function, "name"));
        let index = fragment.get("index").and_then(Value::as_u64);
        let found = match index {
            Some(index) => self.calls.iter().rposition(|call| call.index == Some(index)),
            None => {
                draft.note("A fragment of a call came without its index.");
                match id {
                    Some(id) => self.calls.iter().rposition(|call| call.id == id),
                    None if name.is_some() => None,
                    None => self.calls.len().checked_sub(1),
                }
            }
        };
        let another = |call: &Call| name.is_some() && !call.id.is_empty() && id.is_some_and(|id| call.id != id);
        if let Some(at) = found {
            if !self.calls.get(at).is_some_and(another) {
                return Ok(at);
            }
            draft.note("Two calls came under one index.");
        }
        let number = draft.grow_call()?;
        if found.is_none() && index.is_some_and(|index| index != u64::from(number)) {
            draft.note("The indexes of the calls have gaps.");
        }
        self.calls.push(Call { number, index, ..Call::default() });
        Ok(self.calls.len().saturating_sub(1))
    }

    pub(super) fn finish(&mut self, draft: &mut Draft) -> Result<(), StreamFault> {
        for mut call in std::mem::take(&mut self.calls) {
            if call.name.is_empty() {
                return Err(StreamFault::Malformed("a call names no tool".to_owned()));
            }
            if call.id.is_empty() {
                draft.note("A call came without an id.");
                call.id = draft.mint(call.number);
            }
            let native = (!call.others.is_empty()).then(|| draft.native(Value::Object(call.others).to_string()));
            draft.push(Part::ToolCall { id: call.id, name: call.name, arguments: call.arguments, native });
        }
        Ok(())
    }
}
