//! `diff` and `undo`: what a task in words changed in its folder, and taking it back.

use super::args::change::Undo;
use super::args::look::Diff;
use super::{Context, Outcome};
use crate::client::segment;
use crate::render::changes;
use ouroboros_proto::api::{ChangesView, UndoAnswer, UndoRequest, Undone};
use std::time::Duration;

/// Many files take a while.
const PATIENCE: Duration = Duration::from_secs(120);

/// Shows what a task changed.
pub fn diff(context: &Context, diff: &Diff) -> Outcome {
    let answer = context.client().get(&format!("/api/tasks/{}/changes", segment(diff.task.as_str())))?;
    if context.json() {
        context.print_json(&answer.value()?)?;
        return Ok(0);
    }
    let view: ChangesView = answer.read()?;
    context.print(&changes::diff(&view, context.out()))?;
    let notes = changes::notes(&view);
    if view.files.is_empty() {
        context.note("it changed nothing");
    }
    notes.iter().for_each(|note| context.note(note));
    Ok(0)
}

/// Takes back what a task changed; 1 when a file was left as it is against the wish.
pub fn undo(context: &Context, undo: &Undo) -> Outcome {
    let target = format!("/api/tasks/{}/undo", segment(undo.task.as_str()));
    let body = UndoRequest { files: undo.files.clone(), dry_run: undo.dry_run, force: undo.force };
    let answer = context.acting(|client| client.post_within(&target, &body, PATIENCE))?;
    let done: UndoAnswer = answer.read()?;
    if context.json() {
        context.print_json(&answer.value()?)?;
    } else {
        context.print(&changes::undone(&done))?;
        if done.files.is_empty() {
            context.note("it changed nothing");
        }
        if done.dry_run {
            context.note("nothing was done; without --dry-run it is");
        }
    }
    Ok(u8::from(done.files.iter().any(|file| file.done == Undone::Refused)))
}
