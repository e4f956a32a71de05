//! The end of a life: nothing new starts, running work is ended or waited for, workers leave, then the server does.

use crate::core::Core;
use crate::draft::Draft;
use crate::effect::{Effect, Reply};
use crate::input::{RequestId, ShutdownKind};
use crate::pool::Phase;
use crate::row::TaskState;
use ouroboros_proto::kind::{ExitCode, TaskNumber, WorkerId};

/// An end under way. It only hardens: a drain can become a stop, a restart a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shutdown {
    kind: ShutdownKind,
    drain: bool,
    left: bool,
}

impl Shutdown {
    /// The same end after the state was loaded again: whether the server was told to leave may be lost.
    pub fn begin_again(self) -> Self {
        Self { left: false, ..self }
    }
}

impl Core {
    /// Whether the server is ending without waiting for running work.
    pub(crate) fn is_cutting_short(&self) -> bool {
        self.shutdown.is_some_and(|shutdown| !shutdown.drain)
    }
}

impl Draft<'_> {
    /// Begins or hardens the end.
    pub fn shut_down(&mut self, request: Option<RequestId>, kind: ShutdownKind, drain: bool) {
        let before = self.core.shutdown.unwrap_or(Shutdown { kind, drain, left: false });
        let kind = match (before.kind, kind) {
            (ShutdownKind::Restart, ShutdownKind::Restart) => ShutdownKind::Restart,
            _ => ShutdownKind::Stop,
        };
        self.core.shutdown = Some(Shutdown { kind, drain: drain && before.drain, left: before.left });
        if let Some(request) = request {
            let running = self.running_numbers();
            self.reply(request, Reply::Ending(running));
        }
    }

    /// Moves an end under way on.
    pub fn wind_down(&mut self) {
        let Some(shutdown) = self.core.shutdown else { return };
        let grace = self.core.settings.cancel_grace;
        let workers: Vec<(WorkerId, Phase)> =
            self.core.pool.workers.iter().map(|(id, worker)| (*id, worker.phase)).collect();
        // What work leans on goes once no work is left; what waits for its owner asks again in the next life.
        let works = |attempt| {
            let row = self.core.attempts.get(&attempt);
            row.is_some_and(|row| self.core.takes_slot(row) && !self.core.waits_for_owner(row))
        };
        let work_left =
            workers.iter().any(|(_, phase)| matches!(phase, Phase::Busy { attempt, .. } if works(*attempt)));
        let drains = shutdown.drain && work_left;
        let mut waiting = false;
        for (worker, phase) in workers {
            match phase {
                Phase::Starting { .. } | Phase::Ready => self.end_worker(worker),
                Phase::Busy { .. } if !drains => self.stop_worker(worker, grace),
                Phase::Busy { .. } | Phase::Leaving { .. } | Phase::Ending { .. } => {}
                Phase::Wedged { .. } => continue,
            }
            waiting = true;
        }
        if !waiting && !shutdown.left {
            self.core.shutdown = Some(Shutdown { left: true, ..shutdown });
            self.then(Effect::Exit(match shutdown.kind {
                ShutdownKind::Stop => ExitCode::Stopped,
                ShutdownKind::Restart => ExitCode::Restart,
            }));
        }
    }

    fn running_numbers(&self) -> Vec<TaskNumber> {
        let mut numbers: Vec<TaskNumber> = self
            .core
            .attempts
            .values()
            .filter_map(|attempt| self.core.unsettled(attempt.task))
            .filter(|task| matches!(task.state, TaskState::Running { .. }))
            .map(|task| task.number)
            .collect();
        numbers.sort_unstable();
        numbers
    }
}
