//! `ask`: one question to a model; and how work that needs a model is accepted and followed, whatever it is.

mod delivered;
mod route;
mod spec;

use super::args::model::Ask;
use super::follow::{Ended, Followed, Leave, Session, Signals, View};
use super::{Context, Failure, Outcome, run};
use crate::render::{self, clean, money, task::quote};
use ouroboros_proto::agent::Objective;
use ouroboros_proto::api::{Code, ModelsView, PausePhase, SubmitAnswer, SubmitOne, TaskStatus, TaskView};
use ouroboros_proto::kind::{LimitScope, Millis, SendState, TaskNumber};
pub use route::{Wanted, choose};
pub use spec::{image, prompt, schema};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// No route to a model, or the provider refused.
const REFUSED: u8 = 3;
/// It waits for its owner to let it spend more.
const PAUSED: u8 = 4;
/// It waits for a model, or for its owner's answer.
const WAITS: u8 = 5;
/// It failed.
pub const FAILED: u8 = 1;

/// How work is followed.
#[derive(Debug, Clone)]
pub struct Following {
    /// Not at all: only its number is printed.
    pub detach: bool,
    /// Also while it is paused or waits for a model.
    pub wait: bool,
    /// How long a server that went away is waited for.
    pub reconnect: Millis,
    /// Where what it delivers is written to as well.
    pub output: Option<PathBuf>,
}

/// Asks, prints the answer, and gives the exit code; with `--detach` only has it accepted.
pub fn ask(context: &Context, ask: Ask) -> Outcome {
    let how = Following { detach: ask.detach, wait: ask.wait, reconnect: ask.patience.reconnect, output: None };
    let task = spec::build(ask, &|words| context.note(words))?;
    let wanted = task.ask.as_ref().map(|ask| Wanted { route: ask.route.clone(), waits: ask.wait_model });
    work(context, task, &wanted.unwrap_or_default(), how)
}

/// Has work accepted that needs a model, and follows it.
pub fn work(context: &Context, task: SubmitOne, wanted: &Wanted, how: Following) -> Outcome {
    let Following { detach, wait, reconnect, output } = how;
    output.as_deref().map_or(Ok(()), delivered::check)?;
    let chosen = choose(context, wanted, task.max_cost.as_deref())?;
    // From here on a signal must not end us between the acceptance and the first word about it.
    let signals = (!detach).then(Signals::install).transpose()?;
    let in_words = task.agent.is_some();
    let accepted = accept(context, task, reconnect)?;
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
    let leave = if wait { Leave::Never } else { Leave::Parked };
    let of = Followed { task: accepted.id, number: accepted.number, in_words };
    follow_to(context, of, reconnect, leave, &signals, output.as_deref())
}

/// Has work accepted that needs a model.
pub fn accept(context: &Context, task: SubmitOne, patience: Millis) -> Result<SubmitAnswer, Failure> {
    run::submit(context, task, patience)
        .map_err(|failure| if failure.is(Code::NoModelRoute) { failure.exit(REFUSED) } else { failure })
}

/// Follows a question or a task in words, and tells how it ended or why it was left.
pub fn follow(context: &Context, of: Followed, reconnect: Millis, leave: Leave, signals: &Signals) -> Outcome {
    follow_to(context, of, reconnect, leave, signals, None)
}

/// The same, and what it delivers is written to a file as well, when it does.
fn follow_to(
    context: &Context,
    of: Followed,
    reconnect: Millis,
    leave: Leave,
    signals: &Signals,
    output: Option<&Path>,
) -> Outcome {
    let session = Session::new(context, of, View::Output, reconnect, Some(signals));
    match session.of_question(leave).run()? {
        Ended::Settled(task) => {
            settled(context, &task);
            if let (Some(file), TaskStatus::Completed) = (output, task.status) {
                delivered::write(context, &task, file)?;
            }
            Ok(task.exit_code.unwrap_or(FAILED))
        }
        Ended::Parked(task) => Ok(parked(context, &task)),
        Ended::Detached => Ok(0),
    }
}

