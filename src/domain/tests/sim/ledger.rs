//! What must hold for every decision about money.

use crate::gateway::Call;
use crate::world::World;
use ouroboros_domain::{
    Change, Effect, Input, Limits, MoneyInput, Park, SendAnswer, SendRow, Spent, Tally, WorkerEvent,
};
use ouroboros_proto::kind::{Allowance, LimitScope, NanoDollars, Requeue, SendId, SendState, TaskId};

/// What a row counts, said once more: what is settled at its cost, everything else that may have cost at its bound.
pub fn worth(row: &SendRow) -> Tally {
    let known = row.receipt.as_ref().and_then(|receipt| receipt.cost).map(|cost| cost.amount);
    let mut worth = Tally::default();
    match row.state {
        SendState::Reserved | SendState::Dispatched => worth.open = row.bound,
        SendState::Unresolved => worth.unresolved = row.bound,
        SendState::Settled if known.is_none() => worth.unresolved = row.bound,
        SendState::Settled => worth.settled = known.unwrap_or_default(),
        SendState::Released => {}
    }
    worth
}

/// What these rows count against a limit.
pub fn against<'rows>(rows: impl Iterator<Item = &'rows SendRow>) -> NanoDollars {
    let all = rows.map(worth).map(|worth| worth.settled.get() + worth.open.get() + worth.unresolved.get());
    NanoDollars::new(all.sum())
}

impl World {
    /// Something is set aside: it fits every limit in force, and its task may send.
    pub fn judge_send(&mut self, row: &SendRow) {
        if row.state != SendState::Reserved {
            return;
        }
        let Some(server) = self.server.as_ref() else { return };
        let limits = server.core.settings().limits;
        let current = row.generation == server.generation;
        let Some(task) = self.disk.staged.tasks.get(&row.task).cloned() else {
            return self.fail(format!("{} is of a task that does not exist", row.id));
        };
        let own = task.policy.max_cost;
        let limits = Limits { task: if let Some(Allowance(own)) = own { own } else { limits.task }, ..limits };
        let now = Spent::minute(self.wall());
        let sum = |counts: &dyn Fn(&SendRow) -> bool| {
            against(self.disk.staged.sends.values().filter(|row| counts(row))).saturating_add(row.bound)
        };
        let free = row.bound == NanoDollars::default();
        let over: Vec<LimitScope> = LimitScope::ALL
            .into_iter()
            .filter(|scope| {
                let sum: NanoDollars = match scope {
                    LimitScope::Total => sum(&|_| true),
                    LimitScope::Tree => sum(&|other| other.root == row.root),
                    LimitScope::Task => sum(&|other| other.task == row.task),
                    LimitScope::Hour if self.client.clock_jumped => return false,
                    LimitScope::Hour => sum(&|other| Spent::minute(other.reserved_at) >= now - 60),
                };
                limits.of(*scope).is_some_and(|limit| sum > limit)
            })
            .collect();
        if free && !over.is_empty() {
            self.mark("sent for nothing");
        }
        self.check(free || over.is_empty(), || {
            format!("{} is set aside beyond the limits {over:?}: {limits:?}", row.id)
        });
        if !free {
            self.judge_order(row, limits);
        }
        self.gateway.line.retain(|send| *send != row.id);
        let attempt = self.disk.staged.attempts.get(&row.attempt);
        let runs = attempt.is_some_and(|attempt| attempt.report.is_none() && attempt.ended_at.is_none())
            && task.state == ouroboros_domain::TaskState::Running { attempt: row.attempt }
            && task.cancel.is_none();
        self.check(runs && current, || format!("{} is set aside for what does not run: {task:?}", row.id));
        let may = match task.park.as_deref() {
            Some(Park::Pausing(_) | Park::Paused(_)) => false,
            Some(Park::Waiting(wait)) => wait.attempt < task.attempts,
            Some(Park::Granted(_)) | None => true,
        };
        self.check(may, || format!("{} is set aside while its task has {:?}", row.id, task.park));
        let asked = self.gateway.calls.get(&row.id).map_or(self.elapsed, |call| call.asked_at);
        if asked + 100_000 < self.elapsed {
            self.mark("reservation waited");
        }
    }

    /// Nobody who asked before it still waits for a limit that both have.
    fn judge_order(&mut self, row: &SendRow, limits: Limits) {
        let one_limit = limits.tree.is_none() && limits.task.is_none();
        let tasks = &self.disk.staged.tasks;
        let task_of = |send: &SendId| self.gateway.calls.get(send).map(|call| call.task);
        let capped = |task: TaskId| tasks.get(&task).is_some_and(|task| task.policy.max_cost.is_some());
        let before = self.gateway.line.iter().take_while(|send| **send != row.id);
        let overtaken = before
            .copied()
            .find(|send| task_of(send).is_some_and(|task| task == row.task || one_limit && !capped(task)));
        self.check(overtaken.is_none(), || format!("{} overtakes {overtaken:?}", row.id));
    }

