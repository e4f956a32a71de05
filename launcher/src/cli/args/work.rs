//! Arguments of the verbs that bring work.

use super::value::{TaskRef, Variable, effort, fork, mode, priority, span, tasks};
use ouroboros_proto::agent::{Effort, Mode};
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
TEXT is a task in words: a model works on it with tools that read and change files in this directory, and nowhere else; what it \
delivers is the output. Put it in quotes: several words that begin with the name of a program are \
refused. 0 done, 1 failed, 3 refused, 4 paused for want of money, 5 waits for a model, or for an \
answer of its owner that nobody can give here. On a terminal what it asks is asked there; otherwise `ouroboros answer` answers. With --json \
everything that happens is one JSON object a line, and the last one says the exit code.

The command runs in this directory, with this umask and this environment. Variables whose names look like secrets \
(TOKEN, SECRET, PASSWORD, API_KEY and the like) and OUROBOROS_* are left out; -v lists them, `--env NAME` passes one on.

Ctrl-C asks what to do, a second one cancels. Of a task in words the first one stops the turn and asks for a line: what to do \
instead is said to it, Enter lets it go on, and Ctrl-C again asks what to do with the task. Without a terminal INT and TERM cancel. When the terminal or standard output \
goes away the task goes on; `ouroboros attach` follows it again.";

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "ouroboros run [OPTIONS] TEXT...\n       ouroboros run [OPTIONS] -- COMMAND [ARGUMENT]...",
    after_help = RUN_AFTER
)]
pub struct Run {
    /// Print only the task's number and leave
    #[arg(long, short)]
    pub detach: bool,
    /// Name for people; the command line or the text's beginning when absent
    #[arg(long)]
    pub name: Option<String>,
    /// TEXT: route to the model, such as openai/gpt-5.1, or a model's name; the default route when absent
    #[arg(long, short, value_name = "ROUTE", conflicts_with = "argv")]
    pub model: Option<String>,
    /// TEXT: how much the model should think: none, minimal, low, medium, high or max
    #[arg(long, value_name = "EFFORT", value_parser = effort, conflicts_with = "argv")]
    pub effort: Option<Effort>,
    /// TEXT: dollars that it may cost at most, or none; limits.task when absent
    #[arg(long, value_name = "DOLLARS", conflicts_with = "argv")]
    pub max_cost: Option<String>,
    /// TEXT: answers of the model after which it must deliver; agent.max_rounds when absent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "argv")]
    pub max_rounds: Option<u32>,
    /// TEXT: what it may do without asking: observe, light, advanced, pro or cyber_pro; agent.mode when absent
    #[arg(long, value_name = "MODE", value_parser = mode, conflicts_with = "argv")]
    pub mode: Option<Mode>,
    /// TEXT: start it also while another task changes files in its folder, or beneath or above it
    #[arg(long, conflicts_with = "argv")]
    pub parallel: bool,
    /// TEXT: accept it also when there is no route to a model, and wait for one
    #[arg(long, conflicts_with = "argv")]
    pub wait_model: bool,
    /// TEXT: go on following when it is paused or waits for a model or an answer, instead of leaving with 4 or 5
    #[arg(long, conflicts_with_all = ["detach", "argv"])]
    pub wait: bool,
    /// TEXT: write what it delivers to this file as well, whole, and only when it delivers
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["detach", "argv"], value_hint = clap::ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// TEXT: an image that goes with it (PNG, JPEG, GIF or WebP), made to fit; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "argv", value_hint = clap::ValueHint::FilePath)]
    pub image: Vec<PathBuf>,
    /// TEXT: what it delivers must be JSON that satisfies the JSON Schema in this file; the output is that value, on one line
    #[arg(long, value_name = "FILE", conflicts_with = "argv", value_hint = clap::ValueHint::FilePath)]
    pub output_schema: Option<PathBuf>,
    /// TEXT: go on from a task in words that has ended: its conversation, folder, mode, route and effort, where none are given
    #[arg(long = "continue", value_name = "TASK", conflicts_with_all = ["argv", "fork"], add = tasks())]
    pub from: Option<TaskRef>,
    /// TEXT: the same from that round on, counted from 1, also when the task runs; files stay as they are now
    #[arg(long, value_name = "TASK@ROUND", value_parser = fork, conflicts_with = "argv")]
    pub fork: Option<(TaskRef, u32)>,
    /// Working directory; this one when absent
    #[arg(long, short = 'C', value_name = "DIRECTORY", value_hint = clap::ValueHint::DirPath)]
    pub cwd: Option<PathBuf>,
    /// Set a variable, or pass on one of yours that looks like a secret; may be repeated
    #[arg(long, value_name = "NAME[=VALUE]", conflicts_with = "text")]
    pub env: Vec<Variable>,
    /// Give the command the variables of --env and nothing else
    #[arg(long, conflicts_with = "text")]
    pub clean_env: bool,
    /// Longest time that an attempt may take; 0 is no limit
    #[arg(long, visible_alias = "max-time", value_name = "DURATION", value_parser = span)]
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
    #[arg(long, conflicts_with = "text")]
    pub rerun: bool,
    /// Try it again this often when it fails
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub retries: u32,
    /// Run it on the host, where it sees other processes; set-uid programs need task.no_new_privs = false as well
    #[arg(long)]
    pub host: bool,
    /// Store standard input with the task, at most 4 MiB; without it the command reads nothing
    #[arg(short = 'i', long = "stdin", conflicts_with = "text")]
    pub stdin: bool,
    /// Give it a terminal of the size of this one
    #[arg(short = 't', long = "tty", conflicts_with = "text")]
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
    /// The task in words, then what a pipe or file on standard input gives; `-` for standard input
    #[arg(value_name = "TEXT")]
    pub text: Vec<OsString>,
    /// The command and its arguments, never interpreted by a shell
    #[arg(last = true, value_name = "COMMAND", value_hint = clap::ValueHint::CommandWithArguments)]
    pub argv: Vec<OsString>,
}

/// Arguments of `attach`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The exit code is the task's. A question or a task in words that is paused because a limit leaves too \
    little is left with 4, as `ask` leaves it; one that waits for a model is followed on. What it asks \
    is asked on the terminal; without one it is left with 5. With --json everything that happens to a task in words is one JSON object a line. \
    When `attach` is told to end (TERM) the task goes on."
)]
pub struct Attach {
    /// The task
    #[arg(value_name = "TASK", add = tasks())]
    pub task: TaskRef,
    /// How a server that goes away is met
    #[command(flatten)]
    pub patience: Patience,
}

/// Arguments of `replay`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A new task goes through the recorded answers: its calls are done by the tools of today, under the mode given here, and what each \
    comes to is compared with what it came to then. No model and no person is asked, and nothing is spent. A call that the mode refuses is \
    not run. How long something took is no difference.\n\nThe exit code is 0 when nothing differs, 1 when something does."
)]
pub struct Replay {
    /// The task, which has ended
    #[arg(value_name = "TASK", add = tasks())]
    pub task: TaskRef,
    /// Folder to act in; that task's when absent
    #[arg(long, short = 'C', value_name = "DIRECTORY", value_hint = clap::ValueHint::DirPath)]
    pub cwd: Option<PathBuf>,
    /// What may be done: observe, light, advanced, pro or cyber_pro; observe when absent, which changes nothing
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub mode: Option<Mode>,
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
