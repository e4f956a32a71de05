//! The workers of this life. Not stored: a worker without work owes nothing, and one with work is found through its attempt.
//!
//! Workers that die without having been asked to, before anything ended well, are started again with growing pauses: the
//! first two at once, then 100 ms doubled up to a bound, one at a time as a probe. The pauses never become a stop. Work that
//! ended, or a new worker that holds for a while, ends them.

use crate::core::{Core, earliest};
use crate::draft::Draft;
use crate::effect::Effect;
use ouroboros_proto::kind::{AttemptId, BootMicros, Event, Isolation, Millis, ProcessId, WorkerId};
use ouroboros_proto::limits;
use std::collections::BTreeMap;

/// Deaths in a row that are met without a pause.
const FREE_DEATHS: u32 = 2;
/// The first pause.
const FIRST_PAUSE: Millis = Millis::new(100);
/// Time that a worker started since the last death must live before workers hold again, when no work shows it sooner.
const HOLDS_AFTER: Millis = Millis::seconds(10);
/// Time a worker may take to leave after its last report is acknowledged.
pub(crate) const LEAVE_BOUND: Millis = Millis::new(5_000);

/// The workers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pool {
    next: WorkerId,
    pub workers: BTreeMap<WorkerId, Worker>,
    deaths: u32,
    died_at: BootMicros,
    paused_until: Option<BootMicros>,
}

/// A worker.
#[derive(Debug, Clone)]
pub(crate) struct Worker {
    pub isolation: Isolation,
    pub process: Option<ProcessId>,
    pub greeted: bool,
    /// When it could take work first.
    pub ready_at: Option<BootMicros>,
    pub phase: Phase,
}

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its hello, or its row, is awaited.
    Starting { deadline: BootMicros },
    /// It has no work.
    Ready,
    /// It has an attempt; with a deadline, it was asked to end it.
    Busy { attempt: AttemptId, deadline: Option<BootMicros> },
    /// It has reported the end and may leave by itself until the deadline.
    Leaving { attempt: AttemptId, deadline: BootMicros },
    /// It is being killed; with the attempt that it had.
    Ending { attempt: Option<AttemptId> },
    /// It cannot be killed.
    Wedged { attempt: Option<AttemptId> },
}

impl Phase {
    pub fn attempt(self) -> Option<AttemptId> {
        match self {
            Self::Starting { .. } | Self::Ready => None,
            Self::Busy { attempt, .. } | Self::Leaving { attempt, .. } => Some(attempt),
            Self::Ending { attempt } | Self::Wedged { attempt } => attempt,
        }
    }
}

/// The pool for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolView {
    /// Started and ready.
    pub spares: u32,
    /// Being started.
    pub starting: u32,
    /// Being ended, or leaving.
    pub ending: u32,
    /// Cannot be ended.
    pub wedged: u32,
    /// Deaths in a row without anything having ended well.
    pub deaths: u32,
}

impl Pool {
    /// A worker of this isolation that can take work.
    pub fn ready(&self, isolation: Isolation) -> Option<WorkerId> {
        self.workers
            .iter()
            .find(|(_, worker)| worker.phase == Phase::Ready && worker.isolation == isolation)
            .map(|(id, _)| *id)
    }

    /// The worker that has this attempt.
    pub fn worker_of(&self, attempt: AttemptId) -> Option<WorkerId> {
        self.workers.iter().find(|(_, worker)| worker.phase.attempt() == Some(attempt)).map(|(id, _)| *id)
    }

    /// The worker takes an attempt.
    pub fn assigned(&mut self, worker: WorkerId, attempt: AttemptId) {
        self.set(worker, Phase::Busy { attempt, deadline: None });
    }

    /// The worker is asked to end its attempt by `deadline`; the attempt, unless it is beyond being asked, and whether that is
    /// sooner than it knew. An earlier deadline stays.
    pub fn stopping(&mut self, worker: WorkerId, deadline: BootMicros) -> Option<(AttemptId, bool)> {
        match self.workers.get_mut(&worker).map(|worker| &mut worker.phase) {
            Some(Phase::Busy { attempt, deadline: current }) => {
                let sooner = current.is_none_or(|current| deadline < current);
                *current = earliest(*current, Some(deadline));
                Some((*attempt, sooner))
            }
            _ => None,
        }
    }

