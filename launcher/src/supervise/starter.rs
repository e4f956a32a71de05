//! How a launcher without a terminal talks to whoever started it: one JSON line on its standard output, then no more.

use super::refusal::Refusal;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// The line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Word {
    /// A server accepts work, started by this launcher or by one that was there before.
    Ready {
        /// Its address, when it has one.
        url: Option<String>,
    },
    /// It does not start.
    Refused {
        /// Exit code of the launcher.
        code: u8,
        /// What happened.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// The server crashes again and again. It is still being tried.
    Crashing {
        /// How often so far.
        crashes: u32,
        /// How it ended last.
        ending: String,
    },
}

/// Speaks to the starter, if there is one, until something was said.
#[derive(Debug)]
pub struct Starter {
    waits: bool,
}

impl Starter {
    /// With `waits`, somebody reads our standard output for the line.
    pub fn new(waits: bool) -> Self {
        Self { waits }
    }

    /// Work is accepted.
    pub fn ready(&mut self, url: Option<&str>) {
        self.say(&Word::Ready { url: url.map(str::to_owned) });
    }

    /// The launcher leaves.
    pub fn refused(&mut self, refusal: &Refusal) {
        let Refusal { code, message, remedy } = refusal.clone();
        self.say(&Word::Refused { code: code.code(), message, remedy });
    }

    /// It does not look as if work would be accepted soon.
    pub fn crashing(&mut self, crashes: u32, ending: &str) {
        self.say(&Word::Crashing { crashes, ending: ending.to_owned() });
    }

    fn say(&mut self, word: &Word) {
        if !std::mem::take(&mut self.waits) {
            return;
        }
        let Ok(mut line) = serde_json::to_string(word) else { return };
        line.push('\n');
        // A starter that left does not need to know.
        let mut out = io::stdout().lock();
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }
}
