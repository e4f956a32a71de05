//! Speaking to a task in words while it works.
//!
//! A message is durable before the worker hears of it, and is taken in the commit of the entry that holds it. One that is accepted is
//! heard as long as the task goes on: what a worker delivers is recorded after every message that was accepted before, so it knows of
//! them all when it learns that its delivery is recorded, and goes on instead of ending. From that record on nothing is accepted.

use crate::Core;
use crate::change::Change;
use crate::draft::Draft;
use crate::effect::{Effect, Refusal, Reply};
use crate::input::{Lookup, NewMessage, RequestId};
use crate::pool::Phase;
use crate::row::{MessageRow, TaskRow, TaskState};
use ouroboros_proto::kind::{AttemptId, Event, TaskId, WorkKind, WorkerId};
use ouroboros_proto::limits;

impl Core {
    fn messages_of(&self, task: TaskId) -> impl Iterator<Item = &MessageRow> {
        self.messages.range((task, 0)..=(task, u32::MAX)).map(|(_, row)| row)
    }

    /// Messages that a task has not taken.
    pub(crate) fn waiting_messages(&self, task: TaskId) -> u64 {
        count(self.messages_of(task).filter(|row| !row.taken))
    }

    /// A settled task takes nothing any more.
    pub(crate) fn forget_messages(&mut self, task: TaskId) {
        let numbers: Vec<u32> = self.messages_of(task).map(|row| row.number).collect();
        for number in numbers {
            self.messages.remove(&(task, number));
        }
    }
}

impl Draft<'_> {
    /// Accepts a message, or answers why not.
    pub fn message(&mut self, request: RequestId, message: &NewMessage, lookup: &Lookup) {
        match self.heard(message, lookup) {
            Ok((number, duplicate)) => self.reply(request, Reply::Heard(number, duplicate)),
            Err(refusal) => self.refuse(request, refusal),
        }
    }

    fn heard(&mut self, message: &NewMessage, lookup: &Lookup) -> Result<(u32, bool), Refusal> {
        let row = self.core.find(message.task, lookup).cloned().ok_or(Refusal::UnknownTask)?;
        if let Some((key, body)) = message.key {
            let same = |known: &&MessageRow| known.key.is_some_and(|(known, _)| known == key);
            let stored = lookup.message.as_ref().filter(|known| known.task == row.id);
            if let Some(known) = self.core.messages_of(row.id).find(same).or(stored.filter(same)) {
                let repeated = known.key == Some((key, body));
                return if repeated {
                    Ok((known.number, true))
                } else {
                    Err(Refusal::KeyConflict { task: row.number })
                };
            }
        }
        if row.kind != WorkKind::Agent {
            return Err(Refusal::NotInWords);
        }
        if !self.listens(&row) {
            return Err(Refusal::NotListening { task: row.number });
        }
        let said = count(self.core.messages_of(row.id));
        for (found, limit) in
            [(said, &limits::MESSAGES_PER_TASK), (self.core.waiting_messages(row.id), &limits::MESSAGES_WAITING)]
        {
            if found >= limit.max {
                return Err(Refusal::TooManyMessages { limit: *limit });
            }
        }
        let number = u32::try_from(said).unwrap_or(u32::MAX).saturating_add(1);
        let new = MessageRow { task: row.id, number, key: message.key, at: self.stamp.wall, taken: false };
        self.put(Change::Message { row: new, text: message.text.clone() });
        self.event(Some((row.id, row.number)), Event::Messaged { number });
        if let Some((worker, attempt)) = self.at_work(&row) {
            self.then(Effect::Tell { worker, attempt, task: row.id });
        }
        Ok((number, false))
    }

    /// Whether what is said to a task now is heard by an attempt of it.
    fn listens(&self, row: &TaskRow) -> bool {
        match row.state {
            TaskState::Settled { .. } => false,
            TaskState::Queued => row.cancel.is_none(),
            TaskState::Running { attempt } => {
                let over = self.core.attempts.get(&attempt).is_some_and(|row| row.delivered || row.report.is_some());
                row.cancel.is_none() && !over
            }
        }
    }

    /// The worker that is busy with a task.
    fn at_work(&self, row: &TaskRow) -> Option<(WorkerId, AttemptId)> {
        let TaskState::Running { attempt } = row.state else { return None };
        let worker = self.core.attempts.get(&attempt)?.worker;
        let phase = self.core.pool.workers.get(&worker)?.phase;
        matches!(phase, Phase::Busy { .. }).then_some((worker, attempt))
    }

    /// A message stands in the transcript now.
    pub(crate) fn taken(&mut self, task: TaskId, number: u32) {
        if self.core.messages.get(&(task, number)).is_some_and(|row| !row.taken) {
            self.put(Change::MessageTaken { task, number });
            let about = self.core.task(task).map(|task| (task.id, task.number));
            self.event(about, Event::MessageTaken { number });
        }
    }

    /// Stops the turn that is under way.
    pub(crate) fn interrupt(&mut self, request: RequestId, row: &TaskRow, hold: bool) {
        if row.kind != WorkKind::Agent {
            return self.refuse(request, Refusal::NotInWords);
        }
        match self.at_work(row).filter(|_| self.listens(row)) {
            Some((worker, attempt)) => {
                self.then(Effect::Interrupt { worker, attempt, hold });
                // Its turn is over: nobody waits for what it asked.
                self.withdraw_open(row.id);
                self.reply(request, Reply::Done);
            }
            None => self.refuse(request, Refusal::NotRunning),
        }
    }

    /// Cancels one call of a tool. What it asks its owner nobody need answer any more.
    pub(crate) fn cancel_call(&mut self, request: RequestId, row: &TaskRow, call: u32) {
        if row.kind != WorkKind::Agent {
            return self.refuse(request, Refusal::NotInWords);
        }
        match self.at_work(row).filter(|_| self.listens(row)) {
            Some((worker, attempt)) => {
                self.then(Effect::CancelCall { worker, attempt, call });
                self.withdraw_request(row.id, call);
                self.reply(request, Reply::Done);
            }
            None => self.refuse(request, Refusal::NotRunning),
        }
    }
}

fn count<'a>(rows: impl Iterator<Item = &'a MessageRow>) -> u64 {
    u64::try_from(rows.count()).unwrap_or(u64::MAX)
}
