//! Indexes over the unsettled tasks. Derived from rows, never stored.
//!
//! A queued task stands in exactly one of: `ready`, its folder in `workspaces`, `delayed`, `held`, or nowhere while it waits for another
//! task or its owner. Of those in their folders the ones that may start are in `ready` too. A task whose dependency did not complete is
//! `doomed`, wherever it stands.

use crate::row::{AttemptRow, TaskRow, TaskState};
use crate::workspace::{FolderId, Workspaces};
use ouroboros_proto::kind::{Outcome, Priority, TaskId, TaskNumber, UtcMicros};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Place in the order of starting: what takes no slot, then higher priority, then arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place(bool, Reverse<Priority>, TaskNumber, TaskId);

impl Place {
    fn of(row: &TaskRow) -> Self {
        Self(row.kind.takes_slot(), Reverse(row.priority), row.number, row.id)
    }

    /// The task that stands there.
    pub fn task(self) -> TaskId {
        self.3
    }
}

/// The indexes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Queue {
    ready: BTreeSet<Place>,
    delayed: BTreeSet<(UtcMicros, Place)>,
    held: BTreeSet<TaskId>,
    paused: u64,
    /// What each waiting task still waits for.
    waits: BTreeMap<TaskId, BTreeSet<TaskId>>,
    dependents: BTreeMap<TaskId, BTreeSet<TaskId>>,
    /// Tasks that can never start, with the dependency that did not complete.
    doomed: BTreeMap<TaskId, TaskId>,
    places: BTreeMap<TaskId, Where>,
    running: u64,
    workspaces: Workspaces,
}

#[derive(Debug, Clone, Copy)]
enum Where {
    Ready(Place),
    Folder(FolderId, Place),
    Delayed(UtcMicros, Place),
    Held,
    Paused,
    Blocked,
    Running,
}

/// Sizes for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Ready to start.
    pub queued: u64,
    /// Waiting for a time, another task or a folder.
    pub waiting: u64,
    /// Held.
    pub held: u64,
    /// Waiting for their owner to let them spend more.
    pub paused: u64,
    /// Running.
    pub running: u64,
}

impl Queue {
    /// A task enters with the dependencies that have not settled.
    pub fn add(&mut self, row: &TaskRow, unmet: BTreeSet<TaskId>) {
        for dependency in &unmet {
            self.dependents.entry(*dependency).or_default().insert(row.id);
        }
        if !unmet.is_empty() {
            self.waits.insert(row.id, unmet);
        }
        if let Some(path) = &row.workspace {
            self.workspaces.joined(path);
        }
        self.place(row);
    }

    /// A task's row changed.
    pub fn update(&mut self, row: &TaskRow) {
        self.unplace(row.id);
        self.place(row);
    }

    /// A task leaves that acted in a folder.
    pub fn left(&mut self, workspace: Option<&Arc<str>>) {
        if let Some(path) = workspace {
            self.workspaces.left(path);
        }
    }

    /// An attempt's row changed.
    pub fn attempt(&mut self, row: &AttemptRow) {
        self.workspaces.attempt(row, &mut self.ready);
    }

    /// The one copy of this path.
    pub fn intern(&self, path: &Arc<str>) -> Arc<str> {
        self.workspaces.intern(path)
    }

    /// The task that keeps one that is ready from its folder.
    pub fn workspace_obstacle(&self, row: &TaskRow) -> Option<TaskId> {
        let path = row.workspace.as_ref()?;
        match self.places.get(&row.id)? {
            Where::Folder(_, place) => self.workspaces.obstacle(path, *place),
            Where::Ready(_) | Where::Delayed(..) | Where::Held | Where::Paused | Where::Blocked | Where::Running => {
                None
            }
        }
    }

    /// A task leaves.
    pub fn remove(&mut self, task: TaskId) {
        self.unplace(task);
        self.doomed.remove(&task);
        for dependency in self.waits.remove(&task).unwrap_or_default() {
            if let Some(dependents) = self.dependents.get_mut(&dependency) {
                dependents.remove(&task);
                if dependents.is_empty() {
                    self.dependents.remove(&dependency);
                }
            }
        }
    }

    /// A task has settled: those that come after it may start, or never can.
    pub fn dependency_settled(&mut self, settled: &TaskRow, tasks: &BTreeMap<TaskId, Box<TaskRow>>) {
        for dependent in self.dependents.remove(&settled.id).unwrap_or_default() {
            self.dependency_settled_for(dependent, settled);
            if let Some(row) = tasks.get(&dependent) {
                self.update(row);
            }
        }
    }

    /// The same for one task that comes after it.
    pub fn dependency_settled_for(&mut self, dependent: TaskId, settled: &TaskRow) {
        match &settled.state {
            TaskState::Settled { outcome: Outcome::Completed, .. } => {
                if let Some(unmet) = self.waits.get_mut(&dependent) {
                    unmet.remove(&settled.id);
                    if unmet.is_empty() {
                        self.waits.remove(&dependent);
                    }
                }
            }
            TaskState::Settled { outcome: Outcome::Failed(_) | Outcome::Cancelled(_), .. } => {
                self.doomed.insert(dependent, settled.id);
            }
            TaskState::Queued | TaskState::Running { .. } => {}
        }
    }