    pub fn set(&mut self, worker: WorkerId, phase: Phase) {
        if let Some(worker) = self.workers.get_mut(&worker) {
            worker.phase = phase;
        }
    }

    /// Numbering and pauses, for the time after the state was loaded again.
    pub fn without_workers(&self) -> Self {
        Self { workers: BTreeMap::new(), ..self.clone() }
    }

    /// A worker that was alive before the state was loaded again.
    pub fn adopt(&mut self, id: WorkerId, worker: Worker) {
        self.next = self.next.max(id.next());
        self.workers.insert(id, worker);
    }

    /// A worker died without having been asked to.
    pub fn died(&mut self, now: BootMicros, entropy: u64) -> u32 {
        self.deaths = self.deaths.saturating_add(1);
        self.died_at = now;
        if let Some(doublings) = self.deaths.checked_sub(FREE_DEATHS.saturating_add(1)) {
            let doubled = FIRST_PAUSE.get().checked_shl(doublings.min(20)).unwrap_or(u64::MAX);
            let pause = doubled.min(limits::SPAWN_PAUSE_MILLIS.max);
            let jitter = entropy % (pause / 5).max(1);
            self.paused_until = Some(now.plus(Millis::new(pause.saturating_sub(jitter))));
        }
        self.deaths
    }

    /// Something ended well: the count starts again. The deaths that are forgotten.
    pub fn ended_well(&mut self) -> u32 {
        self.paused_until = None;
        std::mem::take(&mut self.deaths)
    }

    /// When workers hold again, if the first that became ready after the last death lives on.
    pub fn holds_at(&self) -> Option<BootMicros> {
        let ready = self.workers.values().filter(|worker| matches!(worker.phase, Phase::Ready | Phase::Busy { .. }));
        let since = ready.filter_map(|worker| worker.ready_at).filter(|ready| *ready > self.died_at).min();
        since.filter(|_| self.deaths > 0).map(|ready| ready.plus(HOLDS_AFTER))
    }

    /// When a deadline or a pause is over.
    pub fn due(&self, core: &Core) -> Option<BootMicros> {
        let deadlines = self.workers.values().filter_map(|worker| match worker.phase {
            Phase::Starting { deadline } | Phase::Leaving { deadline, .. } => Some(deadline),
            Phase::Busy { deadline, .. } => deadline,
            Phase::Ready | Phase::Ending { .. } | Phase::Wedged { .. } => None,
        });
        let pause = self.paused_until.filter(|_| core.wants_workers());
        earliest(earliest(deadlines.min(), pause), self.holds_at())
    }

    pub fn view(&self) -> PoolView {
        let mut view = PoolView { deaths: self.deaths, ..PoolView::default() };
        for worker in self.workers.values() {
            match worker.phase {
                Phase::Starting { .. } => view.starting = view.starting.saturating_add(1),
                Phase::Ready => view.spares = view.spares.saturating_add(1),
                Phase::Busy { .. } => {}
                Phase::Leaving { .. } | Phase::Ending { .. } => view.ending = view.ending.saturating_add(1),
                Phase::Wedged { .. } => view.wedged = view.wedged.saturating_add(1),
            }
        }
        view
    }

    fn count(&self, matches: impl Fn(&Worker) -> bool) -> u32 {
        u32::try_from(self.workers.values().filter(|worker| matches(worker)).count()).unwrap_or(u32::MAX)
    }
}

impl Core {
    /// Sizes of the queue.
    #[must_use]
    pub fn counts(&self) -> crate::queue::Counts {
        self.queue.counts()
    }

    /// The workers in numbers.
    #[must_use]
    pub fn pool(&self) -> PoolView {
        self.pool.view()
    }

    /// Settings in force.
    #[must_use]
    pub fn settings(&self) -> crate::input::Settings {
        self.settings
    }

    /// Why the queue is held.
    #[must_use]
    pub fn queue_hold(&self) -> Option<ouroboros_proto::kind::HoldReason> {
        self.queue_hold
    }

