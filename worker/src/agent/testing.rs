//! Entries for tests.

use ouroboros_proto::agent::{CallOutcome, CallResult, Entry, Message, ModelAnswer, Part, Role, StopReason};
use ouroboros_proto::kind::TokenUsage;

pub fn asked() -> Entry {
    Entry::Asked { text: "do it".to_owned(), guidance: None }
}

pub fn call(id: &str, arguments: &str) -> Part {
    Part::ToolCall { id: id.to_owned(), name: "look".to_owned(), arguments: arguments.to_owned(), native: None }
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
        millis: 0,
    };
    Entry::Results { results: calls.iter().map(result).collect() }
}