    /// Delays that are over at `now` are over.
    pub fn promote(&mut self, now: UtcMicros, tasks: &BTreeMap<TaskId, Box<TaskRow>>) {
        while let Some((due, place)) = self.delayed.first().copied() {
            if due > now {
                break;
            }
            self.delayed.pop_first();
            let workspace = tasks.get(&place.3).and_then(|row| row.workspace.as_ref());
            let position = self.ready(place, workspace);
            self.places.insert(place.3, position);
        }
    }

    /// A task may start as soon as it is its turn, and its folder's.
    fn ready(&mut self, place: Place, workspace: Option<&Arc<str>>) -> Where {
        let folder = workspace.and_then(|path| self.workspaces.ready(path, place, &mut self.ready));
        if let Some(folder) = folder {
            return Where::Folder(folder, place);
        }
        self.ready.insert(place);
        Where::Ready(place)
    }

    /// The next end of a delay.
    pub fn next_promotion(&self) -> Option<UtcMicros> {
        self.delayed.first().map(|(due, _)| *due)
    }

    /// The task that starts next, when it may.
    pub fn first(&self) -> Option<TaskId> {
        self.ready.first().map(|place| place.3)
    }

    /// How many tasks are ready that take no slot.
    pub fn without_slot(&self) -> usize {
        self.ready.iter().take_while(|place| !place.0).count()
    }

    /// Up to `most` tasks in the order of starting.
    pub fn front(&self, most: usize) -> impl Iterator<Item = TaskId> + '_ {
        self.ready.iter().take(most).map(|place| place.3)
    }

    /// Up to `most` tasks that can never start, with the dependency that did not complete.
    pub fn take_doomed(&self, most: usize) -> Vec<(TaskId, TaskId)> {
        self.doomed.iter().take(most).map(|(task, dependency)| (*task, *dependency)).collect()
    }

    /// Whether tasks wait to be settled because they can never start.
    pub fn has_doomed(&self) -> bool {
        !self.doomed.is_empty()
    }

    /// Whether `task` still waits for others.
    pub fn is_blocked(&self, task: TaskId) -> bool {
        self.waits.contains_key(&task)
    }

    /// Whether unsettled tasks wait for `task`, or are about to settle because of it.
    pub fn has_dependents(&self, task: TaskId) -> bool {
        self.dependents.contains_key(&task) || self.doomed.values().any(|dependency| *dependency == task)
    }

    /// Whether the delay of `task` is over, or it has none.
    pub fn is_delayed(&self, task: TaskId) -> bool {
        matches!(self.places.get(&task), Some(Where::Delayed(..)))
    }

    /// Held tasks.
    pub fn held(&self) -> Vec<TaskId> {
        self.held.iter().copied().collect()
    }

    /// Sizes.
    pub fn counts(&self) -> Counts {
        let size = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
        let placed = size(self.places.len());
        let (queued, held) = (size(self.ready.len()).saturating_add(self.workspaces.behind()), size(self.held.len()));
        let elsewhere = queued.saturating_add(held).saturating_add(self.paused).saturating_add(self.running);
        let waiting = placed.saturating_sub(elsewhere);
        Counts { queued, waiting, held, paused: self.paused, running: self.running }
    }

    fn place(&mut self, row: &TaskRow) {
        let place = Place::of(row);
        let mut position = match row.state {
            TaskState::Settled { .. } => return,
            TaskState::Running { .. } => Where::Running,
            TaskState::Queued if row.hold.is_some() => Where::Held,
            TaskState::Queued if row.park.as_ref().is_some_and(|park| park.is_paused()) => Where::Paused,
            TaskState::Queued if self.waits.contains_key(&row.id) || row.cancel.is_some() => Where::Blocked,
            TaskState::Queued => match row.not_before.max(row.park.as_ref().and_then(|park| park.wakes())) {
                Some(due) => Where::Delayed(due, place),
                None => Where::Ready(place),
            },
        };
        match position {
            Where::Ready(place) => position = self.ready(place, row.workspace.as_ref()),
            Where::Delayed(due, place) => {
                self.delayed.insert((due, place));
            }
            Where::Held => {
                self.held.insert(row.id);
            }
            Where::Paused => self.paused += 1,
            Where::Running => self.running += 1,
            Where::Folder(..) | Where::Blocked => {}
        }
        self.places.insert(row.id, position);
    }

    fn unplace(&mut self, task: TaskId) {
        match self.places.remove(&task) {
            Some(Where::Ready(place)) => {
                self.ready.remove(&place);
            }
            Some(Where::Folder(folder, place)) => self.workspaces.unready(folder, place, &mut self.ready),
            Some(Where::Delayed(due, place)) => {
                self.delayed.remove(&(due, place));
            }
            Some(Where::Held) => {
                self.held.remove(&task);
            }
            Some(Where::Paused) => self.paused = self.paused.saturating_sub(1),
            Some(Where::Running) => self.running = self.running.saturating_sub(1),
            Some(Where::Blocked) | None => {}
        }
    }
}
