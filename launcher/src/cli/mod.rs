//! The verbs: what a person types, and what they come to.
//!
//! Each verb is a function from its arguments to an exit code or a [`Failure`]. Verbs that act go through
//! [`Context::acting`], which starts the launcher when it is not running; look-ups use the client alone and never start
//! anything. Only this module turns a failure into text and exit code.

mod args;
mod ask;
mod backup;
mod change;
mod changes;
mod chat;
mod complete;
mod config;
mod context;
mod costs;
mod doctor;
mod events;
mod export;
mod failure;
mod follow;
mod keys;
mod leave;
mod logs;
mod manual;
mod message;
mod models;
mod open;
mod paths;
mod program;
mod ps;
mod replay;
mod requests;
mod run;
mod service;
mod show;
mod start;
mod status;
mod submit;
mod system;
mod tasks;
mod up;
mod wait;
mod why;

pub use context::Context;
pub use failure::Failure;

use args::{Cli, Verb};
use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

/// What a verb gives when nothing failed.
pub type Outcome = Result<u8, Failure>;

/// Wrong usage, as clap and shells have it.
const USAGE: u8 = 2;

/// A fault of ours where the exit code is otherwise a command's.
const OURS: u8 = 125;

/// Runs the program.
pub fn main() -> ExitCode {
    clap_complete::CompleteEnv::with_factory(args::command).complete();
    // A person who says nothing is asked; everything else about the command line is clap's.
    let parsed = if chat::is_wanted() { Cli::try_parse_from(["ouroboros", "chat"]) } else { Cli::try_parse() };
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return misused(&error),
    };
    let gives_task_code = matches!(cli.verb, Verb::Run(_) | Verb::Attach(_) | Verb::Wait(_));
    let context = match Context::new(cli.global) {
        Ok(context) => context,
        Err(failure) => return ExitCode::from(failure.tell(cli.global.json, None)),
    };
    let code = match dispatch(&context, cli.verb) {
        Ok(code) => {
            context.note_other_build();
            code
        }
        Err(failure) => {
            let failure = if gives_task_code { failure.told_apart() } else { failure };
            failure.tell(cli.global.json, context.client().other_build().as_deref())
        }
    };
    // A reader that left is no failure.
    let _ = std::io::stdout().flush();
    ExitCode::from(code)
}

/// Help, or how the command line is wrong: for programs that ask for JSON, like every other failure.
fn misused(error: &clap::Error) -> ExitCode {
    let code = u8::try_from(error.exit_code()).unwrap_or(USAGE);
    let json = std::env::args_os().skip(1).take_while(|argument| argument != "--").any(|argument| argument == "--json");
    if json && error.use_stderr() {
        let text = error.render().to_string();
        let (message, help) = text.trim().split_once("\n\n").unwrap_or((text.trim(), ""));
        let failure = Failure::usage(message.trim_start_matches("error: ")).remedy(help).exit(code);
        return ExitCode::from(failure.tell(true, None));
    }
    // Help goes to standard output, everything else to standard error; a closed pipe is nobody's loss.
    let _ = error.print();
    ExitCode::from(code)
}

fn dispatch(context: &Context, verb: Verb) -> Outcome {
    match verb {
        Verb::Up(up) => up::up(context, &up),
        Verb::Stop(stop) => system::stop(context, &stop),
        Verb::Restart(restart) => system::restart(context, &restart),
        Verb::Panic => system::panic(context),
        Verb::Status => status::status(context),
        Verb::Run(run) => run::run(context, run),
        Verb::Chat(chat) => chat::chat(context, chat),
        Verb::Ask(ask) => ask::ask(context, ask),
        Verb::Attach(attach) => follow::attach(context, &attach),
        Verb::Wait(wait) => wait::wait(context, &wait),
        Verb::Submit(submit) => submit::submit(context, &submit),
        Verb::Tasks(tasks) => tasks::tasks(context, &tasks),
        Verb::Show(show) => show::show(context, &show),
        Verb::Why(asked) => why::why(context, &asked),
        Verb::Replay(asked) => replay::replay(context, asked),
        Verb::Diff(diff) => changes::diff(context, &diff),
        Verb::Undo(undo) => changes::undo(context, &undo),
        Verb::Send(send) => message::send(context, send),
        Verb::Interrupt(interrupt) => message::interrupt(context, &interrupt),
        Verb::Logs(logs) => logs::logs(context, &logs),
        Verb::Cancel(cancel) => change::cancel(context, &cancel),
        Verb::Retry(many) => change::retry(context, &many),
        Verb::Hold(hold) => change::hold(context, &hold),
        Verb::Release(release) => change::release(context, &release),
        Verb::Resume(resume) => change::resume(context, &resume),
        Verb::Priority(priority) => change::priority(context, &priority),
        Verb::Rm(many) => change::remove(context, &many),
        Verb::Gc => system::collect(context),
        Verb::Slots(slots) => system::slots(context, &slots),
        Verb::Models(models) => models::models(context, models),
        Verb::Keys(keys) => keys::keys(context, keys),
        Verb::Costs(costs) => costs::costs(context, &costs),
        Verb::Requests(requests) => requests::requests(context, &requests),
        Verb::Answer(answer) => requests::answer(context, answer),
        Verb::Rules(rules) => requests::rules(context, rules),
        Verb::Ps => ps::ps(context),
        Verb::Events(events) => events::events(context, &events),
        Verb::Export(export) => export::export(context, &export),
        Verb::Backup(backup) => backup::backup(context, &backup),
        Verb::Restore(restore) => backup::restore(context, &restore),
        Verb::Open(open) => open::open(context, &open),
        Verb::Config(config) => config::config(context, config),
        Verb::Paths => paths::paths(context),
        Verb::Doctor => doctor::doctor(context),
        Verb::Service(service) => service::service(context, service),
        Verb::Completions(completions) => manual::completions(&completions),
        Verb::Man(man) => manual::man(context, &man),
    }
}
