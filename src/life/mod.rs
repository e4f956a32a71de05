//! One life of the server: from its arguments to its exit code.
//!
//! | module | what it is for |
//! |---|---|
//! | [`configuration`] | the settings in force, and reading them again |
//! | [`activation`] | sockets that somebody bound for us |
//! | [`logging`] | the log: a bounded file, or the journal |
//! | [`start`], `place`, `listening` | everything that is opened and started, in order |
//! | [`ends`] | what can end a life: signals, the lifeline, the core, idleness; and leaving in order |
//! | [`critical`] | threads without which there is no server |
//! | [`housekeeping`], [`idle`] | retention; leaving when nobody needs us |
//! | [`ready`] | telling whoever started us |

pub mod activation;
mod clear;
pub mod configuration;
pub mod critical;
pub mod ends;
pub mod housekeeping;
pub mod idle;
mod listening;
pub mod logging;
mod models;
mod place;
pub mod ready;
pub mod start;
mod unproven;

use ouroboros_proto::kind::ExitCode;

/// Why a life ended before it began: a sentence, what to do, and the exit code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct StartError {
    /// What happened.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
    /// How the process ends.
    pub code: ExitCode,
}

impl StartError {
    /// An error with its remedy.
    pub fn new(code: ExitCode, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: remedy.into(), code }
    }
}

/// Build of this server; workers and clients compare it.
#[must_use]
pub fn build() -> String {
    match option_env!("OUROBOROS_BUILD") {
        Some(build) => format!("{}+{build}", env!("CARGO_PKG_VERSION")),
        None => env!("CARGO_PKG_VERSION").to_owned(),
    }
}
