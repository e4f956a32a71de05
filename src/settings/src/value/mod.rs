//! The shapes a setting can have.
//!
//! A [`Kind`] is a shape with its bounds; a [`Value`] is what passed it. Text is read by `read`, shown by `Display`, and
//! the two are inverse: what is shown reads back as the same value.

mod field;
mod read;
mod size;
mod span;

pub use field::{COVERAGES, Field, ISOLATIONS, LOG_LEVELS, LogLevel, MODES};
pub use ouroboros_proto::kind::Allowance;
pub use read::{Raw, Refusal};
pub use size::ByteSize;

use ouroboros_proto::kind::Millis;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A shape with its bounds; both ends are allowed values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Integer {
        /// Smallest allowed.
        min: u64,
        /// Largest allowed.
        max: u64,
    },
    /// A duration such as `250ms`, `5s`, `1h30m`, `30d`.
    Duration {
        /// Shortest allowed.
        min: Millis,
        /// Longest allowed.
        max: Millis,
    },
    /// A number of bytes such as `512`, `64MiB`.
    Bytes {
        /// Smallest allowed.
        min: ByteSize,
        /// Largest allowed.
        max: ByteSize,
    },
    /// `true` or `false`.
    Boolean,
    /// Free text without control characters.
    Text {
        /// Most characters.
        max: usize,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// An absolute path.
    Path,
    /// An IP address with a port.
    Address,
    /// An amount of dollars, or `none`.
    Money,
}

/// A value that passed its [`Kind`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Integer(u64),
    /// A duration.
    Duration(Millis),
    /// A number of bytes.
    Bytes(ByteSize),
    /// Yes or no.
    Boolean(bool),
    /// Free text.
    Text(String),
    /// One of the words of its kind.
    Choice(&'static str),
    /// An absolute path.
    Path(PathBuf),
    /// An IP address with a port.
    Address(SocketAddr),
    /// An amount of dollars, or none.
    Money(Allowance),
}

impl Kind {
    /// The word for the shape, without bounds.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Integer { .. } => "integer",
            Self::Duration { .. } => "duration",
            Self::Bytes { .. } => "bytes",
            Self::Boolean => "boolean",
            Self::Text { .. } => "text",
            Self::Choice(_) => "choice",
            Self::Path => "path",
            Self::Address => "address",
            Self::Money => "money",
        }
    }
}

/// What is allowed, as it ends the sentence "allowed is …".
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer { min, max } => write!(f, "a whole number from {min} to {max}"),
            Self::Duration { min, max } => {
                write!(f, "a duration from {} to {}, such as 5s or 1h30m", span::show(*min), span::show(*max))
            }
            Self::Bytes { min, max } => write!(f, "a size from {min} to {max}"),
            Self::Boolean => f.write_str("true or false"),
            Self::Text { max } => write!(f, "text of at most {max} characters, without control characters"),
            Self::Choice(words) => write!(f, "one of {}", words.join(", ")),
            Self::Path => f.write_str("an absolute path"),
            Self::Address => f.write_str("an IP address with a port, such as 127.0.0.1:8765"),
            Self::Money => {
                f.write_str("dollars such as 2 or 0.50, up to 9223372036, 0 for nothing at all, or none for no limit")
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            Self::Duration(span) => f.write_str(&span::show(*span)),
            Self::Bytes(size) => write!(f, "{size}"),
            Self::Boolean(yes) => write!(f, "{yes}"),
            Self::Text(text) => f.write_str(text),
            Self::Choice(word) => f.write_str(word),
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Address(address) => write!(f, "{address}"),
            Self::Money(allowance) => write!(f, "{allowance}"),
        }
    }
}
