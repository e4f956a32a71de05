//! What really happened to attempts, whatever anybody recorded.

use crate::worker::{Key, Life};
use crate::world::World;
use ouroboros_proto::kind::{AttemptId, Ending, TaskId};

/// One attempt that reached a worker.
pub struct Truth {
    pub worker: Key,
    pub tools: Vec<i32>,
    /// Its program passed the barrier.
    pub ran: bool,
    /// How its program ended by itself.
    pub natural: Option<Ending>,
    /// An ending that was found on disk and shown to the core.
    pub shown: Option<Ending>,
}

impl World {
    /// Whether nothing of the attempt is alive; with `worker`, not even the worker that had it.
    pub fn is_gone(&self, attempt: AttemptId, worker: bool) -> bool {
        let Some(truth) = self.truth.get(&attempt) else { return true };
        let tools = truth.tools.iter().any(|pid| self.os.alive(*pid));
        let alive = self.workers.get(&truth.worker).is_some_and(|worker| worker.life == Life::Alive);
        !(tools || worker && alive)
    }

    /// A program passes its barrier: the moment that must not come twice.
    pub fn runs(&mut self, attempt: AttemptId, task: TaskId) {
        let again = self.truth.get(&attempt).is_some_and(|truth| truth.ran);
        if let Some(truth) = self.truth.get_mut(&attempt) {
            truth.ran = true;
        }
        if again {
            return;
        }
        let earlier: Vec<AttemptId> = self.history.get(&task).into_iter().flatten().copied().collect();
        let before: Vec<Option<Ending>> = earlier
            .iter()
            .filter(|other| **other != attempt)
            .filter_map(|other| self.truth.get(other))
            .filter(|truth| truth.ran)
            .map(|truth| truth.natural)
            .collect();
        let Some(row) = self.disk.written.tasks.get(&task).cloned() else {
            return self.fail(format!("program of {task} runs, but there is no such task"));
        };
        if !before.is_empty() {
            self.mark("argv ran again");
        }
        if row.policy.rerun {
            return;
        }
        let failed = |ending: &Option<Ending>| ending.is_some_and(|ending| ending != Ending::Exited { code: 0 });
        let allowed = u64::from(row.policy.retries);
        self.check(before.iter().all(failed), || {
            format!("program of {task} runs again after an attempt that did not fail by itself: {before:?}")
        });
        self.check(before.len() as u64 <= allowed, || format!("program of {task} runs {} times", before.len() + 1));
    }
}
