//! What must hold for every decision.

use crate::folders::{self, NOBODY};
use crate::image::is_settled;
use crate::world::World;
use ouroboros_domain::{
    AttemptRow, Change, Core, Effect, Input, Park, Refusal, Reply, ShutdownKind, TaskRow, TaskState, WorkerEvent,
};
use ouroboros_proto::kind::{AttemptId, CancelReason, Ending, Event, Failure, Outcome, TaskId, UtcMicros};

impl World {
    pub fn note_input(&mut self, input: &Input) {
        let Some(server) = self.server.as_mut() else { return };
        if let Input::Shutdown { kind, drain, .. } = input {
            server.draining = *drain && (server.draining || !server.ending);
            server.ending = true;
            let what = match (kind, drain) {
                (ShutdownKind::Stop, false) => "stop asked",
                (ShutdownKind::Restart, false) => "restart asked",
                (_, true) => "drain asked",
            };
            self.mark(what);
        }
    }

    /// Remembers that the core was shown an ending that lay on disk.
    pub fn note_kept(&mut self, input: &Input) {
        let kept = match input {
            Input::Reaped { kept, .. } | Input::Worker { event: WorkerEvent::Gone { kept, .. }, .. } => *kept,
            _ => None,
        };
        if let Some(kept) = kept
            && let Some(truth) = self.truth.get_mut(&kept.attempt)
        {
            truth.shown = Some(kept.report.ending);
            self.mark("kept ending shown");
        }
    }

    /// Follows a decision into what memory believes, and judges it.
    pub fn decided(&mut self, changes: &[Change]) {
        let mut started: Vec<(TaskRow, AttemptId)> = Vec::new();
        for change in changes {
            match change {
                Change::Task(row) => {
                    let before = self.disk.staged.tasks.get(&row.id).cloned();
                    if let Some(before) = before {
                        self.judge_task(&before, row);
                        if let (TaskState::Queued, TaskState::Running { attempt }) = (&before.state, &row.state) {
                            started.push((before, *attempt));
                        }
                    }
                }
                Change::Attempt(row) if row.ended_at.is_some() => {
                    let gone = self.is_gone(row.id, true);
                    self.check(gone, || format!("attempt {} is closed while something of it lives", row.id));
                }
                Change::ProcessGone(process) => {
                    let identity = self.disk.staged.processes.get(process).map(|row| row.identity.clone());
                    let alive = identity.is_some_and(|it| self.os.find(&it).is_some_and(|proc| proc.alive));
                    self.check(!alive, || format!("process {process} leaves the ledger alive"));
                }
                Change::Send(row) => self.judge_send(row),
                Change::Event(row) => {
                    match row.event {
                        Event::AttemptEnded { attempt, why, .. } => {
                            self.requeued.insert(attempt, why);
                            self.judge_requeue(row.task.map(|(task, _)| task), why);
                        }
                        Event::PoolDegraded { .. } => self.health.push((self.elapsed, false)),
                        Event::PoolRecovered => self.health.push((self.elapsed, true)),
                        _ => {}
                    }
                    self.mark(name(&row.event));
                }
                _ => {}
            }
            if let Err(what) = self.disk.staged.apply(change) {
                return self.fail(what);
            }
        }
        for (before, attempt) in started {
            self.judge_start(&before, attempt);
        }
        self.judge_grants(changes);
    }

    /// Nothing may begin to run once its end is decided, and nobody is told that a task is unknown that was decided on.
    pub fn judge_effects(&mut self, effects: &[Effect], about: Option<TaskId>) {
        let cut = self.server.as_ref().is_some_and(|server| server.ending && !server.draining);
        for effect in effects {
            let unknown = match effect {
                Effect::Reply { reply: Reply::Refused(Refusal::UnknownTask), .. } => about,
                Effect::Reply { reply: Reply::Refused(Refusal::UnknownDependency { task }), .. } => Some(*task),
                _ => None,
            };
            if let Some(task) = unknown {
                let known = self.disk.staged.tasks.contains_key(&task);
                self.check(!known, || format!("{task} is said to be unknown"));
            }
            if let Effect::Release { attempt, .. } = effect {
                let row = self.disk.staged.attempts.get(attempt);
                let task = row.and_then(|row| self.disk.staged.tasks.get(&row.task));
                let cancelled = task.is_none_or(|task| task.cancel.is_some());
                let over = row.is_none_or(|row| row.report.is_some() || row.ended_at.is_some());
                self.check(!cut && !cancelled && !over, || format!("{attempt} may run, though its end is decided"));
            }
        }
    }

