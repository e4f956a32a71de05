//! What the launcher says. A stream that is gone is no reason to end, so every failure to write is passed over.

use crate::render;
use ouroboros_proto::api::Timestamp;
use ouroboros_proto::kind::clock;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Speaks to whoever started us: on their terminal, in the journal, or in the launcher's log.
#[derive(Debug, Clone, Copy)]
pub struct Voice {
    logs: bool,
}

impl Voice {
    /// With `logs`, standard error is a log file, so each entry begins with its time, and nobody reads standard output.
    pub fn new(logs: bool) -> Self {
        Self { logs }
    }

    /// Whether standard error is our log file.
    pub fn is_log(self) -> bool {
        self.logs
    }

    /// Writes an answer to standard output.
    pub fn answer(self, text: &str) {
        if !self.logs {
            let mut out = io::stdout().lock();
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        }
    }

    /// Says something beside the answer.
    pub fn note(self, text: &str) {
        self.say(&render::clean(text));
    }

    /// Says what is wrong and what to do.
    pub fn trouble(self, message: &str, remedy: &str) {
        self.say(&format!("{}.\n  {}", render::clean(message), render::clean(remedy)));
    }

    /// In one write, so that lines of the server do not come between.
    fn say(self, text: &str) {
        let mut entry = String::new();
        if self.logs {
            let _ = write!(entry, "{} ", Timestamp(clock::wall()));
        }
        let _ = writeln!(entry, "ouroboros: {text}");
        let _ = io::stderr().write_all(entry.as_bytes());
    }
}
