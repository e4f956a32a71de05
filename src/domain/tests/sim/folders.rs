//! Who may act where, found out from the rows alone.

use crate::image::{Image, is_settled};
use ouroboros_domain::{AttemptRow, Core, TaskRow, TaskState, overlap};
use ouroboros_proto::kind::{AttemptId, TaskId};

/// No attempt at all.
pub const NOBODY: AttemptId = AttemptId::from_bytes([0; 16]);

/// The task of another attempt than `but` that holds a folder in the way of this task.
pub fn holder(image: &Image, task: &TaskRow, but: AttemptId) -> Option<TaskId> {
    let path = task.workspace.as_deref()?;
    let holds = |row: &&AttemptRow| {
        row.ended_at.is_none() && row.id != but && row.workspace.as_deref().is_some_and(|held| overlap(held, path))
    };
    image.attempts.values().find(holds).map(|row| row.task)
}

pub fn is_earlier(one: &TaskRow, other: &TaskRow) -> bool {
    one.priority > other.priority || (one.priority == other.priority && one.number < other.number)
}

/// Whether a task that is ready has a reason to wait for a folder: it is held by another than `but`, or somebody waits for it who came before.
pub fn waits(image: &Image, task: &TaskRow, but: AttemptId) -> bool {
    let Some(path) = task.workspace.as_deref() else { return false };
    let before = |other: &TaskRow| {
        other.state == TaskState::Queued
            && is_earlier(other, task)
            && other.workspace.as_deref().is_some_and(|wanted| overlap(wanted, path))
            && holder(image, other, but).is_some()
    };
    holder(image, task, but).is_some() || image.tasks.values().any(before)
}

/// Two at work in one folder, or somebody who waits for nothing.
pub fn wrong(core: &Core, image: &Image) -> Option<String> {
    let live: Vec<&AttemptRow> = image.attempts.values().filter(|row| row.ended_at.is_none()).collect();
    for (at, one) in live.iter().enumerate() {
        for other in live.iter().skip(at + 1) {
            if let (Some(mine), Some(theirs)) = (&one.workspace, &other.workspace)
                && overlap(mine, theirs)
            {
                return Some(format!("attempts {} in {mine} and {} in {theirs} are at work at once", one.id, other.id));
            }
        }
    }
    for row in image.tasks.values().filter(|row| !is_settled(row)) {
        let said = core.waits_for_workspace(row.id);
        if said.is_some() && !waits(image, row, NOBODY) {
            return Some(format!("task {} waits for {said:?}, and its folder is free", row.number));
        }
    }
    None
}
