//! `show`: everything about one task, or the conversation of one in words.

use super::args::look::Show;
use super::args::value::TaskRef;
use super::{Context, Failure, Outcome};
use crate::client::{Answer, segment};
use crate::render;
use crate::render::transcript::Transcript;
use ouroboros_proto::agent::Entry;
use ouroboros_proto::api::{TaskView, TranscriptView};
use ouroboros_proto::kind::clock;
use serde_json::{Value, json};

/// Shows a task.
pub fn show(context: &Context, show: &Show) -> Outcome {
    if show.transcript {
        return transcript(context, show);
    }
    let answer = context.client().get(&format!("/api/tasks/{}", segment(show.task.as_str())))?;
    if context.json() {
        context.print_json(&answer.value()?)?;
    } else {
        context.print(&render::task::detail(&answer.read()?, clock::wall(), context.out()))?;
    }
    Ok(0)
}

/// Takes a part of a transcript: its entries, and the answer that they came in.
pub type Take<'a> = dyn FnMut(&[Entry], &Answer) -> Result<(), Failure> + 'a;

/// Reads the transcript of a task, a part after the other, each as entries and as it came.
///
/// # Errors
/// A part cannot be had, or what is done with it fails.
pub fn pages(context: &Context, task: &TaskRef, take: &mut Take<'_>) -> Result<TaskView, Failure> {
    let client = context.client();
    // By its id: `last` may be another one with the next part.
    let task: TaskView = client.get(&format!("/api/tasks/{}", segment(task.as_str())))?.read()?;
    let mut from = 1;
    loop {
        let answer = client.get(&format!("/api/tasks/{}/transcript?from={from}", task.id))?;
        let page: TranscriptView = answer.read()?;
        if page.entries.is_empty() {
            return Ok(task);
        }
        take(&page.entries, &answer)?;
        from = page.next;
    }
}

/// Shows what a task in words did and heard.
fn transcript(context: &Context, show: &Show) -> Outcome {
    let mut shown = Transcript::new(context.out(), show.full);
    let mut all: Vec<Value> = Vec::new();
    let mut count = 0_usize;
    let task = pages(context, &show.task, &mut |entries, answer| {
        count = count.saturating_add(entries.len());
        if context.json() {
            if let Some(Value::Array(entries)) = answer.value()?.get_mut("entries").map(Value::take) {
                all.extend(entries);
            }
            return Ok(());
        }
        let text: String = entries.iter().map(|entry| shown.show(entry)).collect();
        context.print(&text)
    })?;
    if context.json() {
        let next = count.saturating_add(1);
        context.print_json(&json!({ "task": task.id, "number": task.number, "entries": all, "next": next }))?;
    } else if count == 0 {
        context.note(if task.agent.is_some() {
            "nothing is recorded yet"
        } else {
            "only tasks in words have a transcript"
        });
    }
    Ok(0)
}
