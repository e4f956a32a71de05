//! How a launcher without a terminal talks to whoever started it: one JSON line on its standard output, then no more.

use super::log;
use super::refusal::Refusal;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::Path;

/// The line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Word {
    /// A server accepts work, started by this launcher.
    Ready {
        /// Its address, when it has one.
        url: Option<String>,
    },
    /// A launcher was there before; this one leaves again.
    Beside {
        /// Its process number, when it is known.
        pid: Option<i32>,
    },
    /// It does not start.
    Refused {
        /// Exit code of the launcher.
        code: u8,
        /// What happened.
        message: String,
        /// What to do.
        remedy: String,
        /// What was said on standard error before.
        words: String,
    },
    /// The server crashes again and again. It is still being tried.
    Crashing {
        /// How often so far.
        crashes: u32,
        /// How it ended last.
        ending: String,
        /// What was said on standard error before.
        words: String,
    },
}

/// Speaks to the starter, if there is one, until something was said.
#[derive(Debug)]
pub struct Starter {
    waits: bool,
    /// Where our own part of the log begins.
    log_from: u64,
}

impl Starter {
    /// With `waits`, somebody reads our standard output for the line.
    pub fn new(waits: bool) -> Self {
        let length = rustix::fs::fstat(io::stderr()).map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or(0));
        Self { waits, log_from: length }
    }

    /// Work is accepted.
    pub fn ready(&mut self, url: Option<&str>) {
        self.say(&Word::Ready { url: url.map(str::to_owned) });
    }

    /// Another launcher has the data directory.
    pub fn beside(&mut self, pid: Option<i32>) {
        self.say(&Word::Beside { pid });
    }

    /// The launcher leaves. To be called before that is said on standard error.
    pub fn refused(&mut self, refusal: &Refusal) {
        let Refusal { code, message, remedy } = refusal.clone();
        self.say(&Word::Refused { code: code.code(), message, remedy, words: self.words() });
    }

    /// It does not look as if work would be accepted soon.
    pub fn crashing(&mut self, crashes: u32, ending: &str) {
        self.say(&Word::Crashing { crashes, ending: ending.to_owned(), words: self.words() });
    }

    fn words(&self) -> String {
        // Our standard error is open for writing only; its name opens it again.
        if self.waits { log::tail(Path::new("/proc/self/fd/2"), self.log_from) } else { String::new() }
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
