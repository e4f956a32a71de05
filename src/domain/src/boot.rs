//! The begin of a life, and the same after the state was loaded again: workers that live are taken over, everything else of
//! earlier lives is ended by identity, and what it was doing is settled once that is proven.

use crate::change::Change;
use crate::draft::Draft;
use crate::effect::Effect;
use crate::input::{Boot, Living};
use crate::pool::{Phase, Worker};
use crate::row::{AttemptRow, ProcessRow, TaskState};
use crate::settle::Loss;
use ouroboros_proto::kind::{AttemptId, Event, Role};

impl Draft<'_> {
    /// Begins.
    pub fn boot(&mut self, boot: Boot) {
        self.core.start(&boot);
        if boot.generation != self.core.generation {
            self.put(Change::Generation(boot.generation));
            self.event(None, Event::ServerStarted { generation: boot.generation.get() });
            self.give_up_lost_sends();
            self.void_grants();
        }
        self.time_requests();
        if boot.hold.is_some() {
            self.hold_queue(boot.hold);
        }
        for living in boot.living {
            self.take_over(living);
        }
        if boot.disown {
            let strangers: Vec<_> = self.core.processes.keys().copied().collect();
            for process in strangers {
                self.put(Change::ProcessGone(process));
            }
        }
        self.reap_dead_generations();
        self.settle_orphaned();
        self.close_lost_attempts();
    }

    fn take_over(&mut self, living: Living) {
        let attempt = living.attempt.filter(|attempt| self.core.attempts.contains_key(attempt));
        let deadline = self.stamp.boot.plus(self.core.settings.ready_bound);
        let phase = match (attempt, living.attempt, living.ready) {
            (Some(attempt), _, _) => Phase::Busy { attempt, deadline: None },
            (None, Some(_), _) => Phase::Ending { attempt: None },
            (None, None, true) => Phase::Ready,
            (None, None, false) => Phase::Starting { deadline },
        };
        let process = Some(living.process);
        let ready_at = living.ready.then_some(self.stamp.boot);
        self.core.pool.adopt(
            living.worker,
            Worker { isolation: living.isolation, process, greeted: living.ready, ready_at, phase },
        );
        if !self.core.processes.contains_key(&living.process) {
            self.put(Change::Process(Box::new(ProcessRow {
                id: living.process,
                identity: living.identity,
                role: Role::Worker,
                generation: self.core.generation,
                worker: living.worker,
                attempt: None,
                command: "ouroboros-worker".into(),
                recorded_at: self.stamp.wall,
            })));
        }
        match phase {
            Phase::Busy { attempt, .. } => self.resume(attempt),
            Phase::Ending { .. } => self.then(Effect::EndWorker { worker: living.worker }),
            Phase::Starting { .. } | Phase::Ready | Phase::Leaving { .. } | Phase::Wedged { .. } => {}
        }
    }

    /// Goes on with an attempt whose worker lived through a reload: what it reported may be lost, what it was told too.
    fn resume(&mut self, attempt: AttemptId) {
        let Some(row) = self.core.attempts.get(&attempt).cloned() else { return };
        let (worker, task) = (row.worker, self.core.unsettled(row.task).cloned());
        if row.report.is_some() {
            let deadline = self.stamp.boot.plus(crate::pool::LEAVE_BOUND);
            self.core.pool.set(worker, Phase::Leaving { attempt, deadline });
            return self.then(Effect::Acknowledge { worker, attempt, sequence: row.sequence });
        }
        self.then(Effect::Resend { worker, attempt, after: row.sequence });
        self.tell_again(&row);
        let intent = task.and_then(|task| task.cancel);
        let may_run = row.released && intent.is_none() && !self.core.is_cutting_short();
        let released: Vec<_> = self
            .core
            .processes
            .values()
            .filter(|process| process.attempt == Some(attempt) && may_run)
            .map(|process| process.id)
            .collect();
        for process in released {
            self.then(Effect::Release { worker, attempt, process });
        }
        if let Some(intent) = intent {
            self.stop_worker(worker, intent.grace);
        }
        if self.core.waiting_messages(row.task) > 0 {
            self.then(Effect::Tell { worker, attempt, task: row.task });
        }
    }

    fn reap_dead_generations(&mut self) {
        let generation = self.core.generation;
        let dead: Vec<_> = self
            .core
            .processes
            .values()
            .filter(|process| process.generation < generation && !self.follows_its_worker(process))
            .map(|process| process.id)
            .collect();
        for process in dead {
            self.reap(process);
        }
    }

    /// Attempts of this generation without a living worker: their worker ended while the state was being loaded.
    fn close_lost_attempts(&mut self) {
        let generation = self.core.generation;
        let lost: Vec<AttemptRow> = self
            .core
            .attempts
            .values()
            .filter(|row| row.generation == generation && self.core.pool.worker_of(row.id).is_none())
            .cloned()
            .collect();
        for attempt in lost {
            self.close_attempt(&attempt, Loss::Interrupted);
        }
        let stray: Vec<_> = self
            .core
            .tasks
            .values()
            .filter(|task| match task.state {
                TaskState::Running { attempt } => !self.core.attempts.contains_key(&attempt),
                TaskState::Queued | TaskState::Settled { .. } => false,
            })
            .map(|task| (**task).clone())
            .collect();
        // A running task whose attempt row could not be read: what it did is not known.
        for task in stray {
            let outcome = ouroboros_proto::kind::Outcome::Failed(ouroboros_proto::kind::Failure::Interrupted);
            self.settle(task, outcome, None);
        }
    }
}
