//! Arguments of the verbs that change tasks.

use super::value::{TaskRef, priority, span, tasks};
use ouroboros_proto::kind::{Millis, Priority};

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
