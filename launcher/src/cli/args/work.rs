//! Arguments of the verbs that bring work.

use super::value::{TaskRef, Variable, priority, span, tasks};
use ouroboros_proto::kind::{Millis, Priority};
use std::ffi::OsString;
use std::path::PathBuf;

/// How long a follower waits for a server that went away.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Patience {
    /// How long to wait for the server when it goes away while a task is followed
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = span)]
    pub reconnect: Millis,
}

const RUN_AFTER: &str = "\
The command runs in this directory, with this umask and this environment. Variables whose names look like secrets \
(TOKEN, SECRET, PASSWORD, API_KEY and the like) and OUROBOROS_* are left out; -v lists them, `--env NAME` passes one on.

Ctrl-C asks what to do, a second one cancels. Without a terminal INT and TERM cancel. When the terminal or standard output \
goes away the task goes on; `ouroboros attach` follows it again.";

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "ouroboros run [OPTIONS] -- COMMAND [ARGUMENT]...", after_help = RUN_AFTER)]
pub struct Run {
    /// Print only the task's number and leave
    #[arg(long, short)]
    pub detach: bool,
    /// Name for people; the command line when absent
    #[arg(long)]
    pub name: Option<String>,
    /// Working directory; this one when absent
    #[arg(long, value_name = "DIRECTORY", value_hint = clap::ValueHint::DirPath)]
    pub cwd: Option<PathBuf>,
    /// Set a variable, or pass on one of yours that looks like a secret; may be repeated
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub env: Vec<Variable>,
    /// Give the command the variables of --env and nothing else
    #[arg(long)]
    pub clean_env: bool,
    /// Longest time that an attempt may take; 0 is no limit
    #[arg(long, value_name = "DURATION", value_parser = span)]
    pub timeout: Option<Millis>,
    /// Time before it may start
    #[arg(long, value_name = "DURATION", value_parser = span)]
    pub delay: Option<Millis>,
    /// Start only when this task has completed; may be repeated
    #[arg(long, value_name = "TASK", add = tasks())]
    pub after: Vec<TaskRef>,
    /// How soon it starts: low, normal, high or urgent
    #[arg(long, value_name = "PRIORITY", default_value = "normal", value_parser = priority)]
    pub priority: Priority,
    /// Run it again after an interruption, though it may have had effects
    #[arg(long)]
    pub rerun: bool,
    /// Try it again this often when it fails
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub retries: u32,
    /// Run it on the host, where it sees other processes; set-uid programs need task.no_new_privs = false as well
    #[arg(long)]
    pub host: bool,
    /// Store standard input with the task, at most 4 MiB; without it the command reads nothing
    #[arg(short = 'i', long = "stdin")]
    pub stdin: bool,
    /// Give it a terminal of the size of this one
    #[arg(short = 't', long = "tty")]
    pub tty: bool,
    /// Idempotency key: the same key and command give the same task, not another one
    #[arg(long)]
    pub key: Option<String>,
    /// Accept it, but start it only when it is released
    #[arg(long)]
    pub hold: bool,
    /// How a server that goes away is met
    #[command(flatten)]
    pub patience: Patience,
    /// Words before `--`: none of them is a command
    #[arg(value_name = "TEXT", hide = true)]
    pub text: Vec<OsString>,
    /// The command and its arguments, never interpreted by a shell
    #[arg(last = true, value_name = "COMMAND", value_hint = clap::ValueHint::CommandWithArguments)]
    pub argv: Vec<OsString>,
}

/// Arguments of `attach`.
#[derive(Debug, clap::Args)]
pub struct Attach {
    /// The task
    #[arg(value_name = "TASK", add = tasks())]
    pub task: TaskRef,
    /// How a server that goes away is met
    #[command(flatten)]
    pub patience: Patience,
}

/// Arguments of `wait`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A task that is held, or paused because a limit leaves too little, is waited for until somebody lets it go on.\n\nThe exit code is \
    that of the first task, in the order given, that did not complete; 0 when all did."
)]
pub struct Wait {
    /// The tasks
    #[arg(value_name = "TASK", required = true, add = tasks())]
    pub tasks: Vec<TaskRef>,
    /// How a server that goes away is met
    #[command(flatten)]
    pub patience: Patience,
}

/// Arguments of `submit`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A line is what `POST /api/tasks` takes, for example\n  {\"command\": {\"argv\": [\"make\", \"-j2\"], \
    \"cwd\": \"/src\"}, \"name\": \"build\"}\n  {\"ask\": {\"prompt\": \"Why is the sky blue?\"}, \"max_cost\": \"0.10\"}\nTasks are accepted in batches of 1,000, each all or none; the number of each \
    accepted task is printed in the order of the lines."
)]
pub struct Submit {
    /// Tasks in one request
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub batch: u32,
}
