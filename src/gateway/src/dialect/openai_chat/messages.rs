//! The conversation as chat messages.

use super::Flavour;
use crate::dialect::conversation::{Call, Given, Marks, Return, Said, Turn, instructions, result_text};
use crate::dialect::json::{Json, fields};
use crate::dialect::wire::{Bound, Omit};
use ouroboros_proto::agent::Instruction;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

pub(super) struct Messages<'b> {
    flavour: Flavour,
    /// Where marks for caches are understood.
    marks: Option<Marks>,
    omit: Omit<'b>,
    bound: &'b mut Bound,
    out: Vec<Json>,
}

impl<'b> Messages<'b> {
    pub(super) fn new(flavour: Flavour, marks: Option<Marks>, omit: Omit<'b>, bound: &'b mut Bound) -> Self {
        Self { flavour, marks, omit, bound, out: Vec::new() }
    }

    pub(super) fn all(mut self, system: &[Instruction], turns: &[Turn<'_>]) -> Vec<Json> {
        self.system(system);
        for turn in turns {
            match turn {
                Turn::User { returns, given } => self.user(returns, given),
                Turn::Model(said) => self.model(said),
            }
        }
        self.out
    }

    fn push(&mut self, message: Json) {
        self.bound.message();
        self.out.push(message);
    }

    fn mark(&mut self, cache: bool) -> bool {
        self.marks.as_mut().is_some_and(|marks| marks.take(cache))
    }

    fn system(&mut self, system: &[Instruction]) {
        let Some(joined) = instructions(system) else { return };
        let role = match self.flavour {
            Flavour::OpenAi if !self.omit.has("developer") => "developer",
            Flavour::OpenAi | Flavour::OpenRouter | Flavour::Compatible => "system",
        };
        let content = if self.marks.is_some() && system.iter().any(|instruction| instruction.cache) {
            let texts = system.iter().filter(|instruction| !instruction.text.trim().is_empty());
            Json::List(texts.map(|instruction| self.text(&instruction.text, instruction.cache)).collect())
        } else {
            joined.into()
        };
        self.push(fields! { "role": role, "content": content });
    }

    /// A text part, marked where a cache may end.
    fn text(&mut self, text: &str, cache: bool) -> Json {
        self.bound.message();
        let part = fields! { "type": "text", "text": text };
        if self.mark(cache) { part.with("cache_control", json!({ "type": "ephemeral" })) } else { part }
    }

    fn image(&mut self, media_type: &str, data: &str) -> Json {
        self.bound.image(data);
        let url = fields! { "url": format!("data:{media_type};base64,{data}") };
        fields! { "type": "image_url", "image_url": url }
    }

    fn user(&mut self, returns: &[Return<'_>], given: &[Given<'_>]) {
        for result in returns {
            self.result(result);
        }
        // The role `tool` has text only, so what a tool shows comes as the user's.
        let mut parts = Vec::new();
        for result in returns {
            for (media_type, data) in result.images() {
                let label = format!("Image from {}:", result.name);
                parts.push(self.text(&label, false));
                parts.push(self.image(media_type, data));
            }
        }
        let plain = parts.is_empty()
            && given.iter().all(|given| match given {
                Given::Text { cache, .. } => !cache || self.marks.is_none(),
                Given::Image { .. } => false,
            });
        if plain {
            // A text is understood by every server, a list of parts is not.
            let texts = given.iter().filter_map(|given| match given {
                Given::Text { text, .. } => Some(*text),
                Given::Image { .. } => None,
            });
            let texts = texts.collect::<Vec<_>>().join("\n\n");
            if !texts.is_empty() {
                self.push(fields! { "role": "user", "content": texts });
            }
            return;
        }
        for given in given {
            let part = match given {
                Given::Text { text, cache } => self.text(text, *cache),
                Given::Image { media_type, data } => self.image(media_type, data),
            };
            parts.push(part);
        }
        self.push(fields! { "role": "user", "content": parts });
    }

    fn result(&mut self, result: &Return<'_>) {
        let text = result_text(result);
        let content = if self.marks.is_some() && result.cache {
            Json::List(vec![self.text(&text, true)])
        } else {
            Json::from(text)
        };
        self.push(fields! { "role": "tool", "tool_call_id": result.id.as_ref(), "content": content });
    }

    fn model(&mut self, said: &[Said<'_>]) {
        let (mut text, mut refusal, mut calls) = (String::new(), String::new(), Vec::new());
        let mut native: BTreeMap<&str, Vec<&RawValue>> = BTreeMap::new();
        for said in said {
            match said {
                Said::Text { text: more, cache } => {
                    // The hint is counted, and cannot be said here.
                    self.mark(*cache);
                    join(&mut text, more);
                }
                Said::Refusal(words) if self.flavour == Flavour::OpenAi => join(&mut refusal, words),
                Said::Refusal(words) => join(&mut text, words),
                Said::Call(call) => calls.push(tool_call(call)),
                Said::Reasoning(raw) | Said::Native(raw) => {
                    let fields: BTreeMap<&str, &RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
                    for (name, value) in fields {
                        native.entry(name).or_default().push(value);
                    }
                }
            }
        }
        let mut message = fields! { "role": "assistant" };
        // Empty with calls is `null`; alone it is an empty text, which is the least that is accepted.
        message
            .put("content", if text.is_empty() && !calls.is_empty() { Json::Value(json!(null)) } else { text.into() });
        if !refusal.is_empty() {
            message.put("refusal", refusal);
        }
        for (name, values) in native {
            // Plain thinking is wanted back while tools are at work, and refused by some afterwards.
            let unwanted = calls.is_empty() && matches!(name, "reasoning_content" | "reasoning");
            if !unwanted && !self.omit.has(name) && !matches!(name, "role" | "content" | "content_parts" | "tool_calls")
            {
                message.put(name, together(&values));
            }
        }
        if !calls.is_empty() {
            message.put("tool_calls", calls);
        }
        self.push(message);
    }
}

fn join(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}

/// The values of a field in turns that became one: lists are joined, of others the last counts.
fn together(values: &[&RawValue]) -> Json {
    let lists: Option<Vec<Vec<&RawValue>>> = values.iter().map(|raw| serde_json::from_str(raw.get()).ok()).collect();
    match (lists, values.last()) {
        (Some(lists), _) if values.len() > 1 => {
            Json::List(lists.into_iter().flatten().map(|raw| Json::Raw(raw.to_owned())).collect())
        }
        (_, Some(raw)) => Json::Raw((*raw).to_owned()),
        (_, None) => Json::Value(json!(null)),
    }
}

fn tool_call(call: &Call<'_>) -> Json {
    let function = fields! { "name": call.name, "arguments": call.object().into_owned() };
    let mut json = fields! { "id": call.id.as_ref(), "type": "function", "function": function };
    let native: BTreeMap<&str, &RawValue> =
        call.native.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    for (name, value) in native {
        if !matches!(name, "id" | "type" | "function" | "index") {
            json.put(name, Json::Raw(value.to_owned()));
        }
    }
    json
}
