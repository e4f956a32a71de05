//! Fake workers that ask their owner, and an owner who answers some of it.

use crate::client::Ask;
use crate::image::is_settled;
use crate::server::Frame;
use crate::worker::Key;
use crate::world::World;
use ouroboros_domain::{Effect, Input, KeyHash, NewRule, RequestInput, RequestRow, RuleRow};
use ouroboros_proto::kind::{AttemptId, RequestState, RuleEffect, RuleId, RuleScope, TaskId};

/// The most that an attempt asks.
const QUESTIONS: u32 = 3;

impl World {
    /// A worker asks, or goes on when there is nothing to ask. An attempt that asks what an earlier one asked uses the same words, but
    /// for a few that lie.
    pub fn ask_owner_from(&mut self, key: Key, attempt: AttemptId, number: u32) {
        if number > QUESTIONS || !self.rng.percent(self.profile.asks_owner) {
            return self.ask(key, attempt);
        }
        let words = if self.rng.percent(5) { 9 } else { 1 };
        let digest: KeyHash = [words; 16];
        let asks = self.alive(key, |worker| {
            let work = worker.work.as_mut().filter(|work| work.attempt == attempt && work.ending.is_none())?;
            work.asks = Some((number, digest));
            Some(())
        });
        if asks.flatten().is_some() {
            // Other words are asked anew.
            let task = self.disk.written.attempts.get(&attempt).map(|row| row.task);
            let stored = task.and_then(|task| self.disk.written.requests.get(&(task, number)));
            if let Some((task, _)) = task.zip(stored.filter(|row| row.digest != digest)) {
                self.heard.remove(&(task, number));
            }
            self.send_frame(key, Frame::Request { number, digest });
        }
    }

    /// A worker is told of a request: what it is told must be recorded, and what it waits for lets it go on.
    pub fn owner_answered(&mut self, key: Key, attempt: AttemptId, task: TaskId, number: u32) {
        let row = self.disk.synced.requests.get(&(task, number)).copied();
        let stored = row.is_none_or(|row| row.state != RequestState::Open || row.attempt != attempt);
        let newer = self.disk.written.requests.get(&(task, number)).copied() != row;
        self.check(stored || newer, || format!("{attempt} is told of request {number} of {task}, which is open"));
        let waits = self.alive(key, |worker| {
            let work = worker.work.as_mut().filter(|work| work.attempt == attempt)?;
            work.asks.filter(|(asked, _)| *asked == number)
        });
        let Some((_, digest)) = waits.flatten() else { return self.mark("owner: told again") };
        match row {
            Some(row) if row.state == RequestState::Answered => {
                self.check(row.digest == digest, || format!("{attempt} is given the answer to other words"));
                self.heard.insert((task, number));
                self.mark(if row.attempt == attempt { "owner: answer heard" } else { "owner: answer of another" });
            }
            Some(row) if row.state == RequestState::Expired => self.mark("owner: expiry heard"),
            Some(_) | None => self.mark("owner: withdrawal heard"),
        }
        self.alive(key, |worker| {
            if let Some(work) = worker.work.as_mut() {
                work.asks = None;
            }
        });
        self.ask_owner_from(key, attempt, number + 1);
    }

    /// The owner answers something that is open, or was.
    pub fn answer_something(&mut self) {
        let open = self.rng.percent(90);
        let rows: Vec<RequestRow> =
            self.disk.written.requests.values().filter(|row| row.is_open() == open).copied().collect();
        if let Some(row) = self.rng.pick(&rows).copied() {
            self.answer(row);
        } else if let Some(rule) = self.disk.written.rules.keys().next().copied() {
            let rule = if self.rng.percent(20) { RuleId::new(rule.get() + 99) } else { rule };
            self.request(Ask::Other, |request| Input::Request(RequestInput::RemoveRule { request, rule }));
        }
    }

    /// In the calm the owner answers everything. Whether there was something to answer.
    pub fn answer_everything(&mut self) -> bool {
        let rows: Vec<RequestRow> = self.disk.written.requests.values().filter(|row| row.is_open()).copied().collect();
        let asked: Vec<RequestRow> = rows.into_iter().filter(|row| !self.is_being_answered(row)).collect();
        let some = !asked.is_empty();
        asked.into_iter().for_each(|row| self.answer(row));
        some
    }

    fn is_being_answered(&self, row: &RequestRow) -> bool {
        let same = |ask: &Ask| matches!(ask, Ask::Answer(task, number) if (*task, *number) == row.key());
        self.client.pending.values().any(same)
    }

    fn answer(&mut self, row: RequestRow) {
        let scope = if self.rng.percent(50) { RuleScope::Task } else { RuleScope::Installation };
        let rule = self.rng.percent(40).then(|| NewRule {
            scope,
            tool: "run".into(),
            pattern: [1_u8][..].into(),
            effect: RuleEffect::Allow,
        });
        let (task, number, digest) = (row.task, row.number, row.digest);
        self.request(Ask::Answer(task, number), |request| {
            Input::Request(RequestInput::Answer { request, task, number, digest, answer: [2_u8][..].into(), rule })
        });
    }

    /// The owner heard that an answer is kept: it is, unless something else is asked under its number by now or its task is over.
    pub fn answer_promised(&mut self, task: TaskId, number: u32) {
        self.mark("owner: answered");
        let disk = &self.disk.synced;
        let over = disk.tasks.get(&task).is_none_or(is_settled);
        let kept = disk.requests.get(&(task, number)).is_some_and(|row| row.state == RequestState::Answered);
        let replaced = self.disk.written.requests.get(&(task, number)).is_some_and(|row| row.digest != [1; 16]);
        self.check(over || kept || replaced, || format!("the answer to request {number} of {task} is lost"));
    }

    /// Attempts whose slot is lent, counted from what is stored.
    pub fn lent(&self) -> usize {
        let generation = self.server.as_ref().map(|server| server.generation);
        let staged = &self.disk.staged;
        let waits = |row: &&ouroboros_domain::AttemptRow| {
            let asks = staged.requests.values().any(|request| request.is_open() && request.attempt == row.id);
            asks && row.ended_at.is_none() && row.report.is_none() && Some(row.generation) == generation
        };
        staged.attempts.values().filter(waits).count().min(64)
    }

    /// What is over asks nothing, and keeps no rules of its own.
    pub fn judge_asked(&mut self, task: TaskId) {
        let open = self.disk.staged.requests.values().any(|row| row.task == task && row.is_open());
        let rules = self.disk.staged.rules.values().any(|row: &RuleRow| row.task() == Some(task));
        self.check(!open && !rules, || format!("{task} settles with requests open {open}, rules {rules}"));
    }

    /// Which requests an effect tells of, for the trace of what was reached.
    pub fn note_lent(&mut self, effects: &[Effect]) {
        let lent = self.lent();
        if lent > 0 && effects.iter().any(|effect| matches!(effect, Effect::Assign { .. })) {
            self.mark("owner: slot lent");
        }
    }
}