    fn judge_task(&mut self, before: &TaskRow, after: &TaskRow) {
        match (&before.state, &after.state) {
            (_, TaskState::Settled { outcome, .. }) => self.judge_settled(before, after, outcome),
            (TaskState::Running { attempt }, TaskState::Queued) => {
                let gone = self.is_gone(*attempt, true);
                self.check(gone, || format!("task {} is queued again while its attempt lives", after.number));
                let cancelled = after.cancel.is_some();
                self.check(!cancelled, || format!("task {} is queued again after a cancel", after.number));
            }
            (TaskState::Running { attempt: one }, TaskState::Running { attempt: other }) => {
                self.check(one == other, || format!("task {} changes its attempt", after.number));
            }
            _ => {}
        }
    }

    fn judge_settled(&mut self, before: &TaskRow, after: &TaskRow, outcome: &Outcome) {
        self.judge_asked(after.id);
        let number = after.number;
        for attempt in self.attempts_of(after.id) {
            let gone = self.is_gone(attempt, false);
            self.check(gone, || format!("task {number} settles while tools of it live"));
        }
        let last = match before.state {
            TaskState::Running { attempt } => self.disk.staged.attempts.get(&attempt).cloned(),
            _ => None,
        };
        let shown = last.as_ref().and_then(|row| self.truth.get(&row.id)).and_then(|truth| truth.shown);
        let ending = last.as_ref().and_then(|row| row.report).map(|report| report.ending).or(shown);
        let natural = ending
            .is_some_and(|ending| !matches!(ending, Ending::Stopped | Ending::SetUpFailed { .. } | Ending::Parked));
        let truth = last.as_ref().and_then(|row| self.truth.get(&row.id)).and_then(|truth| truth.natural);
        let (text, good) = match outcome {
            Outcome::Completed => {
                let well = matches!(ending, Some(Ending::Exited { code: 0 } | Ending::Answered));
                let good = well && truth == ending;
                ("outcome: completed", good)
            }
            Outcome::Failed(Failure::Ended(how)) => {
                let unknown = last.as_ref().is_some_and(|row| self.disk.staged.is_unknown(row.id));
                let spent =
                    after.retried >= after.policy.retries || after.cancel.is_some() || unknown && !after.policy.rerun;
                if unknown && after.retried < after.policy.retries {
                    self.mark("not retried");
                }
                let alone = matches!(how, Ending::SetUpFailed { .. });
                let bad = !matches!(how, Ending::Exited { code: 0 } | Ending::Answered | Ending::Parked);
                ("outcome: failed", bad && Some(*how) == ending && spent && (truth == ending || alone))
            }
            Outcome::Failed(Failure::Interrupted) => {
                let released = last.as_ref().is_some_and(|row| row.released);
                let parked = match before.park.as_deref() {
                    Some(Park::Pausing(_) | Park::Paused(_)) => true,
                    Some(Park::Waiting(wait)) => wait.attempt == before.attempts,
                    Some(Park::Granted(_)) | None => false,
                };
                let good = !natural && released && !parked && !after.policy.rerun && after.cancel.is_none();
                ("outcome: interrupted", good)
            }
            Outcome::Failed(Failure::Quarantined { .. }) => ("outcome: quarantined", !natural && after.crashes >= 2),
            Outcome::Failed(Failure::Dependency { task }) => {
                let other = self.disk.staged.tasks.get(task);
                let failed = other.is_some_and(
                    |row| matches!(&row.state, TaskState::Settled { outcome, .. } if *outcome != Outcome::Completed),
                );
                ("outcome: dependency", last.is_none() && after.after.contains(task) && failed)
            }
            Outcome::Failed(Failure::Unreadable) => {
                ("outcome: unreadable", last.is_some_and(|row| !self.truth.contains_key(&row.id)))
            }
            Outcome::Cancelled(CancelReason::Requested) => ("outcome: cancelled", after.cancel.is_some() && !natural),
        };
        self.mark(text);
        self.check(good, || {
            format!("task {number} settles as {outcome:?}; reported {ending:?}, really {truth:?}, row {before:?}")
        });
    }

    /// All attempts of a task that reached a worker.
    fn attempts_of(&self, task: TaskId) -> Vec<AttemptId> {
        self.history.get(&task).cloned().unwrap_or_default()
    }

