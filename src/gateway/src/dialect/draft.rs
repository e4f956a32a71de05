//! The part of an answer in the making that all formats share: what it weighs, what is odd, what was counted.

use super::Headers;
use super::assemble::{MAX_ANSWER_BYTES, StreamFault};
use crate::route::Route;
use ouroboros_proto::agent::{
    Cost, CostSource, Message, ModelAnswer, Native, Part, Piece, Role, StopReason, TokenUsage,
};
use ouroboros_proto::kind::NanoDollars;

/// At most this many oddities are told of an answer.
const MAX_ANOMALIES: usize = 16;
/// An answer has at most this many calls.
pub(super) const MAX_CALLS: u32 = 256;
/// What a part or a call weighs besides its text, so that empty ones are bounded too.
const PART_BYTES: usize = 64;

#[derive(Debug)]
pub(super) struct Draft {
    route: String,
    model: String,
    header_id: Option<String>,
    body_id: Option<String>,
    seed: Option<String>,
    parts: Vec<Part>,
    calls: u32,
    stop: Option<StopReason>,
    usage: TokenUsage,
    /// Whether that is the count of all of it.
    counted: bool,
    cost: Option<NanoDollars>,
    anomalies: Vec<String>,
    pieces: Vec<Piece>,
    bytes: usize,
}

impl Draft {
    pub(super) fn new(route: &Route) -> Self {
        Self {
            route: route.id.as_str().to_owned(),
            model: route.model.clone(),
            header_id: None,
            body_id: None,
            seed: None,
            parts: Vec::new(),
            calls: 0,
            stop: None,
            usage: TokenUsage::default(),
            counted: false,
            cost: None,
            anomalies: Vec::new(),
            pieces: Vec::new(),
            bytes: 0,
        }
    }

    pub(super) fn headers(&mut self, headers: Headers<'_>) {
        self.header_id = super::rejection::request_id(headers);
    }

    /// The id in the response itself.
    pub(super) fn body_id(&mut self, id: Option<&str>) {
        if self.body_id.is_none() {
            self.body_id = id.filter(|id| !id.is_empty()).map(str::to_owned);
        }
    }

    /// What tells this answer from others, where the response has no id.
    pub(super) fn seed(&mut self, seed: Option<&str>) {
        if self.seed.is_none() {
            self.seed = seed.map(str::to_owned);
        }
    }

    /// The header's id is what a provider's support asks for; only a generation of OpenRouter is asked for by the id in its body.
    pub(super) fn provider_request(&self) -> Option<&str> {
        let body = self.body_id.as_deref();
        body.filter(|id| id.starts_with("gen-")).or(self.header_id.as_deref()).or(body)
    }

    /// The model that answers.
    pub(super) fn model(&mut self, model: Option<&str>) {
        if let Some(model) = model.filter(|model| !model.is_empty()) {
            model.clone_into(&mut self.model);
        }
    }

    /// Something odd that is let pass: a sentence.
    pub(super) fn note(&mut self, anomaly: impl Into<String>) {
        let anomaly = anomaly.into();
        if self.anomalies.len() < MAX_ANOMALIES && !self.anomalies.contains(&anomaly) {
            self.anomalies.push(anomaly);
        }
    }

