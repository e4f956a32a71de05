//! Arguments of the verbs about models, keys and money.

use super::value::{TaskRef, effort, since, span, tasks};
use super::work::Patience;
use ouroboros_proto::agent::Effort;
use ouroboros_proto::api::Timestamp;
use ouroboros_proto::kind::{Millis, PauseId, SendId};
use std::path::PathBuf;

const ASK_AFTER: &str = "\
`-` reads the question from standard input; so does a pipe, whose text then comes after TEXT. The answer is written to standard \
output as it comes, everything else to standard error.

Exit codes: 0 answered; 1 failed; 3 refused by the provider, or no route to a model; 4 paused, because a limit on spending \
leaves too little; 5 waiting for a model; 124 timeout; 125 interrupted; 130 cancelled. A task that is paused or waits is not \
lost: `ouroboros resume` and `ouroboros attach` take it up again.";

/// Arguments of `ask`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "ouroboros ask [OPTIONS] TEXT\n       ouroboros ask [OPTIONS] -", after_help = ASK_AFTER)]
pub struct Ask {
    /// Route to the model, such as openai/gpt-5.1, or a model's name: that of the first provider that lists it; the
    /// default route when absent
    #[arg(long, short, value_name = "ROUTE")]
    pub model: Option<String>,
    /// What holds for the answer as a whole
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// How much the model should think: none, minimal, low, medium, high or max
    #[arg(long, value_name = "EFFORT", value_parser = effort)]
    pub effort: Option<Effort>,
    /// Most tokens of the answer, thinking included
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_tokens: Option<u32>,
    /// Dollars that it may cost at most, or none; limits.task when absent
    #[arg(long, value_name = "DOLLARS")]
    pub max_cost: Option<String>,
    /// An image that goes with the question (PNG, JPEG, GIF or WebP); may be repeated
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub image: Vec<PathBuf>,
    /// A file with the JSON Schema that the provider is told to make the answer follow; what comes is not checked
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub output_schema: Option<PathBuf>,
    /// Accept it also when there is no route to a model, and wait for one
    #[arg(long)]
    pub wait_model: bool,
    /// Go on following when it is paused or waits for a model, instead of leaving with 4 or 5
    #[arg(long, conflicts_with = "detach")]
    pub wait: bool,
    /// Longest time that an attempt may take; 0 is no limit
    #[arg(long, value_name = "DURATION", value_parser = span)]
    pub timeout: Option<Millis>,
    /// Name for people; the question's beginning when absent
    #[arg(long)]
    pub name: Option<String>,
    /// Print only the task's number and leave
    #[arg(long, short)]
    pub detach: bool,
    /// Idempotency key: the same key and question give the same task, not another one
    #[arg(long)]
    pub key: Option<String>,
    /// The unsettled task that it belongs to, whose limits hold for it as well
    #[arg(long, value_name = "TASK", add = tasks())]
    pub parent: Option<TaskRef>,
    /// How a server that goes away is met
    #[command(flatten)]
    pub patience: Patience,
    /// The question; `-` for standard input
    #[arg(value_name = "TEXT")]
    pub text: Vec<String>,
}

/// Arguments of `models`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Models {
    /// What else to do than to list them.
    #[command(subcommand)]
    pub verb: Option<ModelVerb>,
    /// Look for routes again first
    #[arg(long)]
    pub refresh: bool,
}

