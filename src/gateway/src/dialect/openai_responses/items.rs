//! The conversation as items.

use crate::dialect::conversation::{Given, Return, Said, Turn, result_text, uncut};
use crate::dialect::json::{Json, fields};
use crate::dialect::wire::Bound;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

pub(super) struct Items<'b> {
    bound: &'b mut Bound,
    out: Vec<Json>,
}

impl<'b> Items<'b> {
    pub(super) fn new(bound: &'b mut Bound) -> Self {
        Self { bound, out: Vec::new() }
    }

    pub(super) fn all(mut self, turns: &[Turn<'_>]) -> Vec<Json> {
        for turn in turns {
            match turn {
                Turn::User { returns, given } => self.user(returns, given),
                Turn::Model(said) => self.model(said),
            }
        }
        self.out
    }

    fn push(&mut self, item: Json) {
        self.bound.message();
        self.out.push(item);
    }

    fn given(&mut self, given: &Given<'_>) -> Json {
        self.bound.message();
        match given {
            Given::Text { text, .. } => fields! { "type": "input_text", "text": *text },
            Given::Image { media_type, data } => {
                self.bound.image(data);
                let url = format!("data:{media_type};base64,{data}");
                fields! { "type": "input_image", "detail": "auto", "image_url": url }
            }
        }
    }

    fn user(&mut self, returns: &[Return<'_>], given: &[Given<'_>]) {
        for result in returns {
            let mut output = Json::from(result_text(result));
            if result.images().next().is_some() {
                output = Json::List(result.parts.iter().map(|part| self.given(part)).collect());
            }
            self.push(fields! {
                "type": "function_call_output", "call_id": result.id.as_ref(), "output": output
            });
        }
        let content: Vec<Json> = given.iter().map(|given| self.given(given)).collect();
        if !content.is_empty() {
            self.push(fields! { "type": "message", "role": "user", "content": content });
        }
    }

    fn model(&mut self, said: &[Said<'_>]) {
        for said in uncut(said) {
            match said {
                Said::Text { text, .. } => {
                    self.message(fields! { "type": "output_text", "text": *text });
                }
                Said::Refusal(text) => self.message(fields! { "type": "refusal", "refusal": *text }),
                Said::Reasoning(raw) => self.push(Json::Raw((*raw).to_owned())),
                Said::Native(raw) => self.native(raw),
                Said::Call(call) => self.push(fields! {
                    "type": "function_call",
                    "call_id": call.id.as_ref(),
                    "name": call.name,
                    "arguments": call.object().into_owned(),
                }),
            }
        }
    }

    fn message(&mut self, content: Json) {
        self.push(fields! { "type": "message", "role": "assistant", "content": vec![content] });
    }

    /// An item as it was, or fields of the message before it.
    fn native(&mut self, raw: &RawValue) {
        let fields: BTreeMap<&str, &RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
        if fields.contains_key("type") {
            return self.push(Json::Raw(raw.to_owned()));
        }
        if let Some(message @ Json::Object(_)) = self.out.last_mut() {
            for (name, value) in fields {
                message.put(name, Json::Raw(value.to_owned()));
            }
        }
    }
}
