//! A decision in the making.

use crate::change::Change;
use crate::core::{Core, Decision};
use crate::effect::{Effect, Refusal, Reply};
use crate::input::{RequestId, Stamp};
use crate::row::{EventRow, TaskRow};
use ouroboros_proto::kind::{AttemptId, Event, TaskId, TaskNumber};

/// Collects changes and effects of one step. Dropped work is not possible: it ends in [`Draft::finish`].
pub(crate) struct Draft<'core> {
    pub core: &'core mut Core,
    pub stamp: Stamp,
    changes: Vec<Change>,
    effects: Vec<Effect>,
    minted: u32,
}

impl<'core> Draft<'core> {
    pub fn new(core: &'core mut Core, stamp: Stamp) -> Self {
        Self { core, stamp, changes: Vec::new(), effects: Vec::new(), minted: 0 }
    }

    /// Writes a change and lets the state follow it.
    pub fn put(&mut self, change: Change) {
        self.core.apply(&change);
        self.changes.push(change);
    }

    /// Writes a task's new image.
    pub fn put_task(&mut self, row: TaskRow) {
        self.put(Change::Task(Box::new(row)));
    }

    /// Adds an effect.
    pub fn then(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Answers a request.
    pub fn reply(&mut self, request: RequestId, reply: Reply) {
        self.then(Effect::Reply { request, reply });
    }

    /// Answers that nothing was done.
    pub fn refuse(&mut self, request: RequestId, refusal: Refusal) {
        self.reply(request, Reply::Refused(refusal));
    }

    /// Records that something happened.
    pub fn event(&mut self, task: Option<(TaskId, TaskNumber)>, event: Event) {
        let row = EventRow { seq: self.core.next_event, at: self.stamp.wall, task, event };
        self.put(Change::Event(Box::new(row)));
    }

    /// A new attempt id. Unique because `fresh` is, and counted within the step.
    pub fn mint_attempt(&mut self) -> AttemptId {
        AttemptId::from_bytes(self.mint())
    }

    /// Sixteen bytes that no other id has.
    pub fn mint(&mut self) -> [u8; 16] {
        let mut bytes = self.stamp.fresh;
        if let Some(low) = bytes.last_chunk_mut::<4>() {
            *low = u32::from_be_bytes(*low).wrapping_add(self.minted).to_be_bytes();
        }
        self.minted = self.minted.wrapping_add(1);
        bytes
    }

    /// What follows from the new state by itself: tasks that can never start settle, deadlines act, the shutdown goes on,
    /// free slots are filled, workers are started.
    pub fn advance(&mut self) {
        self.settle_doomed();
        self.expire();
        self.expire_requests();
        self.admit_waiting();
        self.wind_down();
        self.assign();
        self.top_up();
    }

    pub fn finish(self) -> Decision {
        Decision { changes: self.changes, effects: self.effects }
    }
}