    fn judge_start(&mut self, before: &TaskRow, attempt: AttemptId) {
        let wall = self.wall();
        let staged = &self.disk.staged;
        let Some(server) = self.server.as_ref() else { return };
        let slots = usize::try_from(server.core.settings().slots).unwrap_or(usize::MAX);
        let live = staged.attempts.values().filter(|row| row.ended_at.is_none()).count();
        let alone = before.must_run_alone();
        let given_up = |row: &AttemptRow| {
            let worker = self.workers.get(&(row.generation, row.worker));
            row.generation != server.generation || worker.is_some_and(|worker| worker.wedged)
        };
        let beside = staged.attempts.values().any(|row| {
            let task = staged.tasks.get(&row.task);
            let lonely = task.is_some_and(|task| task.must_run_alone() && !is_settled(task));
            row.ended_at.is_none() && row.id != attempt && (alone || lonely) && !given_up(row)
        });
        let waits = before.not_before.is_some_and(|due| due > wall) && !self.client.clock_jumped;
        let terms = [
            ("the server is ending", server.ending),
            ("the queue is held", staged.queue_hold.is_some()),
            ("it is held", before.hold.is_some()),
            ("a cancel was asked for", before.cancel.is_some()),
            ("its delay is not over", waits),
            ("it is paused, or waits", stays_away(before, wall) && !self.client.clock_jumped),
            ("what it comes after has not completed", !staged.dependencies_met(before)),
            ("no slot is free", live.saturating_sub(self.lent()) > slots),
            ("it or another must run alone", beside),
            (
                "its number of attempts is wrong",
                staged.attempts.get(&attempt).is_none_or(|row| row.ordinal != before.attempts + 1),
            ),
            ("another is before it", staged.tasks.values().any(|other| jumps(other, before, attempt, staged))),
            ("its folder is held", folders::holder(staged, before, attempt).is_some()),
        ];
        let wrong: Vec<&str> = terms.into_iter().filter(|(_, wrong)| *wrong).map(|(why, _)| why).collect();
        let number = before.number;
        self.check(wrong.is_empty(), || format!("task {number} starts though {}", wrong.join(", ")));
        for earlier in self.attempts_of(before.id) {
            let gone = self.is_gone(earlier, true);
            self.check(gone, || format!("task {number} starts while an earlier attempt lives"));
        }
        if alone {
            self.mark("runs alone");
        }
    }

    /// Memory and what was decided agree, and so do the indexes with the rows.
    pub fn compare(&mut self) {
        let Some(server) = self.server.as_ref() else { return };
        let staged = &self.disk.staged;
        let difference = staged.difference(&server.core.rows(), !self.client.clock_jumped);
        let counts = server.core.counts();
        let (mut held, mut running, mut placed, mut ready, mut blocked, mut paused) = (0, 0, 0, 0, 0, 0);
        for row in staged.tasks.values().filter(|row| !is_settled(row)) {
            match row.state {
                TaskState::Running { .. } => running += 1,
                _ if row.hold.is_some() => held += 1,
                _ if matches!(row.park.as_deref(), Some(Park::Pausing(_) | Park::Paused(_))) => paused += 1,
                _ => {
                    placed += 1;
                    let met = staged.dependencies_met(row);
                    blocked += u64::from(!met);
                    let waits = matches!(row.park.as_deref(), Some(Park::Waiting(_)));
                    let ripe = met && row.not_before.is_none() && !waits;
                    ready += u64::from(ripe && !folders::waits(staged, row, NOBODY));
                }
            }
        }
        let agree = counts.held == held
            && counts.paused == paused
            && counts.running == running
            && counts.queued + counts.waiting == placed
            && counts.queued >= ready
            && counts.waiting >= blocked;
        let folders = folders::wrong(&server.core, staged);
        let waits = staged.tasks.keys().any(|task| server.core.waits_for_workspace(*task).is_some());
        if let Some(what) = difference {
            return self.fail(format!("memory and disk differ: {what}"));
        }
        if let Some(what) = folders {
            return self.fail(what);
        }
        if waits {
            self.mark("waits for a folder");
        }
        self.check(agree, || {
            format!("{counts:?}, but {placed} placed, {ready} ready, {blocked} blocked, {held} held, {paused} paused")
        });
    }

