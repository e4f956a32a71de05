//! `replay`: what a model answered in a task, gone through again with the tools of today, and compared.

use super::args::value::TaskRef;
use super::args::work::Replay;
use super::follow::{Ended, Followed, Session, View};
use super::show::pages;
use super::{Context, Failure, OURS, Outcome, run, why};
use crate::render::clean;
use crate::render::replay::{Compared, Sums};
use crate::render::why::Made;
use ouroboros_proto::agent::Entry;
use ouroboros_proto::api::{AgentSpec, SubmitOne, TaskStatus};
use serde_json::json;
use std::env;

/// Something differs.
const DIFFERS: u8 = 1;

/// Has it done, waits for its end and tells what came of each call.
pub fn replay(context: &Context, asked: Replay) -> Outcome {
    let agent = AgentSpec {
        replay: Some(asked.task.to_string()),
        folder: asked.cwd.map(|folder| run::directory(Some(folder))).transpose()?.unwrap_or_default(),
        mode: asked.mode,
        path: env::var("PATH").ok(),
        ..AgentSpec::default()
    };
    let accepted =
        run::submit(context, SubmitOne { agent: Some(agent), ..SubmitOne::default() }, asked.patience.reconnect)?;
    context.note(&format!("task {} replays task {}", accepted.number, asked.task));
    run::say_when_held(context);
    let of = Followed { task: accepted.id, number: accepted.number, in_words: true };
    let session = Session::new(context, of, View::End, asked.patience.reconnect, None);
    let Ended::Settled(task) = session.run()? else { return Ok(0) };
    let mut entries = Vec::new();
    pages(context, &accepted.id.to_string().parse::<TaskRef>().map_err(Failure::usage)?, &mut |page, _| {
        entries.extend_from_slice(page);
        Ok(())
    })?;
    let sums = tell(context, &entries)?;
    if context.json() {
        let Sums { same, differs, not_run } = sums;
        let replays = task.from.map(|from| from.number);
        context.print_json(&json!({
            "task": task.number, "replays": replays, "calls": sums.calls(),
            "same": same, "differs": differs, "not_run": not_run,
        }))?;
    } else {
        context.print(&format!("{}\n", sums.words()))?;
    }
    if task.status != TaskStatus::Completed {
        let reason = task.reason.as_deref().unwrap_or_else(|| task.status.as_str());
        context.note(&format!("task {}: {}", task.number, clean(reason)));
        return Ok(task.exit_code.unwrap_or(OURS));
    }
    Ok(if sums.differs > 0 { DIFFERS } else { 0 })
}

/// Tells what came of each call.
fn tell(context: &Context, entries: &[Entry]) -> Result<Sums, Failure> {
    let [before, then, now] = parts(entries);
    let (then, now) = (calls(then, calls(before, 0).len()), calls(now, 0));
    let mut sums = Sums::default();
    for (index, made) in then.iter().enumerate() {
        let compared = Compared::of(made, now.get(index));
        sums.count(&compared);
        if context.json() {
            context.print_json(&compared.value())?;
        } else {
            context.print(&compared.line(context.out()))?;
        }
    }
    Ok(sums)
}

/// What the other task took over, what it did and heard itself, and what the replay did: each begins with what was wanted.
fn parts(entries: &[Entry]) -> [&[Entry]; 3] {
    let last_asked =
        |entries: &[Entry]| entries.iter().rposition(|entry| matches!(entry, Entry::Asked { .. })).unwrap_or(0);
    let (both, now) = entries.split_at(last_asked(entries));
    let (before, then) = both.split_at(last_asked(both));
    [before, then, now]
}

/// The calls, numbered from behind so many others.
fn calls(entries: &[Entry], others: usize) -> Vec<Made> {
    let mut calls = Vec::new();
    entries.iter().for_each(|entry| why::take(&mut calls, entry));
    let others = u32::try_from(others).unwrap_or(u32::MAX);
    calls.iter_mut().for_each(|made| made.number = made.number.saturating_add(others));
    calls
}

#[cfg(test)]
mod tests {
    use super::{calls, parts};
    use ouroboros_proto::agent::Entry;
    use serde_json::json;

    #[test]
    fn calls_have_the_numbers_that_they_have_in_their_task() {
        let asked = json!({ "type": "asked", "text": "x" });
        let call = json!({ "type": "tool_call", "id": "a", "name": "look", "arguments": "{}" });
        let answered = json!({ "type": "answered", "answer": { "message": { "role": "assistant", "parts": [call] }, "stop": "end",
            "usage": {}, "cost": null, "route": "r", "model": "m", "provider_request": null } });
        let all = [&asked, &answered, &asked, &answered, &answered, &asked, &answered];
        let entries: Vec<Entry> = all.into_iter().map(|entry| serde_json::from_value(entry.clone()).unwrap()).collect();
        let [before, then, now] = parts(&entries);
        assert_eq!([before.len(), then.len(), now.len()], [2, 3, 2]);
        let numbers: Vec<u32> = calls(then, calls(before, 0).len()).iter().map(|made| made.number).collect();
        assert_eq!(numbers, [2, 3]);
    }
}
