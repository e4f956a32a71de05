//! Tasks that wait for money or for a model, and how they go on.
//!
//! A pause is written before anything waits for it: `pausing` while the attempt saves itself and leaves, then `paused` under the
//! same task. Raising a limit wakes nothing; the owner grants one pause, once, and the first send that fits uses the grant up in the
//! commit that sets its money aside. A grant that a life did not use is void in the next, also when its task waits for a model meanwhile.

use super::row::{Park, Pause, Wait};
use super::{Fit, SendAnswer};
use crate::draft::Draft;
use crate::effect::{Refusal, Reply};
use crate::input::RequestId;
use crate::row::{AttemptRow, Policy, TaskRow, TaskState};
use ouroboros_proto::kind::{
    Allowance, AttemptId, Event, LimitScope, Millis, PauseId, SendId, TaskId, UtcMicros, WaitReason, WorkerId,
};

/// The first wait for a model, when the provider names no time.
const FIRST_WAIT: Millis = Millis::seconds(30);
/// The longest, likewise.
const LONGEST_WAIT: Millis = Millis::seconds(15 * 60);

impl Draft<'_> {
    /// Nothing of a running task is sent any more.
    pub(super) fn begin_pause(&mut self, task: TaskRow, limit: LimitScope) {
        let pause = Pause { id: PauseId::from_bytes(self.mint()), limit, since: self.stamp.wall };
        let park = match task.state {
            TaskState::Running { .. } => Park::Pausing(pause),
            TaskState::Queued | TaskState::Settled { .. } => Park::Paused(pause),
        };
        let about = (task.id, task.number);
        self.put_task(TaskRow { park: Some(Box::new(park)), ..task });
        self.event(Some(about), Event::Paused { limit });
    }

    /// A task that cannot go on without a model waits for one.
    pub(super) fn wait_until(&mut self, task: TaskRow, reason: WaitReason, until: UtcMicros) -> SendAnswer {
        let tries = waits_so_far(&task).saturating_add(u32::from(reason != WaitReason::HourLimit));
        let wait = Wait { reason, since: self.stamp.wall, until, tries, attempt: task.attempts, grant: grant(&task) };
        let about = (task.id, task.number);
        self.put_task(TaskRow { park: Some(Box::new(Park::Waiting(wait))), ..task });
        self.event(Some(about), Event::WaitsForModel { reason, until });
        SendAnswer::Waiting { reason, until }
    }

    /// A call cannot go on for now.
    pub(super) fn blocked(
        &mut self,
        send: SendId,
        worker: WorkerId,
        attempt: AttemptId,
        reason: WaitReason,
        after: Option<Millis>,
    ) {
        let attempt = self.core.attempts.get(&attempt).filter(|row| row.worker == worker).cloned();
        let task = attempt.and_then(|row| self.running_task(&row)).filter(|task| task.cancel.is_none());
        let Some(task) = task else { return self.answer(send, SendAnswer::Ending) };
        let answer = match stops_sending(&task) {
            Some(answer) => answer,
            None => {
                let until = self.stamp.wall.plus(self.wait_for_model(&task, after));
                self.wait_until(task, reason, until)
            }
        };
        self.answer(send, answer);
    }

    /// A model answered: the next wait of this task is the first of a row.
    pub(super) fn ends_waits(&mut self, task: TaskId) {
        let waited =
            |row: &&TaskRow| matches!(row.park.as_deref(), Some(Park::Waiting(wait)) if !is_waiting(row, wait));
        if let Some(row) = self.core.unsettled(task).filter(waited).cloned() {
            self.put_task(TaskRow { park: None, ..row });
        }
    }

    /// Doubled with each wait in a row, never less than the provider asks for, and up to a quarter more so that many do not come at
    /// once.
    fn wait_for_model(&self, task: &TaskRow, after: Option<Millis>) -> Millis {
        let doubled =
            FIRST_WAIT.get().checked_shl(waits_so_far(task).min(20)).unwrap_or(u64::MAX).min(LONGEST_WAIT.get());
        let pause = doubled.max(after.map_or(0, Millis::get));
        Millis::new(pause.saturating_add(self.stamp.entropy % (pause / 4).max(1)))
    }

    /// Whether an attempt that ends leaves a task that waits rather than one that failed.
    pub(crate) fn is_parked(&self, task: &TaskRow, attempt: &AttemptRow) -> bool {
        match task.park.as_deref() {
            Some(Park::Pausing(_) | Park::Paused(_)) => true,
            Some(Park::Waiting(wait)) => wait.attempt == attempt.ordinal,
            Some(Park::Granted(_)) | None => false,
        }
    }

    /// The owner lets a task go on. `pause` names the pause that is meant, when that is known; `max_cost` is its new limit;
    /// what is `free` needs nothing to be left.
    pub(crate) fn resume_task(
        &mut self,
        request: RequestId,
        task: TaskRow,
        pause: Option<PauseId>,
        max_cost: Option<Allowance>,
        free: bool,
    ) {
        let max_cost = max_cost.or(task.policy.max_cost);
        let changed = max_cost != task.policy.max_cost;
        let task = TaskRow { policy: Policy { max_cost, ..task.policy }, ..task };
        let queued = task.state == TaskState::Queued;
        match task.park.as_deref().copied() {
            Some(Park::Paused(current)) if queued && pause.is_none_or(|pause| pause == current.id) => {
                match self.core.ledger.nothing_left(self.core.limits(&task), task.id, task.root, self.stamp.wall) {
                    Fit::Exhausted(limit) if !free => return self.refuse(request, Refusal::NothingLeft { limit }),
                    Fit::Fits | Fit::Later(_) | Fit::HourFull(_) | Fit::Exhausted(_) => {}
                }
                self.go_on(task, Some(Park::Granted(current)));
            }
            Some(Park::Waiting(wait)) if queued && pause.is_none() => self.go_on(task, wait.grant.map(Park::Granted)),
            // Asked twice it is granted once; what it may spend is what was said last.
            Some(Park::Granted(current)) if pause.is_none_or(|pause| pause == current.id) => {
                if changed {
                    self.put_task(task);
                }
            }
            Some(Park::Pausing(current) | Park::Paused(current))
                if !queued && pause.is_none_or(|pause| pause == current.id) =>
            {
                return self.refuse(request, Refusal::StillPausing);
            }
            Some(Park::Pausing(_) | Park::Paused(_) | Park::Granted(_) | Park::Waiting(_)) | None => {
                return self.refuse(request, Refusal::NotPaused);
            }
        }
        self.reply(request, Reply::Done);
    }

    fn go_on(&mut self, task: TaskRow, park: Option<Park>) {
        let about = (task.id, task.number);
        self.put_task(TaskRow { park: park.map(Box::new), ..task });
        self.event(Some(about), Event::Resumed);
    }

    /// Tasks that wait for one of these look again: at once, or as soon as the attempt that was blocked has left.
    pub(super) fn wake_waiting(&mut self, reasons: &[WaitReason]) {
        let waits = |task: &TaskRow| match task.park.as_deref() {
            Some(Park::Waiting(wait)) if reasons.contains(&wait.reason) && is_waiting(task, wait) => {
                Some((task.id, *wait))
            }
            _ => None,
        };
        let waiting: Vec<(TaskId, Wait)> = self.core.tasks.values().filter_map(|task| waits(task)).collect();
        for (task, wait) in waiting {
            let Some(row) = self.core.unsettled(task).cloned() else { continue };
            match row.state {
                TaskState::Queued => self.go_on(row, wait.grant.map(Park::Granted)),
                TaskState::Running { .. } | TaskState::Settled { .. } => {
                    let wait = Wait { until: self.stamp.wall, ..wait };
                    self.put_task(TaskRow { park: Some(Box::new(Park::Waiting(wait))), ..row });
                }
            }
        }
    }

    /// At the begin of a life no grant of an earlier one counts, and what was pausing is paused.
    pub(crate) fn void_grants(&mut self) {
        let parked = |task: &TaskRow| match (task.park.as_deref(), &task.state) {
            (Some(Park::Pausing(pause)), TaskState::Queued) => Some((task.id, *pause)),
            (Some(Park::Pausing(_) | Park::Paused(_)), _) | (None, _) => None,
            (Some(Park::Granted(_) | Park::Waiting(_)), _) => grant(task).map(|pause| (task.id, pause)),
        };
        let parked: Vec<(TaskId, Pause)> = self.core.tasks.values().filter_map(|task| parked(task)).collect();
        for (task, pause) in parked {
            if let Some(row) = self.core.unsettled(task).cloned() {
                let (about, limit) = ((row.id, row.number), pause.limit);
                self.put_task(TaskRow { park: Some(Box::new(Park::Paused(pause))), ..row });
                self.event(Some(about), Event::Paused { limit });
            }
        }
    }
}

