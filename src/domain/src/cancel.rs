//! Cancel: intent, claim, kill, check again, settle.
//!
//! The intent is a durable fact of its own. A queued task settles in the same commit. A running one is ended first; whoever
//! settles it reads again how it really ended, and a natural ending wins.

use crate::draft::Draft;
use crate::effect::Effect;
use crate::row::{CancelIntent, TaskRow, TaskState};
use ouroboros_proto::kind::{CancelReason, Event, Millis, Outcome, WorkerId};

/// How much longer than the grace a worker may take before it is killed with everything in it.
const WORKER_MARGIN: Millis = Millis::new(2_000);

impl Draft<'_> {
    /// Records the wish to cancel an unsettled task and acts on it. A later wish can only shorten the grace.
    pub fn cancel(&mut self, row: TaskRow, grace: Millis) {
        let about = (row.id, row.number);
        let hardened = row.cancel.is_none_or(|intent| grace < intent.grace);
        if !hardened {
            return;
        }
        let at = row.cancel.map_or(self.stamp.wall, |intent| intent.at);
        let row = TaskRow { cancel: Some(CancelIntent { at, grace }), ..row };
        match row.state {
            TaskState::Running { attempt } => {
                self.put_task(row);
                self.event(Some(about), Event::CancelRequested { grace });
                self.withdraw_requests(about.0);
                if let Some(worker) = self.core.pool.worker_of(attempt) {
                    self.stop_worker(worker, grace);
                }
            }
            TaskState::Queued | TaskState::Settled { .. } => {
                self.event(Some(about), Event::CancelRequested { grace });
                self.settle(row, Outcome::Cancelled(CancelReason::Requested), None);
            }
        }
    }

    /// Asks a worker to end its attempt within `grace`, unless it was asked to be faster; without a grace it is killed at once.
    pub(crate) fn stop_worker(&mut self, worker: WorkerId, grace: Millis) {
        let deadline = self.stamp.boot.plus(grace).plus(WORKER_MARGIN);
        let Some((attempt, sooner)) = self.core.pool.stopping(worker, deadline) else { return };
        if grace == Millis::ZERO {
            self.end_worker(worker);
        } else if sooner {
            self.then(Effect::Stop { worker, attempt, grace });
        }
    }
}
