//! Setting aside what a send can cost, before it is sent.
//!
//! Asked in order: who waits because of a limit is not overtaken by another that the same limit holds back. What costs nothing is held
//! back by no limit and waits behind nobody.

use super::park::{stops_sending, used_up};
use super::{Fit, SendAnswer};
use crate::change::Change;
use crate::draft::Draft;
use crate::effect::Effect;
use crate::money::row::{PriceBasis, SendRow};
use crate::pool::Phase;
use crate::row::{AttemptRow, TaskRow};
use ouroboros_proto::kind::{
    AttemptId, Event, LimitScope, NanoDollars, SendId, SendState, TaskId, WaitReason, WorkerId,
};
use std::collections::BTreeSet;

/// What is to be set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// The send. Asking again for the same one gives the same answer.
    pub send: SendId,
    /// The worker that asks.
    pub worker: WorkerId,
    /// Its attempt.
    pub attempt: AttemptId,
    /// The call of the attempt, counted from 1.
    pub call: u32,
    /// Which send of the call, counted from 1.
    pub ordinal: u32,
    /// The route it takes.
    pub route: Box<str>,
    /// What it can cost at most.
    pub bound: NanoDollars,
    /// Where the bound comes from.
    pub basis: PriceBasis,
}

impl Draft<'_> {
    /// Somebody wants to send.
    pub(super) fn reserve(&mut self, reservation: Reservation) {
        if self.core.ledger.open.contains_key(&reservation.send) {
            return self.answer(reservation.send, SendAnswer::Admitted);
        }
        // Who asks again keeps its place.
        if !self.core.ledger.waiting.iter().any(|waiting| waiting.send == reservation.send) {
            self.core.ledger.waiting.push_back(reservation);
        }
        self.admit_waiting();
    }

    /// Sets aside for those who wait and fit now; turns down those who never will.
    pub(crate) fn admit_waiting(&mut self) {
        if self.core.ledger.waiting.is_empty() {
            return;
        }
        let mut full = BTreeSet::new();
        for reservation in std::mem::take(&mut self.core.ledger.waiting) {
            let Some((attempt, task)) = self.may_send(&reservation) else {
                self.answer(reservation.send, SendAnswer::Ending);
                continue;
            };
            if let Some(answer) = stops_sending(&task) {
                self.answer(reservation.send, answer);
                continue;
            }
            let keys = [Full::Total, Full::Tree(task.root), Full::Task(task.id)];
            let free = reservation.bound == NanoDollars::default();
            match self.fit(&task, reservation.bound) {
                _ if !free && keys.iter().any(|key| full.contains(key)) => {
                    self.core.ledger.waiting.push_back(reservation);
                }
                Fit::Fits => self.set_aside(&reservation, attempt, task),
                Fit::Later(scope) => {
                    full.insert(match scope {
                        LimitScope::Total | LimitScope::Hour => Full::Total,
                        LimitScope::Tree => Full::Tree(task.root),
                        LimitScope::Task => Full::Task(task.id),
                    });
                    self.core.ledger.waiting.push_back(reservation);
                }
                Fit::HourFull(until) => {
                    let wait = self.wait_until(task, WaitReason::HourLimit, until);
                    self.answer(reservation.send, wait);
                }
                Fit::Exhausted(limit) => {
                    self.begin_pause(task, limit);
                    self.answer(reservation.send, SendAnswer::Paused(limit));
                }
            }
        }
    }

    pub(crate) fn fit(&self, task: &TaskRow, bound: NanoDollars) -> Fit {
        self.core.ledger.fit(self.core.limits(task), task.id, task.root, bound, self.stamp.wall)
    }

    /// The attempt and task of a reservation, while they may go on.
    fn may_send(&self, reservation: &Reservation) -> Option<(AttemptRow, TaskRow)> {
        let attempt = self.core.attempts.get(&reservation.attempt)?;
        let current = attempt.generation == self.core.generation && attempt.worker == reservation.worker;
        let phase = self.core.pool.workers.get(&reservation.worker).map(|worker| worker.phase);
        let going_on = matches!(phase, Some(Phase::Busy { attempt, deadline: None }) if attempt == reservation.attempt);
        let task = self.running_task(attempt).filter(|task| task.cancel.is_none())?;
        (current && going_on && attempt.report.is_none()).then(|| (attempt.clone(), task))
    }

    fn set_aside(&mut self, reservation: &Reservation, attempt: AttemptRow, task: TaskRow) {
        let now = self.stamp.wall;
        let limits = self.core.limits(&task);
        let before = self.core.ledger.standing(task.id, task.root, now);
        self.put(Change::Send(Box::new(SendRow {
            id: reservation.send,
            task: task.id,
            number: task.number,
            root: task.root,
            attempt: attempt.id,
            call: reservation.call,
            ordinal: reservation.ordinal,
            route: reservation.route.clone(),
            generation: self.core.generation,
            state: SendState::Reserved,
            bound: reservation.bound,
            basis: reservation.basis,
            limit: limits.total,
            reserved_at: now,
            ended_at: None,
            receipt: None,
            late: false,
        })));
        if !attempt.released {
            self.put(Change::Attempt(Box::new(AttemptRow { released: true, ..attempt })));
        }
        let about = (task.id, task.number);
        for (limit, spent, of) in self.core.ledger.crossed(&before, limits, task.id, task.root, now) {
            self.event(Some(about), Event::LimitNear { limit, spent, of });
        }
        // A grant is used up in the commit that sets the money aside.
        let park = used_up(task.park.clone());
        if park != task.park {
            self.put_task(TaskRow { park, ..task });
        }
        self.answer(reservation.send, SendAnswer::Admitted);
    }

    pub(crate) fn answer(&mut self, send: SendId, answer: SendAnswer) {
        self.then(Effect::Answer { send, answer });
    }
}

/// A limit that somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Full {
    Total,
    Tree(TaskId),
    Task(TaskId),
}