/// What becomes of a park when the task goes back into the queue.
pub(crate) fn at_rest(park: Option<Box<Park>>) -> Option<Box<Park>> {
    park.map(|park| match *park {
        Park::Pausing(pause) => Box::new(Park::Paused(pause)),
        Park::Paused(_) | Park::Granted(_) | Park::Waiting(_) => park,
    })
}

/// Why nothing of a running task may be sent now.
pub(super) fn stops_sending(task: &TaskRow) -> Option<SendAnswer> {
    match task.park.as_deref() {
        Some(Park::Pausing(pause) | Park::Paused(pause)) => Some(SendAnswer::Paused(pause.limit)),
        Some(Park::Waiting(wait)) if is_waiting(task, wait) => {
            Some(SendAnswer::Waiting { reason: wait.reason, until: wait.until })
        }
        Some(Park::Granted(_) | Park::Waiting(_)) | None => None,
    }
}

/// Whether a wait holds, rather than being what an earlier attempt waited for.
fn is_waiting(task: &TaskRow, wait: &Wait) -> bool {
    match task.state {
        TaskState::Queued => true,
        TaskState::Running { .. } => wait.attempt == task.attempts,
        TaskState::Settled { .. } => false,
    }
}

/// The pause that the owner had ended, when nothing has used that up yet.
fn grant(task: &TaskRow) -> Option<Pause> {
    match task.park.as_deref()? {
        Park::Granted(pause) => Some(*pause),
        Park::Waiting(wait) => wait.grant,
        Park::Pausing(_) | Park::Paused(_) => None,
    }
}

/// The same park after the first send that fits.
pub(super) fn used_up(park: Option<Box<Park>>) -> Option<Box<Park>> {
    match park.as_deref()? {
        Park::Granted(_) => None,
        Park::Waiting(wait) => Some(Box::new(Park::Waiting(Wait { grant: None, ..*wait }))),
        Park::Pausing(_) | Park::Paused(_) => park,
    }
}

fn waits_so_far(task: &TaskRow) -> u32 {
    match task.park.as_deref() {
        Some(Park::Waiting(wait)) => wait.tries,
        Some(Park::Pausing(_) | Park::Paused(_) | Park::Granted(_)) | None => 0,
    }
}
