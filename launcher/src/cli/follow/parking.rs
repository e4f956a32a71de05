//! Whether a task waits for its owner or for a model, and whether that is a reason to leave.

use super::step::Step;
use super::take::Taken;
use ouroboros_proto::api::{PausePhase, TaskView};

/// What ends the following of a task that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leave {
    /// Nothing.
    #[default]
    Never,
    /// That its owner must let it spend more, and a question to its owner that nobody can answer here.
    Paused,
    /// That, and a wait for a model.
    Parked,
}

/// What a task waits for that no slot can give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    Owner,
    Model,
    Answer,
}

/// What is known of that.
#[derive(Debug, Default)]
pub struct Parking {
    leave: Leave,
    caught_up: bool,
    wait: Option<Wait>,
    running: bool,
    /// It asks its owner, and nobody was told yet.
    asks: bool,
}

impl Parking {
    /// For a follower that leaves then.
    pub fn of(leave: Leave) -> Self {
        Self { leave, ..Self::default() }
    }

    /// Everything that was recorded is known: what is known now is true now.
    pub fn caught_up(&mut self) {
        self.caught_up = true;
    }

    /// Follows what happens to the task.
    pub fn step(&mut self, step: Step) {
        match step {
            Step::Paused(_) => self.wait = Some(Wait::Owner),
            Step::Model(_) => self.wait = Some(Wait::Model),
            Step::Resumed => self.wait = None,
            Step::Asks => self.asks = true,
            Step::Heard(_) => self.asks = false,
            Step::Started => (self.wait, self.running) = (None, true),
            Step::Again => self.running = false,
            Step::Settled => (self.wait, self.running, self.asks) = (None, false, false),
            Step::Queued | Step::Held | Step::Cancelling | Step::Wedged => {}
        }
    }

    /// Whether to leave now. Not while its attempt saves itself: what that writes is still to come.
    pub fn verdict(&mut self) -> Taken {
        if self.caught_up && std::mem::take(&mut self.asks) {
            return Taken::Asks;
        }
        let leave = self.wait.is_some_and(|wait| self.leaves(wait)) && self.caught_up && !self.running;
        if leave { Taken::Parked } else { Taken::More }
    }

    /// Whether what the task is said to wait for is a reason to leave.
    pub fn leaves_with(&self, task: &TaskView) -> bool {
        let paused = task.pause.is_some_and(|pause| pause.phase != PausePhase::Resumed);
        let waits = [(paused, Wait::Owner), (task.wait.is_some(), Wait::Model), (task.request.is_some(), Wait::Answer)];
        !task.status.is_settled() && waits.into_iter().any(|(waits, wait)| waits && self.leaves(wait))
    }

    fn leaves(&self, wait: Wait) -> bool {
        match self.leave {
            Leave::Never => false,
            Leave::Paused => wait != Wait::Model,
            Leave::Parked => true,
        }
    }
}
