//! The conversation as blocks.

use crate::dialect::conversation::{Given, Marks, Return, Said, Turn, uncut};
use crate::dialect::json::{Json, fields};
use crate::dialect::wire::Bound;
use ouroboros_proto::agent::Instruction;
use serde_json::json;

pub(super) struct Messages<'b> {
    marks: Option<Marks>,
    bound: &'b mut Bound,
}

impl<'b> Messages<'b> {
    pub(super) fn new(marks: Option<Marks>, bound: &'b mut Bound) -> Self {
        Self { marks, bound }
    }

    /// The instructions; before the conversation, as the marks are counted in order.
    pub(super) fn system(&mut self, system: &[Instruction]) -> Vec<Json> {
        let texts = system.iter().filter(|instruction| !instruction.text.trim().is_empty());
        texts.map(|instruction| self.text(&instruction.text, instruction.cache)).collect()
    }

    pub(super) fn all(mut self, turns: &[Turn<'_>]) -> Vec<Json> {
        let mut out = Vec::with_capacity(turns.len());
        for (number, turn) in turns.iter().enumerate() {
            self.bound.message();
            let (role, content) = match turn {
                Turn::User { returns, given } => ("user", self.user(returns, given)),
                Turn::Model(said) => ("assistant", self.model(said, number.saturating_add(1) == turns.len())),
            };
            if !content.is_empty() {
                out.push(fields! { "role": role, "content": content });
            }
        }
        out
    }

    fn marked(&mut self, block: Json, cache: bool) -> Json {
        self.bound.message();
        match self.marks.as_mut().is_some_and(|marks| marks.take(cache)) {
            true => block.with("cache_control", json!({ "type": "ephemeral" })),
            false => block,
        }
    }

    fn text(&mut self, text: &str, cache: bool) -> Json {
        self.marked(fields! { "type": "text", "text": text }, cache)
    }

    fn image(&mut self, media_type: &str, data: &str) -> Json {
        self.bound.image(data);
        let source = fields! { "type": "base64", "media_type": media_type, "data": data };
        fields! { "type": "image", "source": source }
    }

    fn user(&mut self, returns: &[Return<'_>], given: &[Given<'_>]) -> Vec<Json> {
        let mut content: Vec<Json> = returns.iter().map(|result| self.result(result)).collect();
        for given in given {
            let block = match given {
                Given::Text { text, cache } => self.text(text, *cache),
                Given::Image { media_type, data } => self.image(media_type, data),
            };
            content.push(block);
        }
        content
    }

    fn result(&mut self, result: &Return<'_>) -> Json {
        let mut block = fields! { "type": "tool_result", "tool_use_id": result.id.as_ref() };
        let parts = result.parts.iter().map(|part| match part {
            Given::Text { text, .. } => fields! { "type": "text", "text": *text },
            Given::Image { media_type, data } => self.image(media_type, data),
        });
        let parts: Vec<Json> = parts.collect();
        if !parts.is_empty() {
            block.put("content", parts);
        }
        if result.is_error {
            block.put("is_error", true);
        }
        self.marked(block, result.cache)
    }

    fn model(&mut self, said: &[Said<'_>], last: bool) -> Vec<Json> {
        let said = uncut(said);
        let mut content = Vec::with_capacity(said.len());
        for (number, one) in said.iter().enumerate() {
            let block = match one {
                // What the model is to go on from may not end with white space.
                Said::Text { text, cache } if last && number.saturating_add(1) == said.len() => {
                    self.text(text.trim_end(), *cache)
                }
                Said::Text { text, cache } => self.text(text, *cache),
                Said::Refusal(text) => self.text(text, false),
                Said::Reasoning(raw) | Said::Native(raw) => {
                    self.bound.message();
                    Json::Raw((*raw).to_owned())
                }
                Said::Call(call) => {
                    self.bound.message();
                    let input = Json::raw(&call.object()).unwrap_or_else(Json::object);
                    fields! { "type": "tool_use", "id": call.id.as_ref(), "name": call.name, "input": input }
                }
            };
            content.push(block);
        }
        content
    }
}
