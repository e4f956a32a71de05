//! How a task ends, or goes on, after an attempt.

use crate::change::Change;
use crate::draft::Draft;
use crate::money::at_rest;
use crate::row::{AttemptRow, TaskRow, TaskState};
use ouroboros_proto::kind::{
    AttemptReport, CancelReason, Ending, Event, Failure, Millis, ModelFailure, Outcome, Requeue,
};
use ouroboros_proto::limits;

/// What an attempt means for its task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Disposition {
    /// The task is over.
    Settle(Outcome),
    /// The task goes back into the queue.
    Requeue(Requeue),
}

/// How an attempt was lost: its process tree is gone and there is no report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// It was interrupted from outside: the server or the machine ended, or the owner stopped the server.
    Interrupted,
    /// Its worker was killed by a signal from outside while the server lived.
    WorkerKilled,
    /// Its worker died by its own fault.
    WorkerFault,
}

impl Draft<'_> {
    /// What a terminal report means.
    pub(crate) fn judge_report(&self, task: &TaskRow, attempt: &AttemptRow, report: &AttemptReport) -> Disposition {
        match report.ending {
            Ending::Exited { code: 0 } | Ending::Answered => Disposition::Settle(Outcome::Completed),
            Ending::Parked if task.cancel.is_some() => Disposition::Settle(Outcome::Cancelled(CancelReason::Requested)),
            Ending::Parked if self.is_parked(task, attempt) => Disposition::Requeue(Requeue::Parked),
            // Nobody told it to: believed, it would come back for ever.
            Ending::Parked => self.judge_loss(task, attempt, Loss::WorkerFault),
            Ending::Stopped => self.judge_loss(task, attempt, Loss::Interrupted),
            Ending::SetUpFailed { .. } if !attempt.released && task.cancel.is_none() && !task.must_run_alone() => {
                Disposition::Requeue(Requeue::WorkerCrashed)
            }
            ending @ (Ending::Exited { .. }
            | Ending::Signaled { .. }
            | Ending::TimedOut
            | Ending::NotFound
            | Ending::NotExecutable { .. }
            | Ending::BadDirectory { .. }
            | Ending::SetUpFailed { .. }
            | Ending::ModelFailed { .. }) => {
                let can = task.retried < task.policy.retries && !grows(task, ending);
                if can && task.cancel.is_none() && self.may_repeat(task, attempt) {
                    Disposition::Requeue(Requeue::Retry)
                } else {
                    Disposition::Settle(Outcome::Failed(Failure::Ended(ending)))
                }
            }
        }
    }

    /// Whether trying again after a failure sends nothing anew of which it is not known what came of it, or its owner wants that.
    fn may_repeat(&self, task: &TaskRow, attempt: &AttemptRow) -> bool {
        task.policy.rerun || !self.core.ledger.is_unknown(attempt.id)
    }

    /// What the loss of an attempt means. Its tree is proven gone.
    pub(crate) fn judge_loss(&self, task: &TaskRow, attempt: &AttemptRow, loss: Loss) -> Disposition {
        if task.cancel.is_some() {
            return Disposition::Settle(Outcome::Cancelled(CancelReason::Requested));
        }
        if self.is_parked(task, attempt) {
            return Disposition::Requeue(Requeue::Parked);
        }
        let goes_on = task.kind.continues();
        if attempt.released && !task.policy.rerun && !goes_on {
            return Disposition::Settle(Outcome::Failed(Failure::Interrupted));
        }
        match (loss, attempt.released) {
            (Loss::Interrupted | Loss::WorkerKilled, false) => Disposition::Requeue(Requeue::NeverRan),
            (Loss::Interrupted, true) => {
                Disposition::Requeue(if goes_on { Requeue::Continued } else { Requeue::Rerun })
            }
            (Loss::WorkerFault, _) | (Loss::WorkerKilled, true) if task.must_run_alone() => {
                Disposition::Settle(Outcome::Failed(Failure::Quarantined { crashes: task.crashes.saturating_add(1) }))
            }
            (Loss::WorkerFault, _) | (Loss::WorkerKilled, true) => Disposition::Requeue(Requeue::WorkerCrashed),
        }
    }

    /// Does what was judged. For a requeue the attempt's tree must be proven gone.
    pub(crate) fn dispose(&mut self, task: TaskRow, attempt: &AttemptRow, disposition: Disposition) {
        match disposition {
            Disposition::Settle(outcome) => self.settle(task, outcome, attempt.report),
            Disposition::Requeue(why) => self.requeue(task, attempt, why),
        }
    }

    /// Records a task's one ending.
    pub(crate) fn settle(&mut self, task: TaskRow, outcome: Outcome, report: Option<AttemptReport>) {
        let about = (task.id, task.number);
        self.withdraw_requests(task.id);
        self.drop_rules_of(task.id);
        let state = TaskState::Settled { outcome: outcome.clone(), at: self.stamp.wall };
        // What is over waits for nothing.
        self.put_task(TaskRow { state, park: None, ..task });
        let (ending, usage) = (report.map(|report| report.ending), report.map(|report| report.usage));
        self.event(Some(about), Event::Settled { outcome, ending, usage });
    }

    fn requeue(&mut self, task: TaskRow, attempt: &AttemptRow, why: Requeue) {
        let about = (task.id, task.number);
        let (mut retried, mut crashes, mut not_before) = (task.retried, task.crashes, None);
        match why {
            Requeue::Retry => {
                not_before = Some(self.stamp.wall.plus(self.retry_pause(retried)));
                retried = retried.saturating_add(1);
            }
            Requeue::WorkerCrashed => crashes = crashes.saturating_add(1),
            Requeue::NeverRan | Requeue::Rerun | Requeue::Continued | Requeue::Parked => {}
        }
        let park = at_rest(task.park);
        self.put_task(TaskRow { state: TaskState::Queued, not_before, retried, crashes, park, ..task });
        self.event(Some(about), Event::AttemptEnded { attempt: attempt.id, why, not_before });
    }

    /// One second, doubled with each retry up to a bound, and up to a quarter more so that many do not come at once.
    fn retry_pause(&self, retried: u32) -> Millis {
        let doubled = 1_000_u64.checked_shl(retried.min(20)).unwrap_or(u64::MAX);
        let pause = doubled.min(limits::RETRY_PAUSE_MILLIS.max);
        Millis::new(pause.saturating_add(self.stamp.entropy % (pause / 4).max(1)))
    }

    /// Settles some of the tasks that can never start. The rest follow with the next step, which is due at once.
    pub(crate) fn settle_doomed(&mut self) {
        for (task, dependency) in self.core.queue.take_doomed(64) {
            match self.core.unsettled(task).cloned() {
                Some(row) => self.settle(row, Outcome::Failed(Failure::Dependency { task: dependency }), None),
                None => self.core.queue.remove(task),
            }
        }
    }

    /// An attempt's tree is proven gone: its row is closed, and its task goes on or ends if it has not already.
    pub(crate) fn close_attempt(&mut self, attempt: &AttemptRow, loss: Loss) {
        let ended = AttemptRow { ended_at: Some(self.stamp.wall), ..attempt.clone() };
        self.put(Change::Attempt(Box::new(ended)));
        let Some(task) = self.running_task(attempt) else { return };
        let disposition = match &attempt.report {
            Some(report) => self.judge_report(&task, attempt, report),
            None => self.judge_loss(&task, attempt, loss),
        };
        self.dispose(task, attempt, disposition);
    }

    /// The task that waits for this attempt, unless it has settled.
    pub(crate) fn running_task(&self, attempt: &AttemptRow) -> Option<TaskRow> {
        self.core
            .unsettled(attempt.task)
            .filter(|task| task.state == TaskState::Running { attempt: attempt.id })
            .cloned()
    }
}

/// Whether each try makes longer what is too long already.
const fn grows(task: &TaskRow, ending: Ending) -> bool {
    let too_long =
        matches!(ending, Ending::ModelFailed { failure: ModelFailure::ContextOverflow | ModelFailure::TooLarge });
    too_long && task.kind.continues()
}
