//! The command line, defined once: parsing, help, completions and man pages all come from here.

pub mod change;
pub mod chat;
pub mod look;
pub mod model;
pub mod request;
pub mod system;
pub mod value;
pub mod work;

use clap::{CommandFactory, Parser, Subcommand};

/// A supervised task queue: it runs commands in crash-isolated processes, loses none of them, and leaves nothing behind.
#[derive(Debug, Parser)]
#[command(name = "ouroboros", bin_name = "ouroboros", version, infer_subcommands = false, after_help = AFTER)]
pub struct Cli {
    /// What applies to every verb.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

const AFTER: &str = "\
A task is named by its number, its id, or `last`.

Exit codes: 0 done; 1 refused or failed; 2 wrong usage; `status` gives 3 when nothing runs. `run`, `attach` and `wait` give \
the exit code of the task: the command's own, 128+n when signal n ended it, 124 timeout, 125 fault of ours, 126 not \
executable, 127 not found, 130 cancelled. `ask` gives 0 answered, 1 failed, 3 refused or no route, 4 paused, 5 waiting for a \
model or for an answer, 124 timeout, 130 cancelled.

Environment: OUROBOROS_HOME holds everything in one directory; NO_COLOR turns colours off.";

/// Options of every verb.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Global {
    /// Answer in JSON; what is followed comes as one JSON document a line
    #[arg(long, global = true)]
    pub json: bool,
    /// Say less on standard error
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more on standard error
    #[arg(long, short, global = true)]
    pub verbose: bool,
}

/// Everything that can be asked for.
#[derive(Debug, Subcommand)]
#[command(infer_subcommands = false)]
pub enum Verb {
    /// Start the server and keep it running, here in the foreground
    Up(system::Up),
    /// Stop the server and everything it runs
    Stop(system::Stop),
    /// Stop the server and start it again
    Restart(system::Restart),
    /// Kill everything at once and stay down; the next start holds the queue
    Panic,
    /// Show whether it runs, the queue, the slots, disk use and alarms
    Status,
    /// Run a command, or have a task in words done, and follow it
    Run(work::Run),
    /// Talk with an agent in this folder, on a terminal
    Chat(chat::Chat),
    /// Ask a model and print its answer
    Ask(model::Ask),
    /// Follow a task from its beginning, with the exit code that `run` gives
    Attach(work::Attach),
    /// Wait until tasks have ended
    Wait(work::Wait),
    /// Accept many tasks from standard input, one JSON document a line
    Submit(work::Submit),
    /// List tasks, newest first
    Tasks(look::Tasks),
    /// Show everything about a task
    Show(look::Show),
    /// Show which rule allowed or refused the calls of a task in words
    Why(look::Why),
    /// Do the calls of a task in words again, without a model
    Replay(work::Replay),
    /// Show what a task in words changed in its folder, as a patch
    Diff(look::Diff),
    /// Take back what a task in words changed in its folder
    Undo(change::Undo),
    /// Say something to a task in words while it works
    Send(change::Send),
    /// Stop the turn of a task in words that is under way; the task goes on
    Interrupt(change::Interrupt),
    /// Print what a task wrote, or the server's log
    Logs(look::Logs),
    /// Cancel tasks
    Cancel(change::Cancel),
    /// Run tasks again, as new tasks
    Retry(change::Many),
    /// Keep tasks, or the whole queue, from starting
    Hold(change::Hold),
    /// Let held tasks, or the whole queue, start
    Release(change::Release),
    /// Let tasks go on that wait for their owner to let them spend more, or for a model
    Resume(model::Resume),
    /// Change how soon a queued task starts
    Priority(change::Reprioritise),
    /// Forget settled tasks and delete their output
    Rm(change::Many),
    /// Delete what is past its retention, now
    Gc,
    /// Change how many tasks run at the same time
    Slots(system::Slots),
    /// List the routes to models, or try one
    Models(model::Models),
    /// List, set, try and forget the keys of providers
    Keys(model::Keys),
    /// Show what models cost, and the limits on that
    Costs(model::Costs),
    /// List what tasks ask their owner
    Requests(request::Requests),
    /// Answer what a task asks
    Answer(request::Answer),
    /// List what was allowed for longer than once, or take it back
    Rules(request::Rules),
    /// Show every process of ours as a tree
    Ps,
    /// List what happened
    Events(look::Events),
    /// Print every task as JSON lines
    Export(look::Export),
    /// Write a copy of the database while the server runs
    Backup(system::Backup),
    /// Put a backup in place of the database; the queue is held at the next start
    Restore(system::Restore),
    /// Print the address of the page, with a login that works once, and open it
    Open(system::Open),
    /// Read and change settings
    #[command(subcommand)]
    Config(system::Config),
    /// Show where everything is
    Paths,
    /// Check the installation and say what is wrong with it
    Doctor,
    /// Run as a systemd service
    #[command(subcommand)]
    Service(system::Service),
    /// Print a completion script for a shell
    Completions(system::Completions),
    /// Print or write manual pages
    Man(system::Man),
}

/// The definition, for help, completions and man pages.
pub fn command() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    use super::{Cli, command};
    use clap::Parser;

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn no_verb_can_be_abbreviated() {
        for verb in command().get_subcommands().map(clap::Command::get_name) {
            let short: String = verb.chars().take(verb.len() - 1).collect();
            let known = command().get_subcommands().any(|other| other.get_name() == short);
            assert!(known || Cli::try_parse_from(["ouroboros", &short]).is_err(), "{short}");
        }
    }
}