    /// Before a start: what was acknowledged is there, and to recover twice is to recover once.
    pub fn check_recovery(&mut self) {
        self.check_promises();
        let rows = self.disk.written.loaded();
        let once = Core::load(rows.clone());
        if let Some(what) = self.disk.written.difference(&once.rows(), true) {
            return self.fail(format!("loading changes what was stored: {what}"));
        }
        if self.rng.percent(25) {
            self.check_twice(once);
        }
    }

    fn check_twice(&mut self, mut core: Core) {
        let mut image = self.disk.written.clone();
        let wall = self.wall();
        for round in 0..3_u64 {
            let generation = image.generation.next();
            let boot = ouroboros_domain::Boot {
                generation,
                settings: core.settings(),
                namespaces: true,
                hold: None,
                disown: false,
                living: Vec::new(),
            };
            let stamp = ouroboros_domain::Stamp {
                wall,
                boot: ouroboros_proto::kind::BootMicros::new(round),
                fresh: [1; 16],
                entropy: 0,
            };
            let decision = core.step(stamp, Input::Boot(boot), &ouroboros_domain::Lookup::default());
            for change in &decision.changes {
                if let Err(what) = image.apply(change) {
                    return self.fail(format!("boot decides what the store refuses: {what}"));
                }
            }
            let more = decision.changes.iter().filter(|change| !is_birth(change)).count();
            self.check(round == 0 || more == 0, || format!("a second boot changes more: {:?}", decision.changes));
            core = Core::load(image.loaded());
        }
    }
}

fn is_birth(change: &Change) -> bool {
    match change {
        Change::Generation(_) => true,
        Change::Event(row) => matches!(row.event, Event::ServerStarted { .. }),
        _ => false,
    }
}

/// Whether `other` should have started before the task that did.
fn jumps(other: &TaskRow, task: &TaskRow, attempt: AttemptId, image: &crate::image::Image) -> bool {
    folders::is_earlier(other, task)
        && !folders::waits(image, other, attempt)
        && other.state == TaskState::Queued
        && other.hold.is_none()
        && other.not_before.is_none()
        && !matches!(other.park.as_deref(), Some(Park::Pausing(_) | Park::Paused(_) | Park::Waiting(_)))
        && image.dependencies_met(other)
}

/// Whether a queued task waits for its owner, or for a time that has not come.
fn stays_away(row: &TaskRow, wall: UtcMicros) -> bool {
    match row.park.as_deref() {
        Some(Park::Pausing(_) | Park::Paused(_)) => true,
        Some(Park::Waiting(wait)) => wait.until > wall,
        Some(Park::Granted(_)) | None => false,
    }
}

fn name(event: &Event) -> &'static str {
    match event {
        Event::Submitted { retry_of: None } => "event: submitted",
        Event::Submitted { retry_of: Some(_) } => "event: submitted as a retry",
        Event::Started { .. } => "event: started",
        Event::ProcessStarted { .. } => "event: process started",
        Event::AttemptEnded { why, .. } => match why {
            ouroboros_proto::kind::Requeue::NeverRan => "requeue: never ran",
            ouroboros_proto::kind::Requeue::Rerun => "requeue: rerun",
            ouroboros_proto::kind::Requeue::Retry => "requeue: retry",
            ouroboros_proto::kind::Requeue::WorkerCrashed => "requeue: worker crashed",
            ouroboros_proto::kind::Requeue::Parked => "requeue: parked",
            ouroboros_proto::kind::Requeue::Continued => "requeue: continued",
        },
        Event::CancelRequested { .. } => "event: cancel requested",
        Event::Held { .. } => "event: held",
        Event::Released => "event: released",
        Event::Reprioritised { .. } => "event: reprioritised",
        Event::Settled { .. } => "event: settled",
        Event::Wedged { .. } => "event: wedged",
        Event::QueueHeld { .. } => "event: queue held",
        Event::SlotsChanged { .. } => "event: slots changed",
        Event::ServerStarted { .. } => "event: server started",
        Event::PoolDegraded { .. } => "event: pool degraded",
        Event::PoolRecovered => "event: pool recovered",
        Event::Sent { .. } => "event: sent",
        Event::Paused { .. } => "event: paused",
        Event::Resumed => "event: resumed",
        Event::WaitsForModel { .. } => "event: waits for a model",
        Event::LimitNear { .. } => "event: limit near",
        Event::RequestOpened { .. } => "event: request opened",
        Event::RequestAnswered { .. } => "event: request answered",
        Event::RequestClosed { .. } => "event: request closed",
        Event::Messaged { .. } => "event: messaged",
        Event::MessageTaken { .. } => "event: message taken",
    }
}
