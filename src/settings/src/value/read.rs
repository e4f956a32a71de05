//! From what a source holds to a value, or to a refusal that says what was found.

use super::{Allowance, ByteSize, Kind, Value, span};
use ouroboros_proto::kind::Millis;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Longest part of a refused value that is repeated in a message.
const SHOWN_CHARS: usize = 80;

/// A value as its source holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Raw {
    /// Text without a type of its own: a variable, a flag, an argument.
    Untyped(String),
    /// A TOML string.
    Text(String),
    /// A TOML integer.
    Integer(i64),
    /// A TOML number with a fraction, as it is written.
    Fraction(String),
    /// A TOML boolean.
    Boolean(bool),
    /// Anything else in TOML, named: no setting takes it.
    Other(&'static str),
}

/// A raw value is not what its kind allows. What was found, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The refused value; it is not to be shown for a secret setting.
    pub found: String,
}

impl Kind {
    /// The value that `raw` stands for.
    ///
    /// # Errors
    ///
    /// A refusal when `raw` has another shape or is out of bounds. Nothing is rounded or clamped.
    pub fn read(self, raw: &Raw) -> Result<Value, Refusal> {
        let value = match raw {
            Raw::Untyped(text) => self.read_text(text).or_else(|| self.read_scalar(text)),
            Raw::Text(text) => self.read_text(text),
            Raw::Integer(number) => u64::try_from(*number).ok().and_then(|number| self.read_number(number)),
            Raw::Fraction(text) => match self {
                Self::Money => Allowance::read(text).ok().map(Value::Money),
                _ => None,
            },
            Raw::Boolean(yes) => matches!(self, Self::Boolean).then_some(Value::Boolean(*yes)),
            Raw::Other(_) => None,
        };
        value.ok_or_else(|| Refusal { found: raw.shown() })
    }

    /// What a TOML string or untyped text can hold.
    fn read_text(self, text: &str) -> Option<Value> {
        match self {
            Self::Duration { min, max } => {
                span::read(text).filter(|span| (min..=max).contains(span)).map(Value::Duration)
            }
            Self::Bytes { min, max } => {
                ByteSize::read(text).filter(|size| (min..=max).contains(size)).map(Value::Bytes)
            }
            Self::Text { max } => {
                (text.chars().count() <= max && !text.contains(char::is_control)).then(|| Value::Text(text.to_owned()))
            }
            Self::Choice(words) => words.iter().find(|word| **word == text).map(|word| Value::Choice(word)),
            Self::Path => {
                let path = PathBuf::from(text);
                (path.is_absolute() && !text.contains(char::is_control)).then_some(Value::Path(path))
            }
            Self::Address => text.parse::<SocketAddr>().ok().map(Value::Address),
            Self::Money => Allowance::read(text).ok().map(Value::Money),
            Self::Integer { .. } | Self::Boolean => None,
        }
    }

    /// What TOML has a type for and untyped text has not.
    fn read_scalar(self, text: &str) -> Option<Value> {
        match self {
            Self::Boolean => text.parse().ok().map(Value::Boolean),
            Self::Integer { .. } if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                text.parse().ok().and_then(|number| self.read_number(number))
            }
            Self::Integer { .. }
            | Self::Duration { .. }
            | Self::Bytes { .. }
            | Self::Text { .. }
            | Self::Choice(_)
            | Self::Path
            | Self::Address
            | Self::Money => None,
        }
    }

    /// What a whole number can stand for: itself, a number of bytes, or no time at all.
    fn read_number(self, number: u64) -> Option<Value> {
        match self {
            Self::Integer { min, max } => (min..=max).contains(&number).then_some(Value::Integer(number)),
            Self::Bytes { min, max } => {
                Some(ByteSize::new(number)).filter(|size| (min..=max).contains(size)).map(Value::Bytes)
            }
            Self::Duration { min, .. } => (number == 0 && min == Millis::ZERO).then_some(Value::Duration(Millis::ZERO)),
            Self::Money => Allowance::read(&number.to_string()).ok().map(Value::Money),
            Self::Boolean | Self::Text { .. } | Self::Choice(_) | Self::Path | Self::Address => None,
        }
    }
}

impl Raw {
    /// The value in words, cut when it is long.
    fn shown(&self) -> String {
        match self {
            Self::Untyped(text) | Self::Text(text) => {
                let head: String = text.chars().take(SHOWN_CHARS).collect();
                if head.len() < text.len() { format!("{head:?}…") } else { format!("{head:?}") }
            }
            Self::Integer(number) => number.to_string(),
            Self::Fraction(text) => text.clone(),
            Self::Boolean(yes) => yes.to_string(),
            Self::Other(what) => (*what).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Raw, Value};
    use std::path::PathBuf;

    #[test]
    fn text_and_paths_have_bounds_too() {
        let text = Kind::Text { max: 3 };
        assert_eq!(text.read(&Raw::Text("äöü".into())), Ok(Value::Text("äöü".into())));
        assert!(text.read(&Raw::Text("four".into())).is_err());
        assert!(text.read(&Raw::Text("a\nb".into())).is_err());
        assert_eq!(Kind::Path.read(&Raw::Untyped("/srv/x".into())), Ok(Value::Path(PathBuf::from("/srv/x"))));
        assert!(Kind::Path.read(&Raw::Untyped("srv/x".into())).is_err());
    }

    #[test]
    fn a_quoted_number_in_the_file_is_not_a_number() {
        let kind = Kind::Integer { min: 0, max: 9 };
        assert_eq!(kind.read(&Raw::Untyped("4".into())), Ok(Value::Integer(4)));
        assert_eq!(kind.read(&Raw::Text("4".into())).unwrap_err().found, "\"4\"");
        assert!(kind.read(&Raw::Untyped("+4".into())).is_err());
    }

    #[test]
    fn a_long_refused_value_is_cut() {
        let refusal = Kind::Boolean.read(&Raw::Untyped("x".repeat(10_000))).unwrap_err();
        assert!(refusal.found.len() < 100 && refusal.found.ends_with('…'));
    }
}
