//! The workers of this life, for whoever must send to them or end them.

use super::groups::Groups;
use crate::link::Outbox;
use ouroboros_domain::Living;
use ouroboros_domain::{KeptReport, WorkerEvent, WorkerExit};
use ouroboros_process::cgroup::Group;
use ouroboros_process::{Child, Signal, Status};
use ouroboros_proto::kind::{AttemptId, Identity, Isolation, ProcessId, TaskId, WorkerId};
use ouroboros_proto::wire::{ToWorker, Token};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a worker was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assigned {
    /// The task.
    pub task: TaskId,
    /// The attempt.
    pub attempt: AttemptId,
}

/// One worker.
#[derive(Debug)]
pub(crate) struct Entry {
    pub token: Token,
    pub isolation: Isolation,
    pub process: ProcessId,
    pub child: Option<Arc<Child>>,
    pub outbox: Option<Arc<Outbox>>,
    /// Process number of the peer that said hello with the right token.
    pub greeted: Option<i32>,
    pub assigned: Option<Assigned>,
    /// The control group of its attempt.
    pub group: Option<Arc<Group>>,
    /// Set when its process and everything below it are gone.
    pub exit: Option<WorkerExit>,
    /// Whether its socket has been read to the end.
    pub drained: bool,
    /// The report it kept on disk, looked for once it was gone.
    pub kept: Option<KeptReport>,
    /// Whether it was told that it is gone: then it stays here only until that is recorded.
    pub told_gone: bool,
    /// What cannot be ended of it.
    pub wedged: Vec<Identity>,
}

/// All of them. The lock is held for a map operation or a non-blocking system call, never across a wait.
#[derive(Debug)]
pub struct Table {
    groups: Groups,
    workers: Mutex<BTreeMap<WorkerId, Entry>>,
    /// Workers that are to be killed and have no process yet.
    doomed: Mutex<BTreeSet<WorkerId>>,
}

impl Table {
    /// An empty one.
    #[must_use]
    pub fn new(groups: Groups) -> Self {
        Self { groups, workers: Mutex::default(), doomed: Mutex::default() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeMap<WorkerId, Entry>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a frame; nothing happens when the worker is not connected any more.
    pub fn send(&self, worker: WorkerId, frame: &ToWorker) {
        let outbox = self.lock().get(&worker).and_then(|entry| entry.outbox.clone());
        if let Some(outbox) = outbox {
            outbox.send(frame);
        }
    }

    /// Notes what a worker is given and sends it.
    pub fn assign(&self, worker: WorkerId, assigned: Assigned, frame: &ToWorker) {
        if let Some(entry) = self.lock().get_mut(&worker) {
            entry.assigned = Some(assigned);
            let pid = entry.child.as_ref().map(|child| child.pid());
            entry.group = pid.and_then(|pid| self.groups.enter(assigned.attempt, entry.isolation, pid));
        }
        self.send(worker, frame);
    }

    /// What a worker was given.
    pub fn assigned(&self, worker: WorkerId) -> Option<Assigned> {
        self.lock().get(&worker).and_then(|entry| entry.assigned)
    }

    /// Kills a worker; in a namespace that ends everything in it. One that has no process yet is killed as soon as it has
    /// one. False when there was nothing to signal.
    pub fn kill(&self, worker: WorkerId) -> bool {
        let workers = self.lock();
        let found = workers.get(&worker).and_then(|entry| Some((entry.child.clone()?, entry.group.clone())));
        let Some((child, group)) = found else {
            self.doomed.lock().unwrap_or_else(PoisonError::into_inner).insert(worker);
            return false;
        };
        drop(workers);
        let signalled = child.pidfd().signal(Signal::KILL).is_ok();
        if let Some(group) = group {
            // What it misses is found by the sweep.
            let _ = group.kill();
        }
        signalled
    }

    /// Whether a worker was to be killed before it had a process; forgets it. The caller holds [`Table::lock`].
    pub(crate) fn take_doomed(&self, worker: WorkerId) -> bool {
        self.doomed.lock().unwrap_or_else(PoisonError::into_inner).remove(&worker)
    }

    /// Kills the worker of an attempt: for when storage cannot record that it was asked for.
    pub fn kill_attempt(&self, attempt: AttemptId) -> bool {
        let worker = self
            .lock()
            .iter()
            .find(|(_, entry)| entry.assigned.is_some_and(|assigned| assigned.attempt == attempt))
            .map(|(worker, _)| *worker);
        worker.is_some_and(|worker| self.kill(worker))
    }

    /// A worker whose end is recorded is forgotten; tells what it was given.
    pub fn dismiss(&self, worker: WorkerId) -> Option<Assigned> {
        let entry = self.lock().remove(&worker)?;
        if let Some(group) = &entry.group {
            // A group that is not empty is ended at the next start.
            let _ = group.remove();
        }
        entry.assigned
    }

    /// The control group of a worker's attempt.
    pub(crate) fn group(&self, worker: WorkerId) -> Option<Arc<Group>> {
        self.lock().get(&worker).and_then(|entry| entry.group.clone())
    }

    /// What was told of workers and may have been lost with a failed commit: which are gone, which are wedged.
    pub fn told(&self) -> Vec<(WorkerId, WorkerEvent)> {
        let told = |entry: &Entry| match entry.exit {
            Some(exit) if entry.told_gone => Some(WorkerEvent::Gone { exit, kept: entry.kept }),
            _ if entry.wedged.is_empty() => None,
            _ => Some(WorkerEvent::Wedged { survivors: entry.wedged.clone() }),
        };
        self.lock().iter().filter_map(|(worker, entry)| Some((*worker, told(entry)?))).collect()
    }

    /// Notes what cannot be ended of a worker.
    pub(crate) fn wedged(&self, worker: WorkerId, survivors: &[Identity]) {
        if let Some(entry) = self.lock().get_mut(&worker) {
            entry.wedged = survivors.to_vec();
        }
    }

    /// Every worker that has a process, or had one and its end is not recorded, for a reload of the state.
    pub fn living(&self) -> Vec<Living> {
        self.lock()
            .iter()
            .filter_map(|(worker, entry)| {
                let child = entry.child.as_ref()?;
                Some(Living {
                    worker: *worker,
                    process: entry.process,
                    identity: child.identity().clone(),
                    isolation: entry.isolation,
                    ready: entry.greeted.is_some(),
                    attempt: entry.assigned.map(|assigned| assigned.attempt),
                })
            })
            .collect()
    }

    /// Host process numbers of the workers, with their identity and what they were given.
    pub fn processes(&self) -> Vec<(WorkerId, Identity, Option<Assigned>)> {
        self.lock()
            .iter()
            .filter(|(_, entry)| !entry.told_gone)
            .filter_map(|(worker, entry)| Some((*worker, entry.child.as_ref()?.identity().clone(), entry.assigned)))
            .collect()
    }

    pub(crate) fn children(&self) -> Vec<Arc<Child>> {
        self.lock().values().filter_map(|entry| entry.child.clone()).collect()
    }
}

pub(crate) fn worker_exit(status: Status) -> WorkerExit {
    match status {
        Status::Exited(code) => WorkerExit::Code(code),
        Status::Signaled { signal, .. } => WorkerExit::Signal(signal),
    }
}
