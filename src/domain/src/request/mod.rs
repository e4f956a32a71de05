//! What attempts ask their owner, and the rules that answers leave behind.
//!
//! A request is open until it is answered, expires, or is withdrawn; each of these happens once, and is durable before anybody is
//! told. It belongs to its task: when its attempt is lost it stays open, an answer that comes meanwhile is kept, and the attempt that
//! asks the same again is told. What was closed while no attempt was there to hear it is named to the next one, which then knows that the
//! call has not begun. An answer is for what was asked, letter for letter: something else under the same number is asked anew.
//!
//! While a request of an attempt is open the attempt lends its slot. That is counted from the rows and nowhere else. Time is taken
//! from the boot clock; the wall clock is for people.

pub mod row;

use crate::change::Change;
use crate::core::{Core, earliest};
use crate::draft::Draft;
use crate::effect::{Effect, Refusal, Reply};
use crate::input::RequestId;
use crate::pool::Phase;
use crate::row::{AttemptRow, KeyHash};
use ouroboros_proto::kind::{
    BootMicros, Event, Millis, RequestKind, RequestState, RuleId, TaskId, TaskNumber, WorkerId,
};
use ouroboros_proto::limits;
use row::{NOBODY, NewRule, RequestKey, RequestRow, RuleRow};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Requests of unsettled tasks, and rules.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requests {
    pub rows: BTreeMap<RequestKey, RequestRow>,
    /// When open requests expire. Not stored: it belongs to this boot of the machine.
    deadlines: BTreeMap<RequestKey, BootMicros>,
    /// Every rule, with the task that it is for, when it is for one only.
    pub rules: BTreeMap<RuleId, Option<TaskId>>,
    pub next_rule: RuleId,
}

/// What an attempt asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRequest {
    /// The place of the call among all calls of the task.
    pub number: u32,
    /// What kind of answer is wanted.
    pub kind: RequestKind,
    /// Hash of what is asked.
    pub digest: KeyHash,
    /// What is asked. Opaque here.
    pub content: Arc<[u8]>,
}

/// What the owner does about requests and rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestInput {
    /// Answers a request.
    Answer {
        /// Whom to answer.
        request: RequestId,
        /// The task.
        task: TaskId,
        /// Which request of it.
        number: u32,
        /// What the owner was shown.
        digest: KeyHash,
        /// What is answered. Opaque here.
        answer: Arc<[u8]>,
        /// The rule that the answer makes.
        rule: Option<NewRule>,
    },
    /// Takes a rule back.
    RemoveRule {
        /// Whom to answer.
        request: RequestId,
        /// Which.
        rule: RuleId,
    },
}

impl Requests {
    pub fn load(rows: Vec<RequestRow>, rules: BTreeMap<RuleId, Option<TaskId>>, next_rule: RuleId) -> Self {
        let rows = rows.into_iter().map(|row| (row.key(), row)).collect();
        Self { rows, deadlines: BTreeMap::new(), rules, next_rule }
    }

    pub fn apply(&mut self, row: RequestRow) {
        if !row.is_open() {
            self.deadlines.remove(&row.key());
        }
        self.rows.insert(row.key(), row);
    }

    /// A task has settled.
    pub fn forget(&mut self, task: TaskId) {
        let keys: Vec<RequestKey> = self.of(task).map(RequestRow::key).collect();
        for key in keys {
            self.rows.remove(&key);
            self.deadlines.remove(&key);
        }
    }

    /// The requests of a task, by their numbers.
    pub fn of(&self, task: TaskId) -> impl DoubleEndedIterator<Item = &RequestRow> {
        self.rows.range((task, 0)..=(task, u32::MAX)).map(|(_, row)| row)
    }

    /// When the next one expires.
    pub fn due(&self) -> Option<BootMicros> {
        self.deadlines.values().copied().fold(None, |soonest, deadline| earliest(soonest, Some(deadline)))
    }
}

impl Core {
    /// Whether an attempt does nothing but wait for its owner.
    #[must_use]
    pub fn waits_for_owner(&self, attempt: &AttemptRow) -> bool {
        attempt.generation == self.generation
            && attempt.report.is_none()
            && self.requests.of(attempt.task).any(|row| row.is_open() && row.attempt == attempt.id)
    }

    /// Slots whose attempt waits for its owner: others may have them meanwhile.
    pub(crate) fn lent_slots(&self) -> u64 {
        let lends = |attempt: &&AttemptRow| self.takes_slot(attempt) && self.waits_for_owner(attempt);
        let lent = self.attempts.values().filter(lends).count();
        u64::try_from(lent).unwrap_or(u64::MAX).min(limits::LENT_SLOTS.max)
    }

    /// The attempt that asked, when it is there to hear of it.
    fn asker(&self, row: &RequestRow) -> Option<&AttemptRow> {
        let attempt = self.attempts.get(&row.attempt)?;
        let listens = attempt.report.is_none() && attempt.ended_at.is_none() && attempt.generation == self.generation;
        listens.then_some(attempt)
    }

