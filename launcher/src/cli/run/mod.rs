//! `run`: one command or one task in words, accepted and followed.

mod environment;
mod spec;
mod words;

pub use spec::{directory, text};

use super::args::work::Run;
use super::ask::{self, Following};
use super::follow::{self, Followed, Signals};
use super::{Context, Failure, Outcome, start};
use crate::client::ClientError;
use crate::render::task::quote;
use ouroboros_proto::api::{Code, StateView, SubmitAnswer, SubmitOne};
use ouroboros_proto::kind::{BootMicros, Millis, TaskId, clock};

/// Runs a command and gives its exit code, or has a task in words done; with `--detach` only has it accepted.
pub fn run(context: &Context, run: Run) -> Outcome {
    // What goes on from a conversation is words, also when it is one.
    let are_words = words::are_words(&run.text) || (words::from(&run).is_some() && !run.text.is_empty());
    if run.argv.is_empty() && are_words {
        let (detach, wait, reconnect, output) = (run.detach, run.wait, run.patience.reconnect, run.output.clone());
        let how = Following { detach, wait, reconnect, output };
        let (task, wanted) = words::build(context, run)?;
        return ask::work(context, task, &wanted, how);
    }
    if !run.text.is_empty() || run.argv.is_empty() {
        return Err(not_a_command(&[run.text, run.argv].concat()));
    }
    let (detach, reconnect) = (run.detach, run.patience.reconnect);
    let task = spec::build(context, run)?;
    // From here on a signal must not end us between the acceptance and the first word about it.
    let signals = (!detach).then(Signals::install).transpose()?;
    let accepted = submit(context, task, reconnect)?;
    let number = accepted.number;
    if accepted.duplicate {
        context.note(&format!("task {number} was accepted before with this key"));
    }
    say_when_held(context);
    match signals {
        None if context.json() => context.print_json(&accepted)?,
        None => context.print(&format!("{number}\n"))?,
        Some(signals) => {
            context.note(&format!("task {number} accepted"));
            let of = Followed { task: accepted.id, number, in_words: false };
            return follow::follow(context, of, reconnect, &signals);
        }
    }
    Ok(0)
}

fn not_a_command(text: &[std::ffi::OsString]) -> Failure {
    let words: Vec<String> = text.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (message, remedy) = match words.as_slice() {
        [] => (
            "there is nothing to run".to_owned(),
            "`ouroboros run -- COMMAND` runs a command, `ouroboros run \"what is to be done\"` has a model do it."
                .to_owned(),
        ),
        [word] if word.trim().is_empty() => (
            "the task is empty".to_owned(),
            "Say what is to be done: `ouroboros run \"what is to be done\"`.".to_owned(),
        ),
        [word] => (
            format!("one word is no task: {word:?}"),
            format!("`ouroboros run -- {}` runs a command; a task in words has more than one.", quote(word)),
        ),
        _ => (
            "there are words before `--` and a command after it".to_owned(),
            "Give one of both: a task in words, or a command after `--`.".to_owned(),
        ),
    };
    Failure::usage(message).remedy(remedy)
}

/// Has a task accepted. Each has a key, so that asking again after an answer was lost cannot make two of one.
pub fn submit(context: &Context, mut task: SubmitOne, patience: Millis) -> Result<SubmitAnswer, Failure> {
    task.key.get_or_insert_with(|| TaskId::mint().to_string());
    until_answered(context, patience, || context.client().post("/api/tasks", &task)?.read())
}

/// Asks until there is an answer, for what has a key: a server that is not there is started, one that is in trouble asked again.
pub fn until_answered<T>(
    context: &Context,
    patience: Millis,
    once: impl Fn() -> Result<T, ClientError>,
) -> Result<T, Failure> {
    let mut end: Option<BootMicros> = None;
    let mut pause = Millis::new(10);
    let mut started = false;
    loop {
        let error = match once() {
            Ok(accepted) => return Ok(accepted),
            Err(error) => error,
        };
        // Also when the one that was asked before has left meanwhile.
        if !started && matches!(error, ClientError::NotRunning { .. }) {
            start::start(context)?;
            started = true;
            continue;
        }
        let end = *end.get_or_insert_with(|| clock::boot().plus(patience));
        if !(error.is_passing() || error.is(Code::CommitUnknown)) || clock::boot() >= end {
            return Err(error.into());
        }
        std::thread::sleep(pause.duration());
        pause = Millis::new(pause.get().saturating_mul(2)).min(Millis::seconds(1));
    }
}

/// A held queue looks like one that hangs, so it is named; that it cannot be asked now is no failure of the task.
pub fn say_when_held(context: &Context) {
    let state = context.client().get("/api/state").and_then(|answer| answer.read::<StateView>());
    if state.is_ok_and(|state| state.queue.queue_held.is_some()) {
        context.note("the queue is held, nothing starts; `ouroboros release --all` lets it go");
    }
}
