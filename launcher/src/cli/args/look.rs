//! Arguments of the verbs that only look.

use super::value::{TaskRef, tasks};
use ouroboros_proto::api::TaskStatus;

/// Arguments of `tasks`.
#[derive(Debug, clap::Args)]
pub struct Tasks {
    /// Only tasks with this status: queued, waiting, held, paused, running, cancelling, completed, failed or cancelled; may be repeated
    #[arg(long, short, value_name = "STATUS", value_delimiter = ',', value_parser = status)]
    pub status: Vec<TaskStatus>,
    /// Only tasks with this text in their name
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// Most tasks to list
    #[arg(long, short = 'n', value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: u64,
    /// List all of them
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,
}

fn status(text: &str) -> Result<TaskStatus, String> {
    TaskStatus::ALL.into_iter().find(|status| status.as_str() == text).ok_or_else(|| {
        let words: Vec<&str> = TaskStatus::ALL.into_iter().map(TaskStatus::as_str).collect();
        format!("it is one of {}", words.join(", "))
    })
}

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
pub struct Show {
    /// The task
    #[arg(value_name = "TASK", add = tasks())]
    pub task: TaskRef,
    /// What a task in words did and heard: the conversation, with what each round cost
    #[arg(long)]
    pub transcript: bool,
    /// With --transcript: everything, nothing folded to a few lines
    #[arg(long, requires = "transcript")]
    pub full: bool,
}

/// Arguments of `why`.
#[derive(Debug, clap::Args)]
pub struct Why {
    /// The task
    #[arg(value_name = "TASK", add = tasks())]
    pub task: TaskRef,
    /// Which call of it, counted from 1 over the whole task; all of them when absent
    #[arg(value_name = "CALL", value_parser = clap::value_parser!(u32).range(1..))]
    pub call: Option<u32>,
}

/// Arguments of `diff`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Its files as they were before the task, against what they are now: what somebody else has changed since is in \
    it too, and is said on standard error."
)]
pub struct Diff {
    /// The task
    #[arg(value_name = "TASK", add = tasks())]
    pub task: TaskRef,
}

/// Arguments of `logs`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "ouroboros logs [OPTIONS] <TASK>\n       ouroboros logs [OPTIONS] --server")]
pub struct Logs {
    /// The task
    #[arg(value_name = "TASK", required_unless_present = "server", conflicts_with = "server", add = tasks())]
    pub task: Option<TaskRef>,
    /// Go on until the task has ended; with --server until you stop it
    #[arg(long, short)]
    pub follow: bool,
    /// What it wrote to standard error
    #[arg(long, conflicts_with = "server")]
    pub stderr: bool,
    /// Which attempt, counted from 1; the last one when absent
    #[arg(long, value_name = "N", conflicts_with = "server")]
    pub attempt: Option<u32>,
    /// The log of the server, also when it does not run
    #[arg(long)]
    pub server: bool,
}

/// Arguments of `events`.
#[derive(Debug, clap::Args)]
pub struct Events {
    /// Go on with what happens; alone only what happens from now on
    #[arg(long, short)]
    pub follow: bool,
    /// Only events after this one; an error when some of them are no longer kept
    #[arg(long, value_name = "NUMBER", conflicts_with = "tail")]
    pub after: Option<u64>,
    /// Begin with this many of the newest events
    #[arg(long, value_name = "N")]
    pub tail: Option<u64>,
    /// Only events of these types, such as submitted or settled; may be repeated
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    pub types: Vec<String>,
    /// Only events of this task
    #[arg(long, value_name = "TASK", add = tasks())]
    pub task: Option<TaskRef>,
}

/// Arguments of `export`.
#[derive(Debug, clap::Args)]
pub struct Export {
    /// Leave out commands and attempts
    #[arg(long)]
    pub brief: bool,
}
