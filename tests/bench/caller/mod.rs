//! Workers that do nothing but call models, as often as they are told.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`worker`] | the process that stands in for a worker: greeting, calls, pieces, ends |
//! | [`heard`] | what it is told to do, and what it heard |
//!
//! A question is one call. To measure calls without the start of a task, a worker of this kind takes the question as a pattern, keeps its
//! attempt, and is told over a socket beside its binary how often to ask.

mod heard;
mod worker;

pub use heard::{Heard, Round, STAMP};
pub use worker::serve;

use crate::api::LONG;
use crate::stand_in;
use anyhow::{Context as _, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The socket over which such workers are told what to do.
pub const CONTROL: &str = "control";

/// Those that have a question, and the socket for more.
pub struct Callers {
    launcher: PathBuf,
    listener: UnixListener,
    lines: Vec<BufReader<UnixStream>>,
}

impl Callers {
    /// Copies the programs to `dir`.
    ///
    /// # Errors
    /// A program is missing or cannot be copied, or the socket cannot be bound.
    pub fn new(dir: &Path) -> anyhow::Result<Self> {
        let launcher = stand_in::install(dir)?;
        Ok(Self { launcher, listener: UnixListener::bind(dir.join(CONTROL))?, lines: Vec::new() })
    }

    /// The launcher among the programs.
    pub fn launcher(&self) -> PathBuf {
        self.launcher.clone()
    }

    /// Waits until this many more have a question.
    ///
    /// # Errors
    /// They do not come.
    pub fn gather(&mut self, count: usize) -> anyhow::Result<()> {
        for _ in 0..count {
            let patience = Timespec { tv_sec: 60, tv_nsec: 0 };
            let ready = poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&patience))?;
            ensure!(ready > 0, "no worker with a question comes");
            let (line, _) = self.listener.accept()?;
            line.set_read_timeout(Some(LONG))?;
            self.lines.push(BufReader::new(line));
        }
        Ok(())
    }

    /// Has each of them make these calls, all beginning at once.
    ///
    /// # Errors
    /// One is gone.
    pub fn round(&mut self, round: Round) -> anyhow::Result<Heard> {
        let order = serde_json::to_string(&round)?;
        for line in &mut self.lines {
            writeln!(line.get_mut(), "{order}").context("a worker is gone")?;
        }
        let mut all = Heard::default();
        for line in &mut self.lines {
            let mut text = String::new();
            line.read_line(&mut text).context("a worker is gone")?;
            all.merge(serde_json::from_str(&text).context("a worker says nothing of its calls")?);
        }
        Ok(all)
    }

    /// The same, and every call must have been answered.
    ///
    /// # Errors
    /// One is gone, or a call failed.
    pub fn answered(&mut self, round: Round) -> anyhow::Result<Heard> {
        let heard = self.round(round)?;
        ensure!(heard.answers == heard.calls.len(), "not every call was answered: {:?}", heard.other);
        Ok(heard)
    }
}
