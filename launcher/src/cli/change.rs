//! Verbs that change tasks: each task by itself, so that one refusal does not keep the others from being done.

use super::args::change::{Cancel, Hold, Many, Release, Reprioritise};
use super::args::model::Resume;
use super::args::value::TaskRef;
use super::{Context, Failure, Outcome, system};
use crate::client::{Answer, Client, ClientError, segment};
use ouroboros_proto::api::{CommandRequest, ResumeRequest, SubmitAnswer, TaskView};
use serde_json::json;

/// Cancels tasks. The wish is durable when this returns; `wait` waits for the end.
pub fn cancel(context: &Context, cancel: &Cancel) -> Outcome {
    let body = cancel.grace.map_or_else(|| json!({}), |grace| json!({ "grace_ms": grace.get() }));
    each(context, &cancel.tasks, |client, task| client.post(&path(task, "cancel"), &body), stands)
}

/// Submits tasks again; prints the numbers of the new ones.
pub fn retry(context: &Context, many: &Many) -> Outcome {
    each(
        context,
        &many.tasks,
        |client, task| client.act(&path(task, "retry")),
        |context, _, answer| {
            let accepted: SubmitAnswer = answer.read()?;
            context.print(&format!("{}\n", accepted.number))
        },
    )
}

/// Holds tasks or the queue.
pub fn hold(context: &Context, hold: &Hold) -> Outcome {
    if hold.queue {
        return system::command(context, &CommandRequest::HoldQueue);
    }
    each(context, &hold.tasks, |client, task| client.act(&path(task, "hold")), stands)
}

/// Releases tasks or the queue.
pub fn release(context: &Context, release: &Release) -> Outcome {
    if release.queue || release.all {
        return system::command(context, &CommandRequest::ReleaseQueue { all: release.all });
    }
    each(context, &release.tasks, |client, task| client.act(&path(task, "release")), stands)
}

/// Lets tasks go on that wait for money or a model.
pub fn resume(context: &Context, resume: &Resume) -> Outcome {
    let body = ResumeRequest { pause: resume.pause, max_cost: resume.max_cost.clone() };
    each(context, &resume.tasks, |client, task| client.post(&path(task, "resume"), &body), stands)
}

/// Changes a task's place in the queue.
pub fn priority(context: &Context, change: &Reprioritise) -> Outcome {
    let body = json!({ "priority": change.priority.as_str() });
    let tasks = std::slice::from_ref(&change.task);
    each(
        context,
        tasks,
        |client, task| client.post(&path(task, "priority"), &body),
        |context, _, answer| {
            let task: TaskView = answer.read()?;
            context.note(&format!("task {} has priority {}", task.number, task.priority));
            Ok(())
        },
    )
}

/// Forgets settled tasks.
pub fn remove(context: &Context, many: &Many) -> Outcome {
    each(
        context,
        &many.tasks,
        |client, task| client.delete(&path(task, "")),
        |context, task, _| {
            context.note(&format!("task {task} is removed with its output"));
            Ok(())
        },
    )
}

fn path(task: &TaskRef, act: &str) -> String {
    let task = segment(task.as_str());
    if act.is_empty() { format!("/api/tasks/{task}") } else { format!("/api/tasks/{task}/{act}") }
}

fn stands(context: &Context, _: &TaskRef, answer: &Answer) -> Result<(), Failure> {
    let task: TaskView = answer.read()?;
    context.note(&format!("task {} is {}", task.number, task.status.as_str()));
    Ok(())
}

/// Acts on each task and tells what came of it; with `--json` the answer, an empty one as the task's name. The exit code is
/// 1 when any was refused; the others are done all the same.
fn each(
    context: &Context,
    tasks: &[TaskRef],
    act: impl Fn(&Client, &TaskRef) -> Result<Answer, ClientError>,
    tell: impl Fn(&Context, &TaskRef, &Answer) -> Result<(), Failure>,
) -> Outcome {
    let mut refused = None;
    for task in tasks {
        match context.acting(|client| act(client, task)) {
            Ok(answer) if context.json() => {
                let value = answer.value().unwrap_or_else(|_| json!({ "task": task.as_str() }));
                context.print_json(&value)?;
            }
            Ok(answer) => tell(context, task, &answer)?,
            Err(failure) => {
                let failure = failure.about(&format!("task {task}"));
                // The last one is told by whoever called us; nobody listens to the others if not here.
                if let Some(before) = refused.replace(failure) {
                    before.tell(context.json(), None);
                }
            }
        }
    }
    refused.map_or(Ok(0), Err)
}
