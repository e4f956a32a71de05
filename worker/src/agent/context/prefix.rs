//! Whether a request begins with the one before it: providers keep what they have read, and read it again when it does not.
//!
//! It only looks: what it finds is recorded, and no request is held back for it. What was sent by an earlier attempt is not known here,
//! so the first request of an attempt is compared with nothing.

use ouroboros_proto::agent::{ModelRequest, Part, PrefixBreak, Role};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// A request, part by part. Marks for caches are not looked at: they move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    system: u64,
    parts: Vec<u64>,
}

impl Sent {
    /// Of this request.
    pub fn of(request: &ModelRequest) -> Self {
        let parts = request.messages.iter().flat_map(|message| message.parts.iter().map(|part| of(message.role, part)));
        Self { system: system(request), parts: parts.collect() }
    }

    /// How `next` differs from a request that begins with this one; `None` when it does begin with it.
    pub fn break_in(&self, next: &Self) -> Option<PrefixBreak> {
        if self.system != next.system {
            return Some(PrefixBreak::SystemRewritten);
        }
        let same = self.parts.iter().zip(&next.parts).take_while(|(before, now)| before == now).count();
        if same == self.parts.len() {
            None
        } else if same == next.parts.len() {
            Some(PrefixBreak::Shrunk)
        } else if same.saturating_add(1) == self.parts.len() {
            Some(PrefixBreak::TailReplaced)
        } else {
            Some(PrefixBreak::Rewritten)
        }
    }
}

fn of(role: Role, part: &Part) -> u64 {
    let mut hasher = DefaultHasher::new();
    role.hash(&mut hasher);
    match part {
        Part::Text { text, cache: _ } => text.hash(&mut hasher),
        Part::ToolResult { call, name, parts, is_error, cache: _ } => {
            (call, name, parts, is_error).hash(&mut hasher);
        }
        other @ (Part::Image { .. }
        | Part::Reasoning { .. }
        | Part::ToolCall { .. }
        | Part::Refusal { .. }
        | Part::Native { .. }) => other.hash(&mut hasher),
    }
    hasher.finish()
}

fn system(request: &ModelRequest) -> u64 {
    let mut hasher = DefaultHasher::new();
    for instruction in &request.instructions {
        instruction.text.hash(&mut hasher);
    }
    for tool in &request.tools {
        (&tool.name, &tool.description, tool.parameters.to_string()).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouroboros_proto::agent::{Instruction, Message};

    fn sent(system: &str, parts: &[&str]) -> Sent {
        let messages = parts.iter().map(|part| {
            let mut message = Message::user(*part);
            if let [Part::Text { cache, .. }] = message.parts.as_mut_slice() {
                *cache = parts.len().is_multiple_of(2);
            }
            message
        });
        let instructions = vec![Instruction { text: system.to_owned(), cache: true }];
        Sent::of(&ModelRequest { instructions, messages: messages.collect(), ..ModelRequest::default() })
    }

    #[test]
    fn each_kind_of_break_is_told_from_the_others() {
        let before = sent("s", &["a", "b", "c"]);
        for (next, found) in [
            (sent("s", &["a", "b", "c"]), None),
            (sent("s", &["a", "b", "c", "d"]), None),
            (sent("t", &["a", "b", "c", "d"]), Some(PrefixBreak::SystemRewritten)),
            (sent("s", &["a", "b"]), Some(PrefixBreak::Shrunk)),
            (sent("s", &["a", "b", "x", "d"]), Some(PrefixBreak::TailReplaced)),
            (sent("s", &["a", "x", "c", "d"]), Some(PrefixBreak::Rewritten)),
            (sent("s", &["x"]), Some(PrefixBreak::Rewritten)),
        ] {
            assert_eq!(before.break_in(&next), found, "{next:?}");
        }
    }
}
