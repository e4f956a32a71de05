//! `why`: what was decided about the calls of a task in words, and by which rule.

use super::args::look::Why;
use super::show::pages;
use super::{Context, Failure, Outcome};
use crate::render::why::{self, Made};
use ouroboros_proto::agent::{Entry, Part};

/// Shows it for one call, or for all.
pub fn why(context: &Context, asked: &Why) -> Outcome {
    let mut calls: Vec<Made> = Vec::new();
    let task = pages(context, &asked.task, &mut |entries, _| {
        for entry in entries {
            take(&mut calls, entry);
        }
        Ok(())
    })?;
    if task.agent.is_none() {
        return Err(Failure::usage(format!("task {} runs a command: nothing is decided about calls", task.number))
            .remedy("Only tasks in words call tools."));
    }
    let shown: Vec<&Made> = calls.iter().filter(|made| asked.call.is_none_or(|call| call == made.number)).collect();
    if let (Some(call), true) = (asked.call, shown.is_empty()) {
        let most = calls.len();
        return Err(Failure::usage(format!("task {} made no call {call}: it made {most}", task.number))
            .remedy(format!("`ouroboros why {}` lists them.", task.number)));
    }
    if context.json() {
        let shown: Vec<_> = shown.iter().map(|made| made.value()).collect();
        context.print_json(&shown)?;
    } else {
        context.print(&why::show(&shown, context.out()))?;
    }
    Ok(0)
}

/// Adds what an entry says of calls: made by an answer, then what they came to.
pub fn take(calls: &mut Vec<Made>, entry: &Entry) {
    match entry {
        Entry::Answered { answer } => {
            for part in &answer.message.parts {
                if let Part::ToolCall { id, name, arguments, .. } = part {
                    let number = u32::try_from(calls.len()).unwrap_or(u32::MAX).saturating_add(1);
                    calls.push(Made {
                        number,
                        id: id.clone(),
                        tool: name.clone(),
                        arguments: arguments.clone(),
                        result: None,
                    });
                }
            }
        }
        Entry::Results { results } => {
            for result in results {
                // Ids may repeat: the newest call without a result is meant.
                let open = calls.iter_mut().rev().filter(|made| made.result.is_none());
                if let Some(made) = open.into_iter().find(|made| made.id == result.call) {
                    made.result = Some(result.clone());
                }
            }
        }
        Entry::Asked { .. }
        | Entry::Said { .. }
        | Entry::Notice { .. }
        | Entry::Parked { .. }
        | Entry::Window { .. }
        | Entry::Overflowed { .. }
        | Entry::Trimmed { .. }
        | Entry::Compacting { .. }
        | Entry::Compacted { .. }
        | Entry::PrefixBroken { .. }
        | Entry::Begins { .. }
        | Entry::Judging { .. }
        | Entry::Judged { .. }
        | Entry::Delivered { .. } => {}
    }
}
