//! The one line on a terminal that says where a task stands while it says nothing itself.

use super::step::Step;
use crate::cli::Context;
use ouroboros_proto::api::TaskView;
use ouroboros_proto::kind::TaskNumber;
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

    /// Shows where the task stands.
    pub fn step(&mut self, step: Step, context: &Context) {
        let number = self.number;
        match step {
            Step::Queued | Step::Resumed => match self.behind(context) {
                Some(other) => self.show(&format!("waits for task {other}, which works in the same folder")),
                None => self.show("waits for a slot"),
            },
            Step::Again => self.show("waits to be tried again"),
            Step::Held => self.show(&format!("is held; `ouroboros release {number}` lets it start")),
            Step::Paused(limit) => {
                let limit = limit.as_str();
                self.show(&format!(
                    "is paused, the {limit} limit leaves too little; `ouroboros show {number}` says how it goes on"
                ));
            }
            Step::Model(reason) => self.show(&format!("waits for a model ({})", reason.as_str())),
            Step::Cancelling => self.show("is being cancelled"),
            Step::Wedged => self.show("has a process that cannot be ended; its slot is given up"),
            Step::Asks => self.show(&format!("asks its owner; `ouroboros answer {number}` answers")),
            Step::Started | Step::Heard(_) | Step::Settled => self.clear(),
        }
    }

    /// The task that works in the folder which it waits for.
    fn behind(&self, context: &Context) -> Option<TaskNumber> {
        if !self.wanted {
            return None;
        }
        let task: TaskView = context.client().get(&format!("/api/tasks/{}", self.number)).ok()?.read().ok()?;
        task.waiting_workspace
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