/// What else is done with routes.
#[derive(Debug, clap::Subcommand)]
pub enum ModelVerb {
    /// Make a real call with a tool on a route; it costs what it costs
    Test {
        /// The route
        #[arg(value_name = "ROUTE")]
        route: String,
    },
    /// Say what a route costs, in dollars for a million tokens
    ///
    /// Some models cost up to twice as much for prompts of 200,000 tokens or more: for those twice as much is set
    /// aside, and the cost stays unknown unless the provider says it.
    Price {
        /// The route
        #[arg(value_name = "ROUTE")]
        route: String,
        /// Of the prompt
        #[arg(value_name = "IN", requires = "output", required_unless_present = "forget")]
        input: Option<String>,
        /// Of the answer
        #[arg(value_name = "OUT")]
        output: Option<String>,
        /// Of the prompt, read from a cache; as any other when absent
        #[arg(long, value_name = "DOLLARS", requires = "input")]
        cached: Option<String>,
        /// Of the prompt, written to a cache; as any other when absent
        #[arg(long, value_name = "DOLLARS", requires = "input")]
        cache_write: Option<String>,
        /// Forget what was said; what the provider says holds again
        #[arg(long, conflicts_with_all = ["input", "cached", "cache_write"])]
        forget: bool,
    },
}

/// Arguments of `keys`.
#[derive(Debug, clap::Args)]
pub struct Keys {
    /// What to do; `list` when absent.
    #[command(subcommand)]
    pub verb: Option<KeyVerb>,
}

/// What is done with keys.
#[derive(Debug, clap::Subcommand)]
pub enum KeyVerb {
    /// List which providers have a key and where it was found
    List,
    /// Keep a key for a provider: typed unseen on a terminal, otherwise read from standard input
    Set {
        /// The provider
        #[arg(value_name = "PROVIDER")]
        provider: String,
        /// Take it from a variable of this shell; the provider's own when no name is given
        #[arg(long, value_name = "NAME", num_args = 0..=1)]
        #[expect(clippy::option_option, reason = "given without a name, with one, or not at all")]
        from_env: Option<Option<String>>,
    },
    /// Ask a provider whether it accepts its key; costs nothing
    Test {
        /// The provider
        #[arg(value_name = "PROVIDER")]
        provider: String,
    },
    /// Forget a key that was kept
    Rm {
        /// The provider
        #[arg(value_name = "PROVIDER")]
        provider: String,
    },
}

const COSTS_AFTER: &str = "\
SETTLED is what was charged as far as it is known. RESERVED is set aside for calls under way, UNRESOLVED bounds what is not \
known; the sum of the three is the UPPER BOUND. `?` is not known.";

/// Arguments of `costs`.
#[derive(Debug, clap::Args)]
#[command(after_help = COSTS_AFTER, args_conflicts_with_subcommands = true)]
pub struct Costs {
    /// What else to do than to show them.
    #[command(subcommand)]
    pub verb: Option<CostVerb>,
    /// What a row is: task, tree, route, model or day
    #[arg(long, value_name = "WHAT", default_value = "task", value_parser = ["task", "tree", "route", "model", "day"])]
    pub by: String,
    /// Only calls since then: a time ago such as 7d, a day such as 2026-11-30, or a time
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub since: Option<Timestamp>,
    /// Only calls of this task
    #[arg(long, value_name = "TASK", add = tasks())]
    pub task: Option<TaskRef>,
    /// Only calls on this route
    #[arg(long, value_name = "ROUTE")]
    pub route: Option<String>,
}

/// What else is done with costs.
#[derive(Debug, clap::Subcommand)]
pub enum CostVerb {
    /// Record what a call cost when that is not known, as its provider's page says; only once
    Settle {
        /// The send, as `show --json` names it
        #[arg(value_name = "SEND")]
        send: SendId,
        /// What it cost
        #[arg(value_name = "DOLLARS")]
        dollars: String,
    },
}

/// Arguments of `resume`.
#[derive(Debug, clap::Args)]
pub struct Resume {
    /// The tasks
    #[arg(value_name = "TASK", required = true, add = tasks())]
    pub tasks: Vec<TaskRef>,
    /// Dollars that each may cost from now on, in all, or none
    #[arg(long, value_name = "DOLLARS")]
    pub max_cost: Option<String>,
    /// Only if it is still in this pause
    #[arg(long, value_name = "ID")]
    pub pause: Option<PauseId>,
}