    /// Makes room for that many bytes of the answer.
    pub(super) const fn grow(&mut self, bytes: usize) -> Result<(), StreamFault> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_ANSWER_BYTES { Err(StreamFault::TooLarge) } else { Ok(()) }
    }

    /// Makes room for a part.
    pub(super) const fn grow_part(&mut self) -> Result<(), StreamFault> {
        self.grow(PART_BYTES)
    }

    /// Makes room for a part of that many bytes that comes whole.
    pub(super) const fn grow_whole(&mut self, bytes: usize) -> Result<(), StreamFault> {
        self.grow(bytes.saturating_add(PART_BYTES))
    }

    /// Makes room for a call, and gives its number.
    pub(super) fn grow_call(&mut self) -> Result<u32, StreamFault> {
        let number = self.calls;
        if number >= MAX_CALLS {
            return Err(StreamFault::TooLarge);
        }
        self.calls = number.saturating_add(1);
        self.grow_part()?;
        Ok(number)
    }

    /// To be shown.
    pub(super) fn show(&mut self, piece: Piece) {
        self.pieces.push(piece);
    }

    pub(super) fn take_pieces(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.pieces)
    }

    /// The provider's own JSON, for this route.
    pub(super) fn native(&self, json: impl Into<String>) -> Native {
        Native { route: self.route.clone(), json: json.into() }
    }

    /// An id for a call that came without one: from the response's id, so that it is no other call's in the conversation.
    pub(super) fn mint(&self, number: u32) -> String {
        let seed = self.body_id.as_ref().or(self.seed.as_ref());
        let id: String = seed.iter().flat_map(|id| id.chars()).filter(char::is_ascii_alphanumeric).collect();
        let skip = id.len().saturating_sub(24);
        let tail: String = id.chars().skip(skip).collect();
        if tail.is_empty() { format!("call_{number}") } else { format!("call_{tail}_{number}") }
    }

    /// The next part. Texts and thoughts without native parts are joined with one of their kind before them.
    pub(super) fn push(&mut self, part: Part) {
        match (self.parts.last_mut(), part) {
            (Some(Part::Text { text, .. }), Part::Text { text: more, .. }) => text.push_str(&more),
            (Some(Part::Reasoning { text, native: None }), Part::Reasoning { text: more, native: None }) => {
                text.push_str(&more);
            }
            (_, part) => self.parts.push(part),
        }
    }

    pub(super) fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::ToolCall { .. }))
    }

    pub(super) fn has_refusal(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Refusal { .. }))
    }

    pub(super) fn stop(&mut self, stop: StopReason) {
        self.stop = Some(stop);
    }

    pub(super) const fn stopped(&self) -> Option<&StopReason> {
        self.stop.as_ref()
    }

    /// What was counted, if anything was. Of an answer that is not at its end the count is not known, however far it is.
    pub(super) fn usage(&self) -> Option<TokenUsage> {
        let so_far = TokenUsage { output: None, reasoning: None, ..self.usage };
        let usage = if self.counted { self.usage } else { so_far };
        (usage != TokenUsage::default()).then_some(usage)
    }

    /// Counts that stand in for those before.
    pub(super) fn count(&mut self, usage: TokenUsage) {
        self.usage = usage;
        self.counted = true;
    }

    /// The same while the answer goes on: what it has is counted so far.
    pub(super) fn count_so_far(&mut self, usage: TokenUsage) {
        self.usage = usage;
        self.counted = false;
    }

    /// What the provider says that was counted costs.
    pub(super) const fn cost(&mut self, cost: NanoDollars) {
        self.cost = Some(cost);
    }

    /// The answer.
    pub(super) fn answer(mut self) -> Result<ModelAnswer, StreamFault> {
        let Some(stop) = self.stop.take() else { return Err(StreamFault::Incomplete) };
        let usage = self.usage().unwrap_or_default();
        if usage.cached.unwrap_or(0).saturating_add(usage.cache_write.unwrap_or(0)) > usage.input.unwrap_or(u64::MAX) {
            self.note("More tokens are counted as cached than the prompt has.");
        }
        if usage.reasoning.unwrap_or(0) > usage.output.unwrap_or(u64::MAX) {
            self.note("More tokens are counted as thinking than the answer has.");
        }
        if self.parts.is_empty() {
            self.note("The answer is empty.");
        }
        Ok(ModelAnswer {
            provider_request: self.provider_request().map(str::to_owned),
            message: Message { role: Role::Assistant, parts: self.parts },
            stop,
            usage,
            cost: self.cost.filter(|_| self.counted).map(|amount| Cost { amount, source: CostSource::Provider }),
            route: self.route,
            model: self.model,
            anomalies: self.anomalies,
            window: None,
        })
    }
}
