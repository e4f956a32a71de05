//! The one line on a terminal that says where a task stands while it says nothing itself.

use crate::cli::Context;
use ouroboros_proto::kind::{Event, TaskNumber};
use std::io::{self, Write};

/// The line, when there is a terminal to show it on.
#[derive(Debug)]
pub struct Progress {
    number: TaskNumber,
    wanted: bool,
    shown: bool,
}

impl Progress {
    /// A line for this task; nothing is shown yet.
    pub fn new(context: &Context, number: TaskNumber) -> Self {
        let wanted = context.err().terminal && !context.json() && !context.quiet();
        Self { number, wanted, shown: false }
    }

    /// Shows where the task stands after `event`.
    pub fn event(&mut self, event: &Event) {
        let number = self.number;
        match event {
            Event::Submitted { .. } | Event::Released | Event::Resumed => self.show("waits for a slot"),
            Event::AttemptEnded { .. } => self.show("waits to be tried again"),
            Event::Held { .. } => self.show(&format!("is held; `ouroboros release {number}` lets it start")),
            Event::Paused { limit } => {
                let limit = limit.as_str();
                self.show(&format!(
                    "is paused, the {limit} limit leaves too little; `ouroboros show {number}` says how it goes on"
                ));
            }
            Event::WaitsForModel { reason, .. } => self.show(&format!("waits for a model ({})", reason.as_str())),
            Event::CancelRequested { .. } => self.show("is being cancelled"),
            Event::Wedged { .. } => self.show("has a process that cannot be ended; its slot is given up"),
            Event::Started { .. } | Event::Settled { .. } => self.clear(),
            Event::ProcessStarted { .. }
            | Event::Reprioritised { .. }
            | Event::QueueHeld { .. }
            | Event::SlotsChanged { .. }
            | Event::ServerStarted { .. }
            | Event::PoolDegraded { .. }
            | Event::PoolRecovered
            | Event::Sent { .. }
            | Event::LimitNear { .. } => {}
        }
    }

    /// Shows some words about the task.
    pub fn show(&mut self, words: &str) {
        if self.wanted {
            // A terminal that is gone is noticed where output is written.
            let _ = write!(io::stderr(), "\r\x1b[Ktask {} {words}", self.number);
            self.shown = true;
        }
    }

    /// Takes the line away, before anything else is written.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
