//! Verbs about the system as a whole.

use super::args::system::{Restart, Slots, Stop};
use super::leave::Leaving;
use super::{Context, Failure, Outcome, config, start};
use crate::client::ClientError;
use crate::render::{count, size};
use ouroboros_process::{Signal, lock};
use ouroboros_proto::api::{CommandAnswer, CommandRequest, StateView};
use ouroboros_proto::kind::{Millis, TaskNumber};
use ouroboros_settings::Key;
use serde_json::{Value, json};
use std::time::Duration;

/// How long a stop in order may take, over what the server allows itself.
const SLACK: Millis = Millis::seconds(5);

/// Longest stop that is allowed by the settings.
const STOP: Millis = Millis::seconds(600);

/// Has something done to the system and prints what the server says about it.
pub fn command(context: &Context, request: &CommandRequest) -> Outcome {
    let answer = context.acting(|client| client.post("/api/command", request))?;
    told(context, &answer.value()?)
}

fn told(context: &Context, answer: &Value) -> Outcome {
    if context.json() {
        context.print_json(answer)?;
    } else {
        let answer: CommandAnswer = serde_json::from_value(answer.clone()).map_err(malformed)?;
        let freed = answer.freed_bytes.map(|bytes| format!(" {} freed.", size(bytes))).unwrap_or_default();
        context.note(&format!("{}{freed}", crate::render::clean(&answer.message)));
    }
    Ok(0)
}

/// Stops the server and waits until it is gone. That nothing runs is what was wanted.
pub fn stop(context: &Context, stop: &Stop) -> Outcome {
    let Some(state) = state(context)? else { return stop_launcher(context) };
    let leaving = Leaving::of(&state);
    let answer = context.client().post("/api/command", &CommandRequest::Stop { drain: stop.drain })?.value()?;
    say_tasks(context, &answer, stop.drain);
    leaving.wait((!stop.drain).then(|| bound(context)))?;
    if context.json() {
        context.print_json(&answer)?;
    } else {
        context.note("stopped; queued tasks wait for the next start");
    }
    Ok(0)
}

/// Stops the server, starts it again, and waits until it answers.
pub fn restart(context: &Context, restart: &Restart) -> Outcome {
    let Some(state) = state(context)? else {
        start::start(context)?;
        return Ok(0);
    };
    let leaving = Leaving::of_server(&state);
    let answer = context.client().post("/api/command", &CommandRequest::Restart { drain: restart.drain })?.value()?;
    say_tasks(context, &answer, restart.drain);
    leaving.wait((!restart.drain).then(|| bound(context)))?;
    let after = start::later(context, state.generation.get(), restart.patience)?;
    context.client().saw_build(&after.build);
    if context.json() {
        context.print_json(&after)?;
    } else {
        context.note(&format!("restarted: pid {}, version {}", after.pid, crate::render::state::version(&after)));
    }
    Ok(0)
}

/// Kills everything at once. The answer may be lost with the server; that it is gone is what counts.
pub fn panic(context: &Context) -> Outcome {
    let Some(state) = state(context)? else { return nothing_runs(context) };
    let leaving = Leaving::of(&state);
    match context.client().post_within("/api/command", &CommandRequest::Panic, Duration::from_secs(5)) {
        Ok(_) | Err(ClientError::Lost(_) | ClientError::NotRunning { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    leaving.wait(Some(SLACK))?;
    if context.json() {
        context.print_json(&json!({ "message": "everything is killed" }))?;
    } else {
        context.note("everything is killed; the next start holds the queue: `ouroboros release --all` lets it go");
    }
    Ok(0)
}

/// Deletes what retention says.
pub fn collect(context: &Context) -> Outcome {
    let answer = context.acting(|client| {
        client.post_within("/api/command", &CommandRequest::CollectGarbage, Duration::from_secs(600))
    })?;
    told(context, &answer.value()?)
}

/// Changes the number of slots, in the file and in a server that runs.
pub fn slots(context: &Context, slots: &Slots) -> Outcome {
    config::write(context, Key::QueueSlots, &slots.slots.to_string())?;
    match context.client().post("/api/command", &CommandRequest::SetSlots { slots: slots.slots }) {
        Ok(answer) => told(context, &answer.value()?),
        Err(ClientError::NotRunning { .. }) => {
            if context.json() {
                context.print_json(&json!({ "message": "written; in force at the next start" }))?;
            } else {
                context.note(&format!("queue.slots is {} from the next start on", slots.slots));
            }
            Ok(0)
        }
        Err(error) => Err(Failure::from(error).about("written to the configuration, but not in force")),
    }
}

/// The state of the server; `None` when none runs.
fn state(context: &Context) -> Result<Option<StateView>, Failure> {
    match context.client().get("/api/state") {
        Ok(answer) => Ok(Some(answer.read()?)),
        Err(ClientError::NotRunning { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// No server answers. A launcher whose server keeps crashing is stopped by its signal; without one nothing runs.
fn stop_launcher(context: &Context) -> Outcome {
    let held = lock::held_by(&context.paths().launcher_lock());
    let Some((pid, launcher)) = held.map_err(|error| Failure::io("the launcher's lock", &error))? else {
        return nothing_runs(context);
    };
    launcher.signal(Signal::TERM).map_err(|error| {
        Failure::new("not_stopped", format!("no server answers, and its launcher {pid} cannot be signalled: {error}."))
            .remedy(format!("`kill {pid}` as its owner."))
    })?;
    if !launcher.wait_dead(bound(context).duration()) {
        let failure = Failure::new("not_stopped", format!("no server answers, and its launcher {pid} does not end."));
        return Err(failure.remedy(format!("`kill -9 {pid}`; nothing of it survives that.")));
    }
    if context.json() {
        context.print_json(&json!({ "message": "the launcher is stopped; no server was running" }))?;
    } else {
        context.note("no server was running; its launcher is stopped");
    }
    Ok(0)
}

fn nothing_runs(context: &Context) -> Outcome {
    if context.json() {
        context.print_json(&json!({ "message": "nothing runs" }))?;
    } else {
        context.note("nothing runs");
    }
    Ok(0)
}

fn say_tasks(context: &Context, answer: &Value, drain: bool) {
    let tasks: Vec<TaskNumber> =
        answer.get("tasks").and_then(|tasks| serde_json::from_value(tasks.clone()).ok()).unwrap_or_default();
    if tasks.is_empty() {
        return;
    }
    let numbers: Vec<String> = tasks.iter().map(ToString::to_string).collect();
    let running = count(u64::try_from(tasks.len()).unwrap_or(u64::MAX), "running task");
    let act = if drain { "waits for" } else { "interrupts" };
    context.note(&format!("{act} {running}: {}", numbers.join(" ")));
}

/// How long the server takes at most by its settings, as far as they are known here.
fn bound(context: &Context) -> Millis {
    let stop = config::load(context).map_or(STOP, |loaded| loaded.settings.server_stop_timeout);
    Millis::new(stop.get().saturating_add(SLACK.get()))
}

fn malformed(error: serde_json::Error) -> Failure {
    ClientError::Malformed(error.to_string()).into()
}
