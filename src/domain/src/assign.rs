//! Which task starts next, and whether it may: a predicate of named terms.

use crate::Core;
use crate::change::Change;
use crate::draft::Draft;
use crate::effect::Effect;
use crate::pool::Phase;
use crate::row::{AttemptRow, TaskRow, TaskState};
use ouroboros_proto::kind::{Event, Isolation, TaskId};

/// One condition of starting a task. All must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Term {
    /// The server is not ending.
    NotStopping,
    /// The queue is not held.
    QueueReleased,
    /// The task is queued.
    Queued,
    /// The task is not held.
    NotHeld,
    /// It does not wait for its owner to let it spend more.
    NotPaused,
    /// Its delay is over.
    DelayOver,
    /// The tasks it comes after have completed.
    DependenciesMet,
    /// No cancel was asked for.
    NotCancelled,
    /// A slot is free.
    SlotFree,
    /// It need not run alone, or nothing else runs; and nothing runs that must be alone.
    AloneIfNeeded,
    /// No task is at work where it acts, and none that came before it waits to be.
    WorkspaceFree,
    /// A worker is ready for its isolation.
    WorkerReady,
}

impl Core {
    /// The terms that keep `task` from starting now; empty when it may.
    #[must_use]
    pub fn obstacles(&self, task: TaskId) -> Vec<Term> {
        let Some(row) = self.unsettled(task) else { return vec![Term::Queued] };
        let terms = [
            (Term::NotStopping, self.shutdown.is_none()),
            (Term::QueueReleased, self.queue_hold.is_none()),
            (Term::Queued, row.state == TaskState::Queued),
            (Term::NotHeld, row.hold.is_none()),
            (Term::NotPaused, !row.park.as_ref().is_some_and(|park| park.is_paused())),
            (Term::DelayOver, !self.queue.is_delayed(task)),
            (Term::DependenciesMet, !self.queue.is_blocked(task)),
            (Term::NotCancelled, row.cancel.is_none()),
            (Term::SlotFree, !row.kind.takes_slot() || self.free_slots() > 0),
            (Term::AloneIfNeeded, self.may_join(row)),
            (Term::WorkspaceFree, self.queue.workspace_obstacle(row).is_none()),
            (Term::WorkerReady, self.pool.ready(self.isolation(row.policy.isolation)).is_some()),
        ];
        terms.into_iter().filter(|(_, holds)| !holds).map(|(term, _)| term).collect()
    }

    /// Slots without an attempt. An attempt holds its slot until its tree is proven gone; while it waits for its owner it is lent.
    /// When those that lent theirs go on there may be more at work than there are slots, until that many have ended.
    #[must_use]
    pub fn free_slots(&self) -> u32 {
        let takes_slot = |attempt: &&AttemptRow| self.takes_slot(attempt);
        let taken = u64::try_from(self.attempts.values().filter(takes_slot).count()).unwrap_or(u64::MAX);
        let busy = u32::try_from(taken.saturating_sub(self.lent_slots())).unwrap_or(u32::MAX);
        self.settings.slots.saturating_sub(busy)
    }

    /// Whether an attempt holds a slot. One whose task has settled does, until its tree is proven gone.
    pub(crate) fn takes_slot(&self, attempt: &AttemptRow) -> bool {
        self.task(attempt.task).is_none_or(|task| task.kind.takes_slot())
    }

    /// Where an attempt that asks for `wanted` really runs here.
    pub(crate) fn isolation(&self, wanted: Isolation) -> Isolation {
        match wanted {
            Isolation::Namespace if self.namespaces => Isolation::Namespace,
            Isolation::Namespace | Isolation::Host => Isolation::Host,
        }
    }

    /// Attempts that cannot be ended are not waited for: they have given their slots up, perhaps for ever.
    fn may_join(&self, row: &TaskRow) -> bool {
        let counts = |attempt: &&AttemptRow| !self.is_given_up(attempt) && self.takes_slot(attempt);
        let mut beside = self.attempts.values().filter(counts).peekable();
        if !row.kind.takes_slot() {
            return true;
        }
        if beside.peek().is_none() {
            return true;
        }
        let alone = |attempt: &AttemptRow| self.unsettled(attempt.task).is_some_and(TaskRow::must_run_alone);
        !row.must_run_alone() && !beside.any(alone)
    }

    fn is_given_up(&self, attempt: &AttemptRow) -> bool {
        if attempt.generation == self.generation {
            let worker = self.pool.workers.get(&attempt.worker);
            return worker.is_some_and(|worker| worker.phase == Phase::Wedged { attempt: Some(attempt.id) });
        }
        let mut survivors = self.survivors.keys().filter_map(|process| self.processes.get(process));
        survivors.any(|process| process.generation == attempt.generation && process.worker == attempt.worker)
    }
}

impl Draft<'_> {
    /// Starts tasks in order while they may start. The first that may not stops the rest: order is a promise. Who waits for a folder
    /// is no part of that order until its turn there comes. Money is no condition: what
    /// a task needs is known when it has chosen a route, and one that costs nothing is never held back.
    pub fn assign(&mut self) {
        while let Some(task) = self.core.queue.first() {
            if !self.core.obstacles(task).is_empty() {
                return;
            }
            let Some(row) = self.core.unsettled(task).cloned() else { return };
            let isolation = self.core.isolation(row.policy.isolation);
            let Some(worker) = self.core.pool.ready(isolation) else { return };
            let attempt = AttemptRow {
                id: self.mint_attempt(),
                task,
                ordinal: row.attempts.saturating_add(1),
                generation: self.core.generation,
                worker,
                started_at: self.stamp.wall,
                isolation,
                released: false,
                delivered: false,
                sequence: 0,
                report: None,
                ended_at: None,
                workspace: row.workspace.clone(),
            };
            let (id, ordinal, timeout) = (attempt.id, attempt.ordinal, row.policy.timeout);
            let inherited = row.inherited;
            let about = (row.id, row.number);
            self.core.pool.assigned(worker, id);
            self.put(Change::Attempt(Box::new(attempt)));
            self.put_task(TaskRow {
                state: TaskState::Running { attempt: id },
                attempts: ordinal,
                not_before: None,
                ..row
            });
            self.event(Some(about), Event::Started { attempt: id, ordinal });
            let unheard = self.core.unheard(task);
            self.then(Effect::Assign { worker, attempt: id, ordinal, task, timeout, inherited, unheard });
        }
    }
}
