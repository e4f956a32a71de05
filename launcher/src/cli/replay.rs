//! `replay`: what a model answered in a task, gone through again with the tools of today, and compared.

use super::args::value::TaskRef;
use super::args::work::Replay;
use super::follow::{Ended, Session, View};
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
    let session = Session::new(context, accepted.id, accepted.number, View::End, asked.patience.reconnect, None);
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
    let (then, now) = halves(entries);
    let (then, now) = (calls(then), calls(now));
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

/// What the other task did and heard itself, and what the replay did: each begins with what was wanted.
fn halves(entries: &[Entry]) -> (&[Entry], &[Entry]) {
    let last_asked =
        |entries: &[Entry]| entries.iter().rposition(|entry| matches!(entry, Entry::Asked { .. })).unwrap_or(0);
    let (before, now) = entries.split_at(last_asked(entries));
    (before.get(last_asked(before)..).unwrap_or_default(), now)
}

fn calls(entries: &[Entry]) -> Vec<Made> {
    let mut calls = Vec::new();
    entries.iter().for_each(|entry| why::take(&mut calls, entry));
    calls
}