/// Says why there is no answer, when there is none, what its agent says that is not reached, and what it cost.
fn settled(context: &Context, task: &TaskView) {
    if context.json() {
        return;
    }
    if task.exit_code != Some(0) || task.objective == Some(Objective::Partly) {
        let reason = task.reason.as_deref().unwrap_or_else(|| task.status.as_str());
        context.note(&format!("task {}: {}", task.number, clean(reason)));
    }
    context.note(&task.cost.as_ref().map_or_else(|| "?".to_owned(), money::words));
}

/// Says what it waits for and what to do, and gives the exit code for that.
fn parked(context: &Context, task: &TaskView) -> u8 {
    let number = task.number;
    let pause = task.pause.filter(|pause| pause.phase != PausePhase::Resumed);
    let (code, words) = match pause {
        Some(pause) => (
            PAUSED,
            format!("is paused, the {} limit leaves too little; {}", pause.limit.as_str(), more(pause.limit, number)),
        ),
        None if task.request.is_some() => {
            let asks = task.request.as_ref().map(|request| render::request::whole(request)).unwrap_or_default();
            let asks = asks.split_once('\n').map_or("", |(_, what)| what).trim_end();
            let ways = task.request.as_ref().map(|request| render::request::ways(request)).unwrap_or_default();
            let words = format!("asks its owner and waits:\n{asks}\n{ways}, `ouroboros attach {number}` follows it");
            (WAITS, words)
        }
        None => {
            let reason = task.reason.as_deref().unwrap_or("There is no model for it now.");
            (WAITS, format!("waits: {} `ouroboros attach {number}` follows it.", clean(reason)))
        }
    };
    if !context.json() {
        context.note(&format!("task {number} {words}"));
        if pause.is_some() {
            unpriced(context, task).iter().for_each(|route| context.note(&no_price(route)));
        }
        if let Some(cost) = task.cost.as_ref().filter(|cost| cost.sends > 0) {
            context.note(&money::words(cost));
        }
    }
    code
}

/// The exit code for a task that waits.
pub fn parked_code(task: &TaskView) -> u8 {
    let paused = task.pause.is_some_and(|pause| pause.phase != PausePhase::Resumed);
    if paused { PAUSED } else { WAITS }
}

/// The routes whose price is not known and whose calls therefore count with the most that they can have cost: those that were called, or
/// the one that would be called first.
fn unpriced(context: &Context, task: &TaskView) -> BTreeSet<String> {
    let answered = task.sends.iter().filter(|send| send.state == SendState::Settled);
    let unknown = answered.clone().filter(|send| send.cost.is_none()).map(|send| send.route.clone());
    let mut routes: BTreeSet<String> = unknown.collect();
    // A price may have been told since; when that cannot be asked, saying too much is better than too little.
    let models = context.client().get("/api/models").and_then(|answer| answer.read::<ModelsView>());
    if answered.count() == 0
        && let Ok(models) = &models
    {
        let asked = task.agent.as_ref().and_then(|agent| agent.route.clone());
        let asked = asked.or_else(|| task.ask.as_ref().and_then(|ask| ask.route.clone()));
        let first = asked.or_else(|| models.default.clone());
        routes.extend(first.filter(|name| models.routes.iter().any(|route| route.id == *name)));
    }
    let priced = |id: &str| {
        models.as_ref().is_ok_and(|models| models.routes.iter().any(|route| route.id == id && route.price.is_some()))
    };
    routes.retain(|route| !priced(route));
    routes
}

fn no_price(route: &str) -> String {
    let (route, argument) = (clean(route), quote(route));
    format!(
        "the price of {route} is not known, so its calls count with the most that they can have cost; \
         `ouroboros models price {argument} INPUT OUTPUT` tells it, in dollars for a million tokens"
    )
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
