//! Values as the plain types that the snapshot has.

use super::{Allowance, ByteSize, Value};
use ouroboros_proto::agent::{Coverage, Mode};
use ouroboros_proto::kind::{Isolation, Millis};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A type that a field of the snapshot may have.
pub trait Field: Clone {
    /// The field for this value; `None` when the value has another shape or does not fit.
    fn from_value(value: &Value) -> Option<Self>;

    /// The value of this field.
    fn to_value(&self) -> Value;
}

macro_rules! fields {
    ($($variant:ident: $ty:ty;)*) => {$(
        impl Field for $ty {
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    Value::$variant(inner) => Some(inner.clone()),
                    _ => None,
                }
            }

            fn to_value(&self) -> Value {
                Value::$variant(self.clone())
            }
        }
    )*};
}

fields! {
    Integer: u64;
    Duration: Millis;
    Bytes: ByteSize;
    Boolean: bool;
    Text: String;
    Path: PathBuf;
    Address: SocketAddr;
    Money: Allowance;
}

impl Field for u32 {
    fn from_value(value: &Value) -> Option<Self> {
        u64::from_value(value).and_then(|number| Self::try_from(number).ok())
    }

    fn to_value(&self) -> Value {
        Value::Integer(u64::from(*self))
    }
}

macro_rules! choices {
    ($ty:ident, $words:ident: $($variant:ident = $word:literal),*) => {
        /// The words of the choice.
        pub const $words: &[&str] = &[$($word),*];

        impl Field for $ty {
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    $(Value::Choice($word) => Some(Self::$variant),)*
                    _ => None,
                }
            }

            fn to_value(&self) -> Value {
                Value::Choice(match self {
                    $(Self::$variant => $word,)*
                })
            }
        }
    };
}

/// How much is logged: this level and everything more severe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// Every step.
    Trace,
    /// Decisions and their inputs.
    Debug,
    /// What an owner may want to know later.
    Info,
    /// What went wrong and was dealt with.
    Warn,
    /// What went wrong and was not.
    Error,
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_value(), f)
    }
}

choices!(LogLevel, LOG_LEVELS: Trace = "trace", Debug = "debug", Info = "info", Warn = "warn", Error = "error");
choices!(Mode, MODES: Observe = "observe", Light = "light", Advanced = "advanced", Pro = "pro", CyberPro = "cyber_pro");
choices!(Isolation, ISOLATIONS: Namespace = "namespace", Host = "host");
choices!(Coverage, COVERAGES: Full = "full", Light = "light", Off = "off");
