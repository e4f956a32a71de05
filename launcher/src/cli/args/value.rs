//! Values on the command line.

use crate::cli::complete;
use clap_complete::ArgValueCompleter;
use ouroboros_proto::agent::{Effort, Mode, UnknownMode};
use ouroboros_proto::api::Timestamp;
use ouroboros_proto::kind::{Millis, Priority, TaskId, UtcMicros, clock};
use ouroboros_settings::Value;
use ouroboros_settings::value::{Kind, Raw};
use std::fmt;
use std::str::FromStr;

/// How a person names a task: by number, id, or `last`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRef(String);

impl TaskRef {
    /// As it goes into a request.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for TaskRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_prefix('#').unwrap_or(text);
        let is_number =
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && number.parse::<u64>().is_ok();
        if is_number {
            Ok(Self(number.to_owned()))
        } else if text == "last" || text.parse::<TaskId>().is_ok() {
            Ok(Self(text.to_owned()))
        } else {
            Err("a task is named by its number, its id, or `last`".to_owned())
        }
    }
}

/// Completes the numbers of the newest tasks.
pub fn tasks() -> ArgValueCompleter {
    ArgValueCompleter::new(complete::tasks)
}

/// Completes the keys of settings.
pub fn keys() -> ArgValueCompleter {
    ArgValueCompleter::new(complete::keys)
}

/// A duration such as `250ms`, `5s`, `1h30m`.
pub fn span(text: &str) -> Result<Millis, String> {
    let kind = Kind::Duration { min: Millis::ZERO, max: Millis::new(366 * 86_400_000) };
    match kind.read(&Raw::Untyped(text.to_owned())) {
        Ok(Value::Duration(span)) => Ok(span),
        _ => Err(format!("allowed is {kind}")),
    }
}

/// A priority by its word.
pub fn priority(text: &str) -> Result<Priority, String> {
    text.parse().map_err(|error: ouroboros_proto::kind::task::ParsePriorityError| error.to_string())
}

/// A round of a task: `7@3`.
pub fn fork(text: &str) -> Result<(TaskRef, u32), String> {
    let (task, round) = text.split_once('@').ok_or("a task and a round are wanted, such as 7@3")?;
    let round = round.parse().ok().filter(|round| *round > 0).ok_or("rounds are counted from 1")?;
    Ok((task.parse()?, round))
}

/// How much a model should think, by its word.
pub fn effort(text: &str) -> Result<Effort, String> {
    Effort::ALL.into_iter().find(|effort| effort.as_str() == text).ok_or_else(|| {
        let words: Vec<&str> = Effort::ALL.into_iter().map(Effort::as_str).collect();
        format!("it is one of {}", words.join(", "))
    })
}

/// A mode by its word.
pub fn mode(text: &str) -> Result<Mode, String> {
    text.parse().map_err(|error: UnknownMode| error.to_string())
}

/// A time: a span before now, a day, or a time of a day.
pub fn since(text: &str) -> Result<Timestamp, String> {
    if let Ok(ago) = span(text) {
        let micros = i64::try_from(ago.get()).unwrap_or(i64::MAX).saturating_mul(1_000);
        return Ok(Timestamp(UtcMicros::new(clock::wall().get().saturating_sub(micros))));
    }
    let read = text.parse().or_else(|_| format!("{text}T00:00:00Z").parse());
    read.map_err(|_| "allowed is a time ago such as 7d, a day such as 2026-11-30, or 2026-11-30T12:00:00Z".to_owned())
}

/// A variable for a task: a name with a value, or the name of one of ours to pass on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Variable {
    /// Set to this value.
    Set(String, String),
    /// Passed on as it is here.
    Pass(String),
}

impl FromStr for Variable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        if name.is_empty() {
            return Err("a variable needs a name: NAME=VALUE, or NAME to pass on yours".to_owned());
        }
        Ok(value.map_or_else(|| Self::Pass(name.to_owned()), |value| Self::Set(name.to_owned(), value.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::{TaskRef, Variable, since, span};
    use ouroboros_proto::kind::Millis;

    #[test]
    fn tasks_are_named_by_number_id_or_last() {
        for (text, meant) in [("7", "7"), ("#7", "7"), ("last", "last")] {
            assert_eq!(text.parse::<TaskRef>().unwrap().as_str(), meant);
        }
        assert!("01930000-0000-7000-8000-000000000000".parse::<TaskRef>().is_ok());
        for text in ["", "#", "-1", "1.5", "first", "99999999999999999999", "7/../8", "+7"] {
            assert!(text.parse::<TaskRef>().is_err(), "{text}");
        }
    }

    #[test]
    fn variables_have_names() {
        let set = |name: &str, value: &str| Variable::Set(name.to_owned(), value.to_owned());
        assert_eq!("A=b=c".parse(), Ok(set("A", "b=c")));
        assert_eq!("A=".parse(), Ok(set("A", "")));
        assert_eq!("A".parse(), Ok(Variable::Pass("A".to_owned())));
        assert!("=b".parse::<Variable>().is_err());
    }

    #[test]
    fn a_time_is_ago_a_day_or_itself() {
        let day = since("2026-11-30").unwrap();
        assert_eq!(day, since("2026-11-30T00:00:00Z").unwrap());
        assert!(since("7d").unwrap() < since("1h").unwrap());
        assert!(since("yesterday").is_err() && since("2026-11-31").is_err());
    }

    #[test]
    fn durations_need_units() {
        assert_eq!(span("1h30m"), Ok(Millis::seconds(5_400)));
        assert_eq!(span("0"), Ok(Millis::ZERO));
        assert!(span("5").unwrap_err().contains("such as 5s"));
    }
}
