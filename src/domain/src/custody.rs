//! Facts about workers and processes: what they report, how they die, what is left of dead generations.

use crate::change::Change;
use crate::draft::Draft;
use crate::effect::Effect;
use crate::input::{KeptReport, Reap, WorkerEvent, WorkerExit, WorkerReport};
use crate::pool::{LEAVE_BOUND, Phase};
use crate::row::{AttemptRow, ProcessRow};
use crate::settle::{Disposition, Loss};
use ouroboros_proto::kind::{
    AttemptId, AttemptReport, Event, Failure, Generation, Identity, Millis, Outcome, ProcessId, Role, TaskId,
    TaskNumber, WorkerId,
};
use ouroboros_proto::limits;
use std::sync::Arc;

/// Time between two looks at a process of a dead generation that could not be ended.
const LOOK_AGAIN: Millis = Millis::seconds(60);

impl Draft<'_> {
    /// Something about a worker.
    pub fn worker(&mut self, worker: WorkerId, event: WorkerEvent) {
        if !self.core.pool.workers.contains_key(&worker) {
            return self.unknown_worker(worker, &event);
        }
        match event {
            WorkerEvent::Spawned { process, identity } => self.spawned(worker, process, identity),
            WorkerEvent::SpawnFailed => {
                let removed = self.core.pool.workers.remove(&worker);
                if removed.is_some_and(|worker| matches!(worker.phase, Phase::Starting { .. })) {
                    self.worker_died();
                }
            }
            WorkerEvent::Ready => {
                if let Some(worker) = self.core.pool.workers.get_mut(&worker) {
                    worker.greeted = true;
                }
                self.becomes_ready(worker);
            }
            WorkerEvent::Report { attempt, generation, sequence, report } => {
                let known = self.core.attempts.get(&attempt).cloned();
                let current = known.filter(|row| row.worker == worker && row.generation == generation);
                if let Some(row) = current
                    && generation == self.core.generation
                {
                    self.report(row, sequence, report);
                }
            }
            WorkerEvent::Unreadable { attempt } => self.unreadable(worker, attempt),
            WorkerEvent::Gone { exit, kept } => self.gone(worker, exit, kept),
            WorkerEvent::Wedged { survivors } => self.wedged(worker, survivors),
        }
    }

    /// A worker that was being started while the state was loaded again is in nobody's plan: it is ended and forgotten.
    fn unknown_worker(&mut self, worker: WorkerId, event: &WorkerEvent) {
        match event {
            WorkerEvent::Spawned { .. } => self.then(Effect::EndWorker { worker }),
            WorkerEvent::Gone { .. } => self.then(Effect::Dismiss { worker }),
            WorkerEvent::SpawnFailed
            | WorkerEvent::Ready
            | WorkerEvent::Report { .. }
            | WorkerEvent::Unreadable { .. }
            | WorkerEvent::Wedged { .. } => {}
        }
    }

    fn spawned(&mut self, worker: WorkerId, process: ProcessId, identity: Identity) {
        self.put(Change::Process(Box::new(ProcessRow {
            id: process,
            identity,
            role: Role::Worker,
            generation: self.core.generation,
            worker,
            attempt: None,
            command: "ouroboros-worker".into(),
            recorded_at: self.stamp.wall,
        })));
        if let Some(worker) = self.core.pool.workers.get_mut(&worker) {
            worker.process = Some(process);
        }
        self.becomes_ready(worker);
    }

    /// A worker takes work once it is recorded and has said hello.
    fn becomes_ready(&mut self, id: WorkerId) {
        let now = self.stamp.boot;
        if let Some(worker) = self.core.pool.workers.get_mut(&id)
            && worker.greeted
            && worker.process.is_some()
            && matches!(worker.phase, Phase::Starting { .. })
        {
            worker.phase = Phase::Ready;
            worker.ready_at = Some(now);
        }
    }

    fn report(&mut self, row: AttemptRow, sequence: u64, report: WorkerReport) {
        let (worker, attempt) = (row.worker, row.id);
        // After the end of an attempt nothing more of it is recorded.
        if sequence <= row.sequence || row.report.is_some() {
            return self.then(Effect::Acknowledge { worker, attempt, sequence: row.sequence });
        }
        if sequence > row.sequence.saturating_add(1) {
            return self.then(Effect::Resend { worker, attempt, after: row.sequence });
        }
        match report {
            WorkerReport::ProcessStarted { process, identity, command } => {
                self.process_started(AttemptRow { sequence, ..row }, process, identity, command);
            }
            WorkerReport::ProcessEnded { process } => {
                if self.core.processes.get(&process).is_some_and(|known| known.attempt == Some(attempt)) {
                    self.put(Change::ProcessGone(process));
                }
                self.put(Change::Attempt(Box::new(AttemptRow { sequence, ..row })));
            }
            WorkerReport::Entry(entry) => self.entry(AttemptRow { sequence, ..row }, entry),
            WorkerReport::Delivered(entry) => self.entry(AttemptRow { sequence, delivered: true, ..row }, entry),
            WorkerReport::Took { number, entry } => {
                let task = row.task;
                self.entry(AttemptRow { sequence, delivered: false, ..row }, entry);
                self.taken(task, number);
            }
            WorkerReport::Request(request) => {
                let row = AttemptRow { sequence, ..row };
                self.put(Change::Attempt(Box::new(row.clone())));
                self.then(Effect::Acknowledge { worker, attempt, sequence });
                self.asked(&row, request);
            }
            WorkerReport::Terminal(report) => {
                self.terminal(AttemptRow { sequence, ..row }, report);
                self.then(Effect::Acknowledge { worker, attempt, sequence });
            }
        }
    }

    /// Records more of a transcript.
    fn entry(&mut self, row: AttemptRow, entry: Arc<[u8]>) {
        let AttemptRow { worker, id: attempt, task, sequence, .. } = row;
        self.put(Change::Attempt(Box::new(row)));
        self.put(Change::Transcript { task, attempt, entry });
        self.then(Effect::Acknowledge { worker, attempt, sequence });
    }

    /// Records a process; it may run unless the attempt is to end.
    fn process_started(&mut self, row: AttemptRow, process: ProcessId, identity: Identity, command: Box<str>) {
        let (worker, attempt) = (row.worker, row.id);
        let phase = self.core.pool.workers.get(&worker).map(|worker| worker.phase);
        let recorded = self.core.processes.values().filter(|known| known.attempt == Some(attempt)).count();
        let room = u64::try_from(recorded).unwrap_or(u64::MAX) < limits::PROCESSES_PER_ATTEMPT.max;
        let may_run = room && matches!(phase, Some(Phase::Busy { deadline: None, .. }));
        let about = self.core.unsettled(row.task).map(|task| (task.id, task.number));
        self.put(Change::Process(Box::new(ProcessRow {
            id: process,
            identity: identity.clone(),
            role: Role::Tool,
            generation: row.generation,
            worker,
            attempt: Some(attempt),
            command,
            recorded_at: self.stamp.wall,
        })));
        let released = row.released || may_run;
        self.put(Change::Attempt(Box::new(AttemptRow { released, ..row })));
        if may_run {
            self.event(about, Event::ProcessStarted { attempt, identity });
            self.then(Effect::Release { worker, attempt, process });
        }
    }

    /// The end of an attempt: its task settles now, or goes back into the queue once the worker is gone.
    fn terminal(&mut self, row: AttemptRow, report: AttemptReport) {
        if row.report.is_some() {
            return;
        }
        let row = AttemptRow { report: Some(report), ..row };
        self.put(Change::Attempt(Box::new(row.clone())));
        // Numbers of workers start again with each generation: a kept report of a dead one is not about a worker of this one.
        if row.generation == self.core.generation {
            let deadline = self.stamp.boot.plus(LEAVE_BOUND);
            if let Some(Phase::Busy { .. }) = self.core.pool.workers.get(&row.worker).map(|worker| worker.phase) {
                self.core.pool.set(row.worker, Phase::Leaving { attempt: row.id, deadline });
            }
            self.worker_did_well();
        }
        if let Some(task) = self.running_task(&row)
            && let Disposition::Settle(outcome) = self.judge_report(&task, &row, &report)
        {
            self.settle(task, outcome, Some(report));
        }
    }

    /// A worker and everything it started is gone, and its socket is drained.
    fn gone(&mut self, id: WorkerId, exit: WorkerExit, kept: Option<KeptReport>) {
        let Some(worker) = self.core.pool.workers.remove(&id) else { return };
        self.core.ledger.waiting.retain(|waiting| waiting.worker != id);
        self.then(Effect::Dismiss { worker: id });
        let generation = self.core.generation;
        self.forget_processes(generation, id);
        let asked = matches!(worker.phase, Phase::Leaving { .. } | Phase::Ending { .. } | Phase::Wedged { .. })
            || matches!(worker.phase, Phase::Busy { deadline: Some(_), .. });
        let attempt = worker.phase.attempt().and_then(|attempt| self.core.attempts.get(&attempt).cloned());
        let Some(attempt) = attempt else {
            if !asked {
                self.worker_died();
            }
            return;
        };
        let attempt = self.with_kept(attempt, kept);
        if !asked && attempt.report.is_none() {
            self.worker_died();
        }
        let loss = match exit {
            _ if asked => Loss::Interrupted,
            WorkerExit::Code(_) => Loss::WorkerFault,
            WorkerExit::Signal(signal) if is_fault(signal) => Loss::WorkerFault,
            WorkerExit::Signal(_) => Loss::WorkerKilled,
        };
        self.close_attempt(&attempt, loss);
    }

    /// The attempt with the report that its worker could not deliver, when there is one.
    fn with_kept(&mut self, attempt: AttemptRow, kept: Option<KeptReport>) -> AttemptRow {
        match kept {
            Some(kept) if kept.attempt == attempt.id && attempt.report.is_none() => {
                let sequence = kept.sequence.max(attempt.sequence);
                self.terminal(AttemptRow { sequence, ..attempt.clone() }, kept.report);
                self.core.attempts.get(&kept.attempt).cloned().unwrap_or(AttemptRow {
                    sequence,
                    report: Some(kept.report),
                    ..attempt
                })
            }
            _ => attempt,
        }
    }

    /// A task whose specification cannot be read fails; its worker has nothing to do any more.
    fn unreadable(&mut self, worker: WorkerId, attempt: AttemptId) {
        let row = self.core.attempts.get(&attempt).filter(|row| row.worker == worker).cloned();
        if let Some(task) = row.and_then(|row| self.running_task(&row)) {
            self.settle(task, Outcome::Failed(Failure::Unreadable), None);
        }
        self.end_worker(worker);
    }

    fn wedged(&mut self, id: WorkerId, survivors: Vec<Identity>) {
        let Some(phase) = self.core.pool.workers.get(&id).map(|worker| worker.phase) else { return };
        if matches!(phase, Phase::Wedged { .. }) {
            return;
        }
        let attempt = phase.attempt();
        self.core.pool.set(id, Phase::Wedged { attempt });
        if let Some(attempt) = attempt {
            let about = self.about(attempt);
            self.event(about, Event::Wedged { attempt, survivors });
        }
    }

    fn about(&self, attempt: AttemptId) -> Option<(TaskId, TaskNumber)> {
        let task = self.core.attempts.get(&attempt)?.task;
        self.core.task(task).map(|task| (task.id, task.number))
    }

    /// Asks for the end of a process of a dead generation.
    pub(crate) fn reap(&mut self, process: ProcessId) {
        if let Some(row) = self.core.processes.get(&process) {
            let (identity, generation, worker) = (row.identity.clone(), row.generation, row.worker);
            let of_worker = self
                .core
                .attempts
                .values()
                .find(|attempt| attempt.generation == generation && attempt.worker == worker)
                .map(|attempt| attempt.id);
            let attempt = row.attempt.or(of_worker);
            self.then(Effect::Reap { process, identity, attempt });
        }
    }

    /// What came of it.
    pub fn reaped(&mut self, process: ProcessId, result: Reap, kept: Option<KeptReport>) {
        let Some(row) = self.core.processes.get(&process).cloned() else { return };
        if let Some(attempt) = kept.and_then(|kept| self.core.attempts.get(&kept.attempt).cloned())
            && attempt.generation == row.generation
            && attempt.worker == row.worker
        {
            self.with_kept(attempt, kept);
        }
        match result {
            Reap::Survives => {
                self.core.survivors.insert(process, self.stamp.boot.plus(LOOK_AGAIN));
            }
            Reap::Gone | Reap::Stranger => {
                self.put(Change::ProcessGone(process));
                if row.role == Role::Worker {
                    self.forget_namespace_of(&row);
                }
                self.settle_orphaned();
            }
        }
    }

    /// Closes attempts of dead generations that have no process left in the ledger.
    pub(crate) fn settle_orphaned(&mut self) {
        let generation = self.core.generation;
        let orphaned: Vec<AttemptRow> = self
            .core
            .attempts
            .values()
            .filter(|attempt| attempt.generation < generation && !self.has_processes(attempt))
            .cloned()
            .collect();
        for attempt in orphaned {
            self.close_attempt(&attempt, Loss::Interrupted);
        }
    }

    /// A worker that was the init of a namespace took everything in it along.
    fn forget_namespace_of(&mut self, worker: &ProcessRow) {
        let inside: Vec<ProcessId> =
            self.core.processes.values().filter(|row| is_inside(row, worker)).map(|row| row.id).collect();
        for process in inside {
            self.put(Change::ProcessGone(process));
        }
    }

    /// Whether the end of a recorded process follows from the end of a worker that is still in the ledger.
    pub(crate) fn follows_its_worker(&self, row: &ProcessRow) -> bool {
        row.role == Role::Tool && self.core.processes.values().any(|other| is_inside(row, other))
    }

    fn has_processes(&self, attempt: &AttemptRow) -> bool {
        self.core
            .processes
            .values()
            .any(|process| process.generation == attempt.generation && process.worker == attempt.worker)
    }

    fn forget_processes(&mut self, generation: Generation, worker: WorkerId) {
        let gone: Vec<ProcessId> = self
            .core
            .processes
            .values()
            .filter(|process| process.generation == generation && process.worker == worker)
            .map(|process| process.id)
            .collect();
        for process in gone {
            self.put(Change::ProcessGone(process));
        }
    }
}

/// Whether `row` ran in a namespace whose init was `worker`.
fn is_inside(row: &ProcessRow, worker: &ProcessRow) -> bool {
    worker.role == Role::Worker
        && row.role == Role::Tool
        && row.generation == worker.generation
        && row.worker == worker.worker
        && row.identity.namespace != worker.identity.namespace
}

/// Signals by which a process ends itself: ILL, TRAP, ABRT, BUS, FPE, SEGV, SYS.
fn is_fault(signal: u8) -> bool {
    matches!(signal, 4 | 5 | 6 | 7 | 8 | 11 | 31)
}
