//! Arguments of the verbs about what tasks ask their owner.

use super::value::TaskRef;
use ouroboros_proto::kind::RuleId;
use std::fmt;
use std::str::FromStr;

/// Arguments of `requests`.
#[derive(Debug, clap::Args)]
pub struct Requests {
    /// List those too that are answered or over
    #[arg(long, short)]
    pub all: bool,
}

/// A request as a person names it: its task, and its number when the task asks more than one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRef {
    /// The task.
    pub task: TaskRef,
    /// Which request of it.
    pub number: Option<u32>,
}

impl FromStr for RequestRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (task, number) = text.split_once('/').map_or((text, None), |(task, number)| (task, Some(number)));
        let number = number.map(str::parse).transpose().map_err(|_| "a request is TASK, or TASK/NUMBER".to_owned())?;
        Ok(Self { task: task.parse()?, number })
    }
}

impl fmt::Display for RequestRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            Some(number) => write!(f, "{}/{number}", self.task),
            None => write!(f, "{}", self.task),
        }
    }
}

const ANSWER_AFTER: &str = "\
A question takes TEXT or --option. What asks for approval takes --once, --task, --always or --deny. Without an answer what is \
asked is shown. An answer is final; the task goes on at once, or hears it when it runs again.";

/// Arguments of `answer`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = ANSWER_AFTER,
    group = clap::ArgGroup::new("given").args(["text", "option", "once", "for_task", "always", "deny"]).multiple(false)
)]
pub struct Answer {
    /// The task, or one request of it
    #[arg(value_name = "TASK[/NUMBER]", add = super::value::tasks())]
    pub request: RequestRef,
    /// Words that answer a question
    #[arg(value_name = "TEXT")]
    pub text: Vec<String>,
    /// An option of a question, counted from 1
    #[arg(long, value_name = "N")]
    pub option: Option<u32>,
    /// It may be done, this once
    #[arg(long)]
    pub once: bool,
    /// It may be done, and its like, as long as the task goes on
    #[arg(long = "task")]
    pub for_task: bool,
    /// It may be done, and its like, from now on in the task's folder
    #[arg(long)]
    pub always: bool,
    /// With --always: everywhere
    #[arg(long, requires = "always")]
    pub everywhere: bool,
    /// It may not be done
    #[arg(long, value_name = "REASON", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "given without a reason, with one, or not at all")]
    pub deny: Option<Option<String>>,
}

/// Arguments of `rules`.
#[derive(Debug, clap::Args)]
pub struct Rules {
    /// What to do; `list` when absent.
    #[command(subcommand)]
    pub verb: Option<RuleVerb>,
}

/// What is done with rules.
#[derive(Debug, clap::Subcommand)]
pub enum RuleVerb {
    /// List what was allowed for longer than once
    List,
    /// Take rules back
    Remove {
        /// Their numbers
        #[arg(value_name = "ID", required = true)]
        rules: Vec<RuleId>,
    },
}

#[cfg(test)]
mod tests {
    use super::RequestRef;

    #[test]
    fn a_request_is_a_task_or_one_of_its_requests() {
        for (text, number) in [("7", None), ("7/3", Some(3)), ("last/12", Some(12))] {
            let request: RequestRef = text.parse().unwrap();
            assert_eq!((request.number, request.to_string()), (number, text.to_owned()));
        }
        for text in ["", "/3", "7/", "7/x", "7/3/1", "x/3"] {
            assert!(text.parse::<RequestRef>().is_err(), "{text}");
        }
    }
}
