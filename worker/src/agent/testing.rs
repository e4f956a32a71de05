//! Entries for tests.

use ouroboros_proto::agent::{
    CallOutcome, CallResult, Entry, Message, ModelAnswer, NoteAuthor, Part, Role, StopReason,
};
use ouroboros_proto::kind::TokenUsage;

pub fn asked() -> Entry {
    Entry::Asked { text: "do it".to_owned(), guidance: None, images: Vec::new() }
}

pub fn call(id: &str, arguments: &str) -> Part {
    Part::ToolCall { id: id.to_owned(), name: "look".to_owned(), arguments: arguments.to_owned(), native: None }
}

/// A call that delivers.
pub fn delivers(id: &str, arguments: &str) -> Part {
    Part::ToolCall { id: id.to_owned(), name: "deliver".to_owned(), arguments: arguments.to_owned(), native: None }
}

pub fn answered(text: &str, calls: &[Part]) -> Entry {
    let parts = [Part::text(text)].into_iter().chain(calls.iter().cloned()).collect();
    Entry::Answered {
        answer: Box::new(ModelAnswer {
            message: Message { role: Role::Assistant, parts },
            stop: StopReason::End,
            usage: TokenUsage::default(),
            cost: None,
            route: "r/m".to_owned(),
            model: "m".to_owned(),
            provider_request: None,
            anomalies: Vec::new(),
            window: None,
        }),
    }
}

pub fn results(calls: &[&str]) -> Entry {
    let result = |call: &&str| CallResult {
        call: (*call).to_owned(),
        name: "look".to_owned(),
        outcome: CallOutcome::Ok,
        code: None,
        text: "seen".to_owned(),
        images: Vec::new(),
        millis: 0,
        decided: None,
        confined: None,
        receipt: None,
        whole: None,
    };
    Entry::Results { results: calls.iter().map(result).collect() }
}

pub fn compacted(from: u64, to: u64, text: &str) -> Entry {
    let (text, digest) = (text.to_owned(), String::new());
    Entry::Compacted { from, to, text, digest, author: NoteAuthor::Summary, cost: None }
}
