//! Arguments of the verbs that change tasks.

use super::value::{TaskRef, priority, span, tasks};
use ouroboros_proto::kind::{Millis, Priority};
use std::ffi::OsString;

/// Some tasks.
#[derive(Debug, clap::Args)]
pub struct Many {
    /// The tasks
    #[arg(value_name = "TASK", required = true, add = tasks())]
    pub tasks: Vec<TaskRef>,
}

/// Arguments of `cancel`.
#[derive(Debug, clap::Args)]
pub struct Cancel {
    /// The tasks
    #[arg(value_name = "TASK", required = true, add = tasks())]
    pub tasks: Vec<TaskRef>,
    /// Time they have to end by themselves before they are killed; task.cancel_grace when absent, 0 kills at once
    #[arg(long, value_name = "DURATION", value_parser = span)]
    pub grace: Option<Millis>,
}

/// Arguments of `hold`.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Hold {
    /// The tasks
    #[arg(value_name = "TASK", add = tasks())]
    pub tasks: Vec<TaskRef>,
    /// The whole queue: nothing starts until it is released
    #[arg(long, visible_alias = "all")]
    pub queue: bool,
}

/// Arguments of `release`.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Release {
    /// The tasks
    #[arg(value_name = "TASK", add = tasks())]
    pub tasks: Vec<TaskRef>,
    /// The whole queue; tasks that are held one by one stay so
    #[arg(long)]
    pub queue: bool,
    /// The whole queue and every held task
    #[arg(long)]
    pub all: bool,
}

/// Arguments of `priority`.
#[derive(Debug, clap::Args)]
pub struct Reprioritise {
    /// The task
    #[arg(value_name = "TASK", add = tasks())]
    pub task: TaskRef,
    /// low, normal, high or urgent
    #[arg(value_name = "PRIORITY", value_parser = priority)]
    pub priority: Priority,
}

/// Arguments of `send`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The task takes it before it asks its model again, after the calls that are under way; `ouroboros interrupt` \
    stops those. One that waits, is paused or is not begun takes it when it goes on. A task that has delivered hears nothing more: \
    `ouroboros run --continue TASK TEXT` goes on from it."
)]
pub struct Send {
    /// The task
    #[arg(value_name = "TASK", add = tasks())]
    pub task: TaskRef,
    /// What is said, then what a pipe or file on standard input gives; `-` for standard input
    #[arg(value_name = "TEXT")]
    pub text: Vec<OsString>,
    /// Idempotency key: the same key and text are one message, not two
    #[arg(long)]
    pub key: Option<String>,
}

/// Arguments of `interrupt`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The model's call is called off: what it cost is recorded when it becomes known, and counts with its bound until \
    then. Calls of tools that run are cancelled, those that were not begun are not done. The model is told, and goes on with its next \
    turn. With --hold it waits until something is said with `ouroboros send`, or until `ouroboros interrupt` without --hold; it keeps its \
    slot meanwhile. With --call only that call of a tool is cancelled: what it started is ended, the model is told what it gave until \
    then, and the rest of the turn goes on. `ouroboros why` numbers the calls."
)]
pub struct Interrupt {
    /// The task
    #[arg(value_name = "TASK", add = tasks())]
    pub task: TaskRef,
    /// Then wait for a message instead of going on
    #[arg(long)]
    pub hold: bool,
    /// Only this call of a tool, counted from 1 over the whole task
    #[arg(long, value_name = "N", conflicts_with = "hold", value_parser = clap::value_parser!(u32).range(1..))]
    pub call: Option<u32>,
}

/// Arguments of `undo`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each file goes back to what it was before the task; one that the task created is removed, directories stay. A \
    running task is refused. What an undo replaces is kept beside the other versions. The exit code is 1 when a file was refused; the \
    others are done all the same."
)]
pub struct Undo {
    /// The task
    #[arg(value_name = "TASK", add = tasks())]
    pub task: TaskRef,
    /// Paths in the task's folder, as `ouroboros diff` names them; every file that it changed when absent
    #[arg(value_name = "FILE")]
    pub files: Vec<String>,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Also where somebody else has changed a file since: what they did is lost, but for the kept version
    #[arg(long)]
    pub force: bool,
}
