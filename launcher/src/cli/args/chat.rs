//! Arguments of `chat`.

use super::value::{TaskRef, effort, mode, tasks};
use ouroboros_proto::agent::{Effort, Mode};
use std::path::PathBuf;

/// Arguments of `chat`.
#[derive(Debug, Default, clap::Args)]
#[command(
    after_help = "The first line is a task in words for an agent in this folder. What is typed while it works is said to it; what is typed \
    after it has delivered goes on from there, as a new task. Ctrl-C or Esc stops the turn, and the agent then waits for what you say. \
    What it asks is asked here: the next line is the answer. @ and Tab complete the name of a file, Alt-Enter breaks the line, and what is \
    pasted keeps its lines. /help lists the commands. `ouroboros` alone on a terminal is the same.\n\nThe exit code is that of the last task: \
    0 done or gone on without you, 1 failed, 3 refused, 4 paused, 5 waiting for a model or an answer, 130 cancelled; 128+n when signal n ended the chat, \
    and the task goes on."
)]
pub struct Chat {
    /// Go on with the newest conversation in this folder
    #[arg(long, conflicts_with = "resume")]
    pub last: bool,
    /// Go on with this task in words
    #[arg(long, value_name = "TASK", add = tasks())]
    pub resume: Option<TaskRef>,
    /// Route to the model, such as openai/gpt-5.1, or a model's name; the default route when absent
    #[arg(long, short, value_name = "ROUTE")]
    pub model: Option<String>,
    /// How much the model should think: none, minimal, low, medium, high or max
    #[arg(long, value_name = "EFFORT", value_parser = effort)]
    pub effort: Option<Effort>,
    /// What it may do without asking: observe, light, advanced, pro or cyber_pro; agent.mode when absent
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub mode: Option<Mode>,
    /// Dollars that each task may cost at most, or none; limits.task when absent
    #[arg(long, value_name = "DOLLARS")]
    pub max_cost: Option<String>,
    /// Working directory; this one when absent
    #[arg(long, short = 'C', value_name = "DIRECTORY", value_hint = clap::ValueHint::DirPath)]
    pub cwd: Option<PathBuf>,
}