    /// Requests of a task without an attempt that no attempt has heard the end of: what asked has done nothing yet.
    pub(crate) fn unheard(&self, task: TaskId) -> Vec<u32> {
        let unheard = |row: &&RequestRow| match row.state {
            RequestState::Open => true,
            RequestState::Answered | RequestState::Expired => row.attempt == NOBODY,
            RequestState::Withdrawn => false,
        };
        self.requests.of(task).filter(unheard).map(|row| row.number).collect()
    }

    /// A request of an unsettled task.
    #[must_use]
    pub fn request(&self, task: TaskId, number: u32) -> Option<&RequestRow> {
        self.requests.rows.get(&(task, number))
    }
}

impl Draft<'_> {
    /// An attempt asks its owner. It is recorded already that it does.
    pub(crate) fn asked(&mut self, attempt: &AttemptRow, new: NewRequest) {
        let (task, number) = (attempt.task, new.number);
        let phase = self.core.pool.workers.get(&attempt.worker).map(|worker| worker.phase);
        let known = self.core.request(task, number).copied().filter(|row| row.digest == new.digest);
        if let Some(row) = known.filter(|row| matches!(row.state, RequestState::Answered | RequestState::Expired)) {
            // From now on it is this attempt that is told, also after a reload.
            self.put(Change::Request { row: RequestRow { attempt: attempt.id, ..row }, answer: None });
            return self.tell_answer(attempt, number);
        }
        // Who is to end asks nothing more.
        let may_ask = matches!(phase, Some(Phase::Busy { deadline: None, .. }));
        let Some(about) = self.running_task(attempt).filter(|task| may_ask && task.cancel.is_none()) else {
            return self.tell_answer(attempt, number);
        };
        self.pass_over(attempt, number);
        if let Some(row) = known.filter(RequestRow::is_open) {
            return self.put(Change::Request { row: RequestRow { attempt: attempt.id, ..row }, answer: None });
        }
        let asked = u64::try_from(self.core.requests.of(task).count()).unwrap_or(u64::MAX);
        if asked >= limits::REQUESTS_PER_TASK.max && self.core.request(task, number).is_none() {
            return self.tell_answer(attempt, number);
        }
        let wait = self.core.settings.request_timeout;
        let row = RequestRow {
            task,
            number,
            attempt: attempt.id,
            kind: new.kind,
            digest: new.digest,
            state: RequestState::Open,
            asked_at: self.stamp.wall,
            expires_at: wait.map(|wait| self.stamp.wall.plus(wait)),
            closed_at: None,
        };
        self.put(Change::Requested { row: Box::new(row), content: new.content });
        if let Some(wait) = wait {
            self.core.requests.deadlines.insert(row.key(), self.stamp.boot.plus(wait));
        }
        let event = Event::RequestOpened { request: number, kind: new.kind, expires_at: row.expires_at };
        self.event(Some((about.id, about.number)), event);
    }

    /// What an attempt before asked, and this one does without: it has gone on to another call.
    fn pass_over(&mut self, attempt: &AttemptRow, number: u32) {
        let passed = |row: &&RequestRow| row.is_open() && row.attempt != attempt.id && row.number != number;
        let passed: Vec<RequestRow> = self.core.requests.of(attempt.task).filter(passed).copied().collect();
        for row in passed {
            self.close(row, RequestState::Withdrawn);
        }
    }

    /// What the owner does about requests and rules.
    pub fn request_input(&mut self, input: RequestInput) {
        match input {
            RequestInput::Answer { request, task, number, digest, answer, rule } => {
                self.answer_request(request, (task, number), digest, answer, rule);
            }
            RequestInput::RemoveRule { request, rule } => {
                if !self.core.requests.rules.contains_key(&rule) {
                    return self.refuse(request, Refusal::UnknownRule);
                }
                self.put(Change::RuleRemoved(rule));
                self.reply(request, Reply::Done);
            }
        }
    }

    fn answer_request(
        &mut self,
        request: RequestId,
        key: RequestKey,
        digest: KeyHash,
        answer: Arc<[u8]>,
        rule: Option<NewRule>,
    ) {
        let open = self.core.requests.rows.get(&key).filter(|row| row.is_open() && row.digest == digest).copied();
        let Some(row) = open else { return self.refuse(request, Refusal::RequestClosed) };
        let rules = u64::try_from(self.core.requests.rules.len()).unwrap_or(u64::MAX);
        if rule.is_some() && rules >= limits::RULES.max {
            return self.refuse(request, Refusal::TooManyRules { max: limits::RULES.max });
        }
        let made = rule.as_ref().map(|_| self.core.requests.next_rule.max(RuleId::new(1)));
        if let (Some(rule), Some(id)) = (rule, made) {
            let row = RuleRow { id, rule, created_at: self.stamp.wall, from: key };
            self.put(Change::RuleAdded(Box::new(row)));
        }
        let attempt = self.core.asker(&row).map_or(NOBODY, |attempt| attempt.id);
        let closed = RequestRow { attempt, state: RequestState::Answered, closed_at: Some(self.stamp.wall), ..row };
        self.put(Change::Request { row: closed, answer: Some(answer) });
        let about = self.about_task(key.0);
        self.event(about, Event::RequestAnswered { request: key.1, rule: made });
        self.tell_asker(&closed);
        self.reply(request, Reply::Done);
    }

    /// Ends a request without an answer.
    fn close(&mut self, row: RequestRow, state: RequestState) {
        let attempt = self.core.asker(&row).map_or(NOBODY, |attempt| attempt.id);
        let closed = RequestRow { attempt, state, closed_at: Some(self.stamp.wall), ..row };
        self.put(Change::Request { row: closed, answer: None });
        let about = self.about_task(row.task);
        self.event(about, Event::RequestClosed { request: row.number, state });
    }

    /// Nobody can answer what a task asked any more: it is to end, or has.
    pub(crate) fn withdraw_requests(&mut self, task: TaskId) {
        let open: Vec<RequestRow> = self.core.requests.of(task).filter(|row| row.is_open()).copied().collect();
        for row in open {
            self.close(row, RequestState::Withdrawn);
        }
    }

    /// The turn that asks is stopped.
    pub(crate) fn withdraw_open(&mut self, task: TaskId) {
        let open: Vec<u32> = self.core.requests.of(task).filter(|row| row.is_open()).map(|row| row.number).collect();
        for number in open {
            self.withdraw_request(task, number);
        }
    }

    /// The call that asks this is cancelled.
    pub(crate) fn withdraw_request(&mut self, task: TaskId, number: u32) {
        if let Some(row) = self.core.request(task, number).filter(|row| row.is_open()).copied() {
            self.close(row, RequestState::Withdrawn);
            self.tell_asker(&row);
        }
    }

    /// The rules that were for a task only go with it.
    pub(crate) fn drop_rules_of(&mut self, task: TaskId) {
        let of_task = self.core.requests.rules.iter().filter(|(_, of)| **of == Some(task)).map(|(id, _)| *id);
        for rule in of_task.collect::<Vec<RuleId>>() {
            self.put(Change::RuleRemoved(rule));
        }
    }

    /// Ends requests whose time is over.
    pub(crate) fn expire_requests(&mut self) {
        let now = self.stamp.boot;
        let due: Vec<RequestKey> =
            self.core.requests.deadlines.iter().filter(|(_, at)| **at <= now).map(|(key, _)| *key).collect();
        for key in due {
            if let Some(row) = self.core.requests.rows.get(&key).filter(|row| row.is_open()).copied() {
                self.close(row, RequestState::Expired);
                self.tell_asker(&row);
            }
            self.core.requests.deadlines.remove(&key);
        }
    }

    /// At the begin of a life, and after the state was loaded again: the time that is left is counted from now on, by the clock of
    /// this boot. The wall clock tells how much that is, since nothing else knows how long nobody was here.
    pub(crate) fn time_requests(&mut self) {
        let (wall, boot) = (self.stamp.wall, self.stamp.boot);
        let left = |row: &RequestRow| {
            let until = row.expires_at.filter(|_| row.is_open())?;
            let whole = until.since(row.asked_at);
            Some((row.key(), boot.plus(until.since(wall).min(whole))))
        };
        self.core.requests.deadlines = self.core.requests.rows.values().filter_map(left).collect();
    }

    /// Tells an attempt that goes on after a reload what it asked last and may not have heard.
    pub(crate) fn tell_again(&mut self, attempt: &AttemptRow) {
        let asked = self.core.requests.of(attempt.task).rfind(|row| row.attempt == attempt.id);
        if let Some(row) = asked.filter(|row| !row.is_open()).copied() {
            self.tell_answer(attempt, row.number);
        }
    }

    /// Tells the attempt that asked, when it is there.
    fn tell_asker(&mut self, row: &RequestRow) {
        if let Some(attempt) = self.core.asker(row).cloned() {
            self.tell_answer(&attempt, row.number);
        }
    }

    /// What it is told is what is recorded: an answer, that the time is over, or that there is nobody to ask.
    fn tell_answer(&mut self, attempt: &AttemptRow, number: u32) {
        let (worker, id, task): (WorkerId, _, _) = (attempt.worker, attempt.id, attempt.task);
        self.then(Effect::Answered { worker, attempt: id, task, number });
    }

    fn about_task(&self, task: TaskId) -> Option<(TaskId, TaskNumber)> {
        self.core.task(task).map(|task| (task.id, task.number))
    }
}

/// The time that a request may wait, from a setting in which zero is no bound.
#[must_use]
pub const fn request_timeout(setting: Millis) -> Option<Millis> {
    if setting.get() == 0 { None } else { Some(setting) }
}
