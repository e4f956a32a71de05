//! The conversation as contents of parts.
//!
//! A signature belongs to the part that it came with. Of a call the whole part is kept and given back as it was; of a text it is kept
//! beside the text, as `{"thoughtSignature"}`, and put on again here.

use super::generation;
use crate::dialect::conversation::{Call, Given, Return, Said, Turn};
use crate::dialect::json::{Json, fields};
use crate::dialect::wire::Bound;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashSet};

/// What the provider asks for in place of a signature, for a call that another model made.
const FOREIGN: &str = "skip_thought_signature_validator";

pub(super) struct Contents<'b> {
    bound: &'b mut Bound,
    /// Whether calls need signatures.
    signed: bool,
    /// Calls of the last turn to which the provider itself had given ids.
    ids: HashSet<String>,
}

#[derive(Deserialize)]
struct OwnPart {
    #[serde(rename = "functionCall", default)]
    call: Option<OwnCall>,
}

#[derive(Deserialize)]
struct OwnCall {
    #[serde(default)]
    id: Option<String>,
}

impl<'b> Contents<'b> {
    pub(super) fn new(model: &str, bound: &'b mut Bound) -> Self {
        let signed = model.contains("gemini") && generation(model).is_none_or(|generation| generation >= 3);
        Self { bound, signed, ids: HashSet::new() }
    }

    pub(super) fn all(mut self, turns: &[Turn<'_>]) -> Vec<Json> {
        let contents = turns.iter().filter_map(|turn| {
            let (role, parts) = match turn {
                Turn::User { returns, given } => ("user", self.user(returns, given)),
                Turn::Model(said) => ("model", self.model(said)),
            };
            self.bound.message();
            (!parts.is_empty()).then(|| fields! { "role": role, "parts": parts })
        });
        contents.collect()
    }

    fn text(&mut self, text: &str) -> Json {
        self.bound.message();
        fields! { "text": text }
    }

    fn image(&mut self, media_type: &str, data: &str) -> Json {
        self.bound.image(data);
        let data = fields! { "mimeType": media_type, "data": data };
        fields! { "inlineData": data }
    }

    fn user(&mut self, returns: &[Return<'_>], given: &[Given<'_>]) -> Vec<Json> {
        let mut parts: Vec<Json> = returns.iter().map(|result| self.result(result)).collect();
        for result in returns {
            for (media_type, data) in result.images() {
                let label = format!("Image from {}:", result.name);
                parts.push(self.text(&label));
                parts.push(self.image(media_type, data));
            }
        }
        for given in given {
            parts.push(match given {
                Given::Text { text, .. } => self.text(text),
                Given::Image { media_type, data } => self.image(media_type, data),
            });
        }
        parts
    }

    fn result(&mut self, result: &Return<'_>) -> Json {
        self.bound.message();
        let word = if result.is_error { "error" } else { "output" };
        let response = Json::object().with(word, result.text());
        let mut answer = fields! { "name": result.name, "response": response };
        if self.ids.contains(result.id.as_ref()) {
            answer.put("id", result.id.as_ref());
        }
        fields! { "functionResponse": answer }
    }

    fn model(&mut self, said: &[Said<'_>]) -> Vec<Json> {
        let mut parts: Vec<Json> = Vec::new();
        // Whether the next call is the first of its row: only that one has a signature.
        let mut first = true;
        self.ids.clear();
        for said in said {
            match said {
                Said::Text { text, .. } | Said::Refusal(text) => parts.push(self.text(text)),
                Said::Reasoning(raw) => parts.push(self.raw(raw)),
                Said::Native(raw) => match signature(raw) {
                    Some(signature) => sign(&mut parts, signature),
                    None => parts.push(self.raw(raw)),
                },
                Said::Call(call) => {
                    let part = self.call(call, first);
                    first = false;
                    parts.push(part);
                }
            }
        }
        parts
    }

    fn raw(&mut self, raw: &RawValue) -> Json {
        self.bound.message();
        Json::Raw(raw.to_owned())
    }

    fn call(&mut self, call: &Call<'_>, first: bool) -> Json {
        if let Some(raw) = call.native {
            let own = serde_json::from_str::<OwnPart>(raw.get()).ok().and_then(|part| part.call);
            self.ids.extend(own.and_then(|own| own.id).filter(|id| *id == call.id));
            return self.raw(raw);
        }
        self.bound.message();
        let args = Json::raw(&call.object()).unwrap_or_else(Json::object);
        let function = fields! { "name": call.name, "args": args };
        let part = fields! { "functionCall": function };
        if first && self.signed { part.with("thoughtSignature", FOREIGN) } else { part }
    }
}

/// The signature, if the JSON is nothing but one.
fn signature(raw: &RawValue) -> Option<&RawValue> {
    let mut fields: BTreeMap<&str, &RawValue> = serde_json::from_str(raw.get()).ok()?;
    let signature = fields.remove("thoughtSignature")?;
    fields.is_empty().then_some(signature)
}

/// Puts a signature on the text before it, or on an empty one.
fn sign(parts: &mut Vec<Json>, signature: &RawValue) {
    let signature = Json::Raw(signature.to_owned());
    match parts.last_mut() {
        Some(Json::Object(fields)) if fields.first().is_some_and(|(name, _)| name == "text") && fields.len() == 1 => {
            fields.push(("thoughtSignature".to_owned(), signature));
        }
        Some(_) | None => parts.push(fields! { "text": "", "thoughtSignature": signature }),
    }
}
