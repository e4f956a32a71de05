//! What tasks ask their owner, and the owner's rules, for people.

use super::{Column, Look, Table, Tone, clean, time};
use ouroboros_proto::agent::{OwnerAnswer, OwnerRequest};
use ouroboros_proto::api::{RequestView, RuleView};
use ouroboros_proto::kind::{RequestState, RuleEffect, RuleScope, UtcMicros};

/// One row a request.
pub fn table(requests: &[RequestView], now: UtcMicros, look: Look) -> String {
    let mut table = Table::new(&[
        Column::Left("REQUEST"),
        Column::Left("KIND"),
        Column::Left("STATE"),
        Column::Right("AGE"),
        Column::Left("ASKS"),
    ]);
    for request in requests {
        let tone = match request.state {
            RequestState::Open => Tone::Warn,
            RequestState::Answered => Tone::Good,
            RequestState::Expired | RequestState::Withdrawn => Tone::Faint,
        };
        let answer = request.answer.as_ref().map(|answer| format!(" — {}", self::answer(answer))).unwrap_or_default();
        table.row([
            (Tone::Plain, format!("{}/{}", request.number, request.request)),
            (Tone::Plain, request.asks.kind().as_str().to_owned()),
            (tone, request.state.as_str().to_owned()),
            (Tone::Plain, time::ago(now, request.asked_at)),
            (Tone::Plain, format!("{}{answer}", first_line(request.asks.text()))),
        ]);
    }
    table.render(look)
}

/// What was answered, in words.
pub fn answer(answer: &OwnerAnswer) -> String {
    match answer {
        OwnerAnswer::Option { number, text } => format!("option {number}: {}", clean(text)),
        OwnerAnswer::Text { text } => clean(text),
        OwnerAnswer::Once => "allowed once".to_owned(),
        OwnerAnswer::Task => "allowed for the task".to_owned(),
        OwnerAnswer::Always => "allowed from now on".to_owned(),
        OwnerAnswer::Deny { reason: None } => "denied".to_owned(),
        OwnerAnswer::Deny { reason: Some(reason) } => format!("denied: {}", clean(reason)),
        OwnerAnswer::Expired => "nobody answered in time".to_owned(),
        OwnerAnswer::Withdrawn => "withdrawn".to_owned(),
    }
}

/// Everything that is asked, on lines of its own, and nothing that could steer a terminal.
pub fn whole(request: &RequestView) -> String {
    let mut text = String::new();
    let number = request.number;
    match &request.asks {
        OwnerRequest::Question { text: question, options } => {
            text.push_str(&format!("task {number} asks:\n{}", indented(question)));
            for (index, option) in options.iter().enumerate() {
                text.push_str(&format!("  {}) {}\n", index.saturating_add(1), clean(option)));
            }
        }
        OwnerRequest::Approval { tool, summary, why, rule: _ } => {
            text.push_str(&format!(
                "task {number} asks whether it may do this with {}:\n{}",
                clean(tool),
                indented(summary)
            ));
            if !why.trim().is_empty() {
                text.push_str(&format!("because: {}\n", clean(why)));
            }
        }
    }
    text
}

/// How it is answered from the command line.
pub fn ways(request: &RequestView) -> String {
    let number = request.number;
    match &request.asks {
        OwnerRequest::Question { options, .. } if options.is_empty() => {
            format!("`ouroboros answer {number} TEXT` answers it")
        }
        OwnerRequest::Question { .. } => format!("`ouroboros answer {number} --option N`, or TEXT, answers it"),
        OwnerRequest::Approval { rule: None, .. } => {
            format!("`ouroboros answer {number} --once` or `--deny [REASON]` answers it")
        }
        OwnerRequest::Approval { .. } => {
            format!("`ouroboros answer {number}` with `--once`, `--task`, `--always` or `--deny [REASON]` answers it")
        }
    }
}

/// How it is answered with a line that is typed.
pub fn hint(asks: &OwnerRequest) -> &'static str {
    match asks {
        OwnerRequest::Question { options, .. } if options.is_empty() => "answer: ",
        OwnerRequest::Question { .. } => "answer, a number or words: ",
        OwnerRequest::Approval { rule: None, .. } => "[y]es once, [n]o, or n and a reason: ",
        OwnerRequest::Approval { .. } => {
            "[y]es once, for this [t]ask, [a]lways in its folder, [n]o, or n and a reason: "
        }
    }
}

/// One row a rule.
pub fn rules(rules: &[RuleView], now: UtcMicros, look: Look) -> String {
    let mut table = Table::new(&[
        Column::Right("ID"),
        Column::Left("EFFECT"),
        Column::Left("TOOL"),
        Column::Left("WHERE"),
        Column::Right("AGE"),
        Column::Left("MATCHES"),
    ]);
    for rule in rules {
        let (tone, effect) = match rule.effect {
            RuleEffect::Allow => (Tone::Good, "allow"),
            RuleEffect::Deny => (Tone::Bad, "deny"),
        };
        let place = match &rule.scope {
            RuleScope::Installation => "everywhere".to_owned(),
            RuleScope::Folder { path } => path.clone(),
            RuleScope::Task => format!("task {}", rule.from_task),
        };
        table.row([
            (Tone::Plain, rule.id.to_string()),
            (tone, effect.to_owned()),
            (Tone::Plain, rule.tool.clone()),
            (Tone::Plain, place),
            (Tone::Plain, time::ago(now, rule.created_at)),
            (Tone::Plain, rule.pattern.to_string()),
        ]);
    }
    table.render(look)
}

fn indented(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("  {}\n", clean(line))).collect()
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}
