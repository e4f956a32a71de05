//! `send` and `interrupt`: speaking to a task in words while it works.

use super::args::change::{Interrupt, Send};
use super::{Context, Failure, Outcome, ask, run};
use crate::client::segment;
use ouroboros_proto::api::{InterruptRequest, MessageAnswer, MessageRequest, TaskView};
use ouroboros_proto::kind::{Millis, TaskId};

/// How long a server that is in trouble is asked again.
const PATIENCE: Millis = Millis::seconds(10);

/// Says something to a task. It is durable when this returns.
pub fn send(context: &Context, send: Send) -> Outcome {
    let words = send.text.into_iter().map(run::text).collect::<Result<Vec<String>, Failure>>()?;
    let text = ask::prompt(words, &|words| context.note(words))?;
    if text.trim().is_empty() {
        return Err(Failure::usage("there is nothing to say").remedy("Give it as TEXT, or `-` to read standard input."));
    }
    let target = format!("/api/tasks/{}/messages", segment(send.task.as_str()));
    let body = MessageRequest { text };
    let key = send.key.unwrap_or_else(|| TaskId::mint().to_string());
    let once = || context.client().post_with_key(&target, &body, &key);
    let answer = run::until_answered(context, PATIENCE, once).map_err(|failure| failure.about(&task(&send.task)))?;
    if context.json() {
        context.print_json(&answer.value()?)?;
        return Ok(0);
    }
    let MessageAnswer { number, duplicate } = answer.read()?;
    let again = if duplicate { ", accepted before with this key" } else { "" };
    context
        .note(&format!("message {number} to {}{again}; it takes it before it asks its model again", task(&send.task)));
    Ok(0)
}

/// Stops the turn that is under way.
pub fn interrupt(context: &Context, interrupt: &Interrupt) -> Outcome {
    let target = format!("/api/tasks/{}/interrupt", segment(interrupt.task.as_str()));
    let body = InterruptRequest { hold: interrupt.hold, call: interrupt.call };
    let answer = context
        .acting(|client| client.post(&target, &body))
        .map_err(|failure| failure.about(&task(&interrupt.task)))?;
    if context.json() {
        context.print_json(&answer.value()?)?;
        return Ok(0);
    }
    let TaskView { number, .. } = answer.read()?;
    context.note(&match (interrupt.call, interrupt.hold) {
        (Some(call), _) => format!("call {call} of task {number} is cancelled; its turn goes on"),
        (None, true) => format!("this turn of task {number} is stopped; it waits for `ouroboros send {number} \"…\"`"),
        (None, false) => format!("this turn of task {number} is stopped; it goes on with the next one"),
    });
    Ok(0)
}

fn task(name: &impl std::fmt::Display) -> String {
    format!("task {name}")
}
