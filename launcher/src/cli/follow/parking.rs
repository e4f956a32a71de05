//! What is particular about following a question.

use super::step::Step;
use super::take::Taken;
use std::io::{self, Write};

/// Whether the task waits for its owner or for a model, and whether that is a reason to leave.
#[derive(Debug, Default)]
pub struct Parking {
    leaves: bool,
    closes_line: bool,
    caught_up: bool,
    parked: bool,
    running: bool,
    /// Whether the last byte of the answer did not end its line.
    open_line: bool,
}

impl Parking {
    /// For a question; `leaves` says whether to leave when it is parked, `closes_line` whether its answer must end with a line.
    pub fn of_question(leaves: bool, closes_line: bool) -> Self {
        Self { leaves, closes_line, ..Self::default() }
    }

    /// Everything that was recorded is known: what is known now is true now.
    pub fn caught_up(&mut self) {
        self.caught_up = true;
    }

    /// Follows what happens to the task.
    pub fn step(&mut self, step: Step) {
        match step {
            Step::Paused(_) | Step::Model(_) => self.parked = true,
            Step::Resumed => self.parked = false,
            Step::Started => (self.parked, self.running) = (false, true),
            Step::Again => self.running = false,
            Step::Settled => (self.parked, self.running) = (false, false),
            Step::Queued | Step::Held | Step::Cancelling | Step::Wedged => {}
        }
    }

    /// Whether to leave now. Not while its attempt saves itself: what that writes is still to come.
    pub fn verdict(&self) -> Taken {
        let leave = self.leaves && self.caught_up && self.parked && !self.running;
        if leave { Taken::Parked } else { Taken::More }
    }

    /// Some of the answer was written.
    pub fn wrote(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            self.open_line = *last != b'\n';
        }
    }

    /// Ends the last line of the answer, where a person reads it.
    pub fn close_line(&mut self) -> io::Result<()> {
        if self.closes_line && std::mem::take(&mut self.open_line) {
            let mut out = io::stdout().lock();
            out.write_all(b"\n")?;
            out.flush()?;
        }
        Ok(())
    }
}