    /// Whether the server is ending.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.shutdown.is_some()
    }

    fn wants_workers(&self) -> bool {
        self.shutdown.is_none()
            && [Isolation::Namespace, Isolation::Host].into_iter().any(|isolation| self.missing_workers(isolation) > 0)
    }

    /// How many more workers of this isolation should be on their way.
    fn missing_workers(&self, isolation: Isolation) -> u32 {
        let on_hand = self.pool.count(|worker| {
            worker.isolation == isolation && matches!(worker.phase, Phase::Starting { .. } | Phase::Ready)
        });
        let held = self.queue_hold.is_some();
        let free = usize::try_from(self.free_slots()).unwrap_or(usize::MAX);
        let front = free.saturating_add(self.queue.without_slot()).min(64);
        let startable = self.queue.front(front).filter_map(|task| self.unsettled(task));
        let wanted = startable.filter(|row| self.isolation(row.policy.isolation) == isolation).count();
        let wanted = if held { 0 } else { u32::try_from(wanted).unwrap_or(u32::MAX) };
        let spares = if isolation == self.isolation(Isolation::Namespace) && self.settings.slots > 0 {
            self.settings.spares
        } else {
            0
        };
        wanted.max(spares).saturating_sub(on_hand)
    }
}

impl Draft<'_> {
    /// Starts the workers that are missing: all at once when all is well, one at a time while workers die.
    pub fn top_up(&mut self) {
        if self.core.shutdown.is_some() {
            return;
        }
        if self.core.pool.paused_until.is_some_and(|until| until > self.stamp.boot) {
            return;
        }
        self.core.pool.paused_until = None;
        for isolation in [Isolation::Namespace, Isolation::Host] {
            let mut missing = self.core.missing_workers(isolation);
            if self.core.pool.deaths > FREE_DEATHS {
                let probing = self.core.pool.count(|worker| matches!(worker.phase, Phase::Starting { .. })) > 0;
                missing = if probing { 0 } else { missing.min(1) };
            }
            for _ in 0..missing {
                self.spawn_worker(isolation);
            }
        }
    }

    fn spawn_worker(&mut self, isolation: Isolation) {
        let worker = self.core.pool.next.max(WorkerId::new(1));
        let deadline = self.stamp.boot.plus(self.core.settings.ready_bound);
        let phase = Phase::Starting { deadline };
        self.core.pool.adopt(worker, Worker { isolation, process: None, greeted: false, ready_at: None, phase });
        self.then(Effect::SpawnWorker { worker, isolation });
    }

    /// Kills a worker with everything in it.
    pub(crate) fn end_worker(&mut self, worker: WorkerId) {
        let Some(phase) = self.core.pool.workers.get(&worker).map(|worker| worker.phase) else { return };
        if !matches!(phase, Phase::Ending { .. } | Phase::Wedged { .. }) {
            self.core.pool.set(worker, Phase::Ending { attempt: phase.attempt() });
            self.then(Effect::EndWorker { worker });
        }
    }

    /// Kills workers whose time is over.
    pub fn expire(&mut self) {
        let now = self.stamp.boot;
        let over = |worker: &Worker| match worker.phase {
            Phase::Starting { deadline } | Phase::Leaving { deadline, .. } => deadline <= now,
            Phase::Busy { deadline, .. } => deadline.is_some_and(|deadline| deadline <= now),
            Phase::Ready | Phase::Ending { .. } | Phase::Wedged { .. } => false,
        };
        let overdue: Vec<(WorkerId, bool)> = self
            .core
            .pool
            .workers
            .iter()
            .filter(|(_, worker)| over(worker))
            .map(|(id, worker)| (*id, matches!(worker.phase, Phase::Starting { .. })))
            .collect();
        for (worker, starting) in overdue {
            if starting {
                self.worker_died();
            }
            self.end_worker(worker);
        }
        if self.core.pool.holds_at().is_some_and(|at| at <= now) {
            self.worker_did_well();
        }
        let due: Vec<ProcessId> =
            self.core.survivors.iter().filter(|(_, retry)| **retry <= now).map(|(process, _)| *process).collect();
        for process in due {
            self.core.survivors.remove(&process);
            self.reap(process);
        }
    }

    /// Counts a death that nobody asked for.
    pub(crate) fn worker_died(&mut self) {
        let (now, entropy) = (self.stamp.boot, self.stamp.entropy);
        let deaths = self.core.pool.died(now, entropy);
        if deaths == FREE_DEATHS.saturating_add(1) {
            self.event(None, Event::PoolDegraded { deaths });
        }
    }

    /// Something ended well.
    pub(crate) fn worker_did_well(&mut self) {
        if self.core.pool.ended_well() > FREE_DEATHS {
            self.event(None, Event::PoolRecovered);
        }
    }
}