    /// Who stands in line for money, in the order in which the core heard of them.
    pub fn note_line(&mut self, input: &Input) {
        match input {
            Input::Money(MoneyInput::Reserve(reservation)) => {
                let send = reservation.send;
                let known = self.disk.staged.sends.contains_key(&send) || self.gateway.line.contains(&send);
                if !known {
                    self.gateway.line.push(send);
                }
            }
            Input::Money(MoneyInput::Withdraw { send }) => self.gateway.line.retain(|other| other != send),
            Input::Worker { worker, event: WorkerEvent::Gone { .. } } => {
                let calls = &self.gateway.calls;
                self.gateway.line.retain(|send| calls.get(send).is_some_and(|call| call.key.1 != *worker));
            }
            Input::Boot(_) => self.gateway.line.clear(),
            _ => {}
        }
    }

    /// Who is turned down has left the line.
    pub fn note_answers(&mut self, effects: &[Effect]) {
        for effect in effects {
            if let Effect::Answer { send, answer } = effect
                && *answer != SendAnswer::Admitted
            {
                self.gateway.line.retain(|other| other != send);
            }
        }
    }

    /// What costs nothing is answered at once.
    pub fn judge_free(&mut self) {
        let free =
            |send: &&SendId| self.gateway.calls.get(send).is_some_and(|call| call.bound == NanoDollars::default());
        let waits = self.gateway.line.iter().find(free).copied();
        self.check(waits.is_none(), || format!("{waits:?} costs nothing and waits for money"));
    }

    /// What was said later about a send that was given up, or whose answer did not say its cost, is believed, however fresh that is.
    pub fn judge_late(&mut self, late: Option<(SendId, bool)>) {
        let row = late.and_then(|(send, says)| Some((self.disk.staged.sends.get(&send)?, says)));
        let ignored = row.is_some_and(|(row, says)| {
            row.state == SendState::Unresolved || says && row.state == SendState::Settled && row.is_of_unknown_cost()
        });
        self.check(!ignored, || format!("the late receipt of {late:?} is ignored"));
    }

    /// A grant that admitted something is used up in the same decision; the next life voids those that did not.
    pub fn judge_grants(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Send(row) if row.state == SendState::Reserved => {
                    let task = self.disk.staged.tasks.get(&row.task);
                    let left = task.is_some_and(has_grant);
                    self.check(!left, || format!("{} left its task's grant as it was", row.id));
                    let used = changes
                        .iter()
                        .any(|change| matches!(change, Change::Task(task) if task.id == row.task && !has_grant(task)));
                    if used {
                        self.mark("grant used up");
                    }
                }
                Change::Generation(_) => {
                    let granted =
                        |task: &&ouroboros_domain::TaskRow| !crate::image::is_settled(task) && has_grant(task);
                    let left = self.disk.staged.tasks.values().find(granted).map(|task| task.number);
                    self.check(left.is_none(), || format!("the grant of {left:?} outlives its life"));
                    let open = |row: &&SendRow| row.state.is_open();
                    let open = self.disk.staged.sends.values().find(open).map(|row| row.id);
                    self.check(open.is_none(), || format!("{open:?} is open in a life that did not send it"));
                }
                Change::Event(row) => {
                    let queued = changes.iter().any(|change| matches!(change, Change::Generation(_)));
                    if queued && matches!(row.event, ouroboros_proto::kind::Event::Paused { .. }) {
                        self.mark("grant void");
                    }
                }
                _ => {}
            }
        }
    }

    /// A task that was parked says what it waits for.
    pub fn judge_requeue(&mut self, task: Option<TaskId>, why: Requeue) {
        let Some(row) = task.and_then(|task| self.disk.staged.tasks.get(&task)) else { return };
        let (number, park) = (row.number, row.park.clone());
        let parked = matches!(park.as_deref(), Some(Park::Paused(_) | Park::Waiting(_)));
        self.check(why != Requeue::Parked || parked, || format!("task {number} is parked for nothing: {park:?}"));
        let pausing = matches!(park.as_deref(), Some(Park::Pausing(_)));
        self.check(!pausing, || format!("task {number} is queued and still pausing"));
    }

    /// An answer that tells a worker to leave: its task's row says why, durably.
    pub fn check_parked(&mut self, task: TaskId, send: SendId) {
        let row = self.disk.synced.tasks.get(&task);
        let parked = row.is_none_or(|row| row.park.is_some() || crate::image::is_settled(row));
        self.check(parked, || format!("the call of {send} is told to wait before it is stored"));
    }

    /// What may be sent is set aside, durably, by this life.
    pub fn check_set_aside(&mut self, send: SendId, call: &Call) {
        let current = self.server.as_ref().map(|server| server.generation);
        let row = self.disk.synced.sends.get(&send).cloned();
        let good = row.as_ref().is_some_and(|row| {
            row.state == SendState::Reserved
                && Some(row.generation) == current
                && row.bound == call.bound
                && (row.attempt, row.call, row.ordinal) == (call.attempt, call.call, call.ordinal)
        });
        self.check(good, || format!("{send} may be sent, but stored is {row:?}"));
    }
}

/// Whether the owner let a task go on, and nothing has used that up.
fn has_grant(task: &ouroboros_domain::TaskRow) -> bool {
    match task.park.as_deref() {
        Some(Park::Granted(_)) => true,
        Some(Park::Waiting(wait)) => wait.grant.is_some(),
        Some(Park::Pausing(_) | Park::Paused(_)) | None => false,
    }
}
