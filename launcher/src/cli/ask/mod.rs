//! `ask`: one question to a model, accepted and followed.

mod route;
mod spec;

use super::args::model::Ask;
use super::follow::{Ended, Session, Signals, View};
use super::{Context, Outcome, run};
use crate::render::{clean, money};
use ouroboros_proto::api::{Code, SubmitAnswer, TaskView};
use ouroboros_proto::kind::{LimitScope, Millis, TaskNumber};

/// No route to a model, or the provider refused.
const REFUSED: u8 = 3;
/// It waits for its owner to let it spend more.
const PAUSED: u8 = 4;
/// It waits for a model.
const WAITS: u8 = 5;
/// It failed.
const FAILED: u8 = 1;

/// Asks, prints the answer, and gives the exit code; with `--detach` only has it accepted.
pub fn ask(context: &Context, ask: Ask) -> Outcome {
    let (detach, wait, reconnect) = (ask.detach, ask.wait, ask.patience.reconnect);
    let task = spec::build(ask, &|words| context.note(words))?;
    let chosen = route::choose(context, &task)?;
    // From here on a signal must not end us between the acceptance and the first word about it.
    let signals = (!detach).then(Signals::install).transpose()?;
    let accepted = run::submit(context, task, reconnect)
        .map_err(|failure| if failure.is(Code::NoModelRoute) { failure.exit(REFUSED) } else { failure })?;
    if !detach && !context.json() {
        context.note(&chosen.words());
    }
    if accepted.duplicate {
        context.note(&format!("task {} was accepted before with this key", accepted.number));
    }
    run::say_when_held(context);
    let Some(signals) = signals else {
        if context.json() {
            context.print_json(&accepted)?;
        } else {
            context.print(&format!("{}\n", accepted.number))?;
        }
        return Ok(0);
    };
    follow(context, &accepted, reconnect, wait, &signals)
}

fn follow(context: &Context, accepted: &SubmitAnswer, reconnect: Millis, wait: bool, signals: &Signals) -> Outcome {
    let session = Session::new(context, accepted.id, accepted.number, View::Output, reconnect, Some(signals));
    match session.of_question(wait).run()? {
        Ended::Settled(task) => {
            settled(context, &task);
            Ok(task.exit_code.unwrap_or(FAILED))
        }
        Ended::Parked(task) => Ok(parked(context, &task)),
        Ended::Detached => Ok(0),
    }
}

/// Says why there is no answer, when there is none, and what it cost.
fn settled(context: &Context, task: &TaskView) {
    if context.json() {
        return;
    }
    if task.exit_code != Some(0) {
        let reason = task.reason.as_deref().unwrap_or_else(|| task.status.as_str());
        context.note(&format!("task {}: {}", task.number, clean(reason)));
    }
    context.note(&task.cost.as_ref().map_or_else(|| "?".to_owned(), money::words));
}

/// Says what it waits for and what to do, and gives the exit code for that.
fn parked(context: &Context, task: &TaskView) -> u8 {
    let number = task.number;
    let (code, words) = match task.pause {
        Some(pause) => (
            PAUSED,
            format!("is paused, the {} limit leaves too little; {}", pause.limit.as_str(), more(pause.limit, number)),
        ),
        None => {
            let reason = task.reason.as_deref().unwrap_or("There is no model for it now.");
            (WAITS, format!("waits: {} `ouroboros attach {number}` follows it.", clean(reason)))
        }
    };
    if !context.json() {
        context.note(&format!("task {number} {words}"));
        if let Some(cost) = task.cost.as_ref().filter(|cost| cost.sends > 0) {
            context.note(&money::words(cost));
        }
    }
    code
}

/// How a paused task is given more to spend.
fn more(limit: LimitScope, number: TaskNumber) -> String {
    match limit {
        LimitScope::Task => format!("`ouroboros resume {number} --max-cost DOLLARS` lets it spend more"),
        LimitScope::Total | LimitScope::Hour | LimitScope::Tree => {
            let limit = limit.as_str();
            format!("after `ouroboros config set limits.{limit} DOLLARS`, `ouroboros resume {number}` lets it go on")
        }
    }
}
