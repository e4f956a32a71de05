//! Admission: all tasks of a request are accepted in one commit, or none is.

use crate::change::Change;
use crate::draft::Draft;
use crate::effect::{Refusal, Reply};
use crate::input::{Inherit, Lookup, NewTask, RequestId};
use crate::money::Tally;
use crate::row::{KeyHash, KeyRow, TaskRow, TaskState};
use ouroboros_proto::kind::{Event, HoldReason, Outcome, TaskId, TaskNumber, WorkKind};
use std::collections::BTreeMap;

/// An earlier use of a key: the request that came with it, and the task it made.
type Used = (KeyHash, TaskId, TaskNumber);

impl Draft<'_> {
    /// Accepts `tasks`, or answers why not.
    pub fn submit(&mut self, request: RequestId, tasks: Vec<NewTask>, lookup: &Lookup) {
        match self.admit(tasks, lookup) {
            Ok(accepted) => self.reply(request, Reply::Accepted(accepted)),
            Err(refusal) => self.refuse(request, refusal),
        }
    }

    fn admit(&mut self, tasks: Vec<NewTask>, lookup: &Lookup) -> Result<Vec<(TaskId, TaskNumber, bool)>, Refusal> {
        let plan = self.plan(tasks, lookup)?;
        let mut accepted = Vec::with_capacity(plan.len());
        for step in plan {
            accepted.push(match step {
                Plan::Duplicate(task, number) => (task, number, true),
                Plan::New(task, unmet) => {
                    let (id, number) = self.add(*task, unmet, Origin::New);
                    (id, number, false)
                }
            });
        }
        Ok(accepted)
    }

    /// What would be done for each task; nothing is done yet.
    fn plan(&self, tasks: Vec<NewTask>, lookup: &Lookup) -> Result<Vec<Plan>, Refusal> {
        let mut number = self.core.next_number;
        let mut used: BTreeMap<KeyHash, Used> = BTreeMap::new();
        let mut plan = Vec::with_capacity(tasks.len());
        let mut fresh: u64 = 0;
        for task in tasks {
            if let Some((key, body)) = task.key {
                let stored = self.core.keys.get(&key).map(|row| (row.request, row.task, row.number));
                if let Some((first, id, made)) = used.get(&key).copied().or(stored) {
                    if first != body {
                        return Err(Refusal::KeyConflict { task: made });
                    }
                    plan.push(Plan::Duplicate(id, made));
                    continue;
                }
                used.insert(key, (body, task.id, number));
            }
            if let Some(parent) = task.parent.filter(|parent| self.core.unsettled(*parent).is_none()) {
                return Err(Refusal::ParentNotLive { task: parent });
            }
            if let Some(from) = task.inherit {
                self.may_continue(from, lookup)?;
            }
            let unmet = self.unmet(&task.after, lookup)?;
            number = number.next();
            fresh = fresh.saturating_add(1);
            plan.push(Plan::New(Box::new(task), unmet));
        }
        if fresh > 0 {
            self.has_room(fresh)?;
        }
        Ok(plan)
    }

    /// Whether `more` tasks may be accepted now.
    fn has_room(&self, more: u64) -> Result<(), Refusal> {
        if self.core.shutdown.is_some() {
            return Err(Refusal::Stopping);
        }
        let max = self.core.settings.max_tasks;
        let unsettled = u64::try_from(self.core.tasks.len()).unwrap_or(u64::MAX);
        if unsettled.saturating_add(more) > max { Err(Refusal::QueueFull { max }) } else { Ok(()) }
    }

    /// The dependencies that have not settled; a refusal when one did not complete or does not exist.
    fn unmet(&self, after: &[TaskId], lookup: &Lookup) -> Result<Box<[TaskId]>, Refusal> {
        let mut unmet: Vec<TaskId> = Vec::new();
        for id in after.iter().copied() {
            let row = self.core.find(id, lookup);
            match row.map(|row| (&row.state, row.number)) {
                None => return Err(Refusal::UnknownDependency { task: id }),
                Some((TaskState::Settled { outcome: Outcome::Completed, .. }, _)) => {}
                Some((TaskState::Settled { .. }, number)) => return Err(Refusal::DependencyFailed { task: number }),
                Some((TaskState::Queued | TaskState::Running { .. }, _)) if unmet.contains(&id) => {}
                Some((TaskState::Queued | TaskState::Running { .. }, _)) => unmet.push(id),
            }
        }
        Ok(unmet.into_boxed_slice())
    }

    /// Whether a task in words may begin with what another one did and heard.
    fn may_continue(&self, from: Inherit, lookup: &Lookup) -> Result<(), Refusal> {
        let row = self.core.find(from.task, lookup).ok_or(Refusal::UnknownTask)?;
        match (row.kind, from.entries) {
            (WorkKind::Agent, Some(_)) => Ok(()),
            (WorkKind::Agent, None) => Err(Refusal::StillAtWork { task: row.number }),
            (WorkKind::Command | WorkKind::Ask | WorkKind::Model, _) => Err(Refusal::NotInWords),
        }
    }

    /// Adds a task that was admitted.
    pub(crate) fn add(&mut self, task: NewTask, after: Box<[TaskId]>, origin: Origin) -> (TaskId, TaskNumber) {
        let (id, number) = (task.id, self.core.next_number);
        let at = self.stamp.wall;
        let (retry_of, root, spent) = match origin {
            Origin::New => {
                let parent = task.parent.and_then(|parent| self.core.unsettled(parent));
                (None, parent.map_or(id, |parent| parent.root), Tally::default())
            }
            Origin::Retry { of, root, spent } => (Some(of), root, spent),
        };
        let inherited = task.inherit.and_then(|from| from.entries);
        let row = TaskRow {
            id,
            number,
            kind: task.kind,
            priority: task.priority,
            state: TaskState::Queued,
            hold: task.hold.then_some(HoldReason::Owner),
            not_before: task.delay.map(|delay| at.plus(delay)),
            after,
            policy: task.policy,
            attempts: 0,
            retried: 0,
            crashes: 0,
            cancel: None,
            retry_of,
            inherited: inherited.unwrap_or(0),
            root,
            park: None,
            submitted_at: at,
            workspace: task.workspace.map(|path| self.core.queue.intern(&path)),
        };
        self.put(Change::TaskAdded { row: Box::new(row), spec: task.spec, contents: task.contents, spent });
        if let (Some(from), Some(entries)) = (task.inherit, inherited) {
            self.put(Change::Inherited { task: id, from: from.task, entries });
        }
        if let Some((key, request)) = task.key {
            self.put(Change::Key(KeyRow { key, request, task: id, number, at }));
        }
        self.event(Some((id, number)), Event::Submitted { retry_of });
        (id, number)
    }

    /// Submits a settled task again as a new one.
    ///
    /// It stays in its tree: what that has spent counts against the tree's limit, also when nothing else of it is unsettled.
    pub(crate) fn retry(&mut self, request: RequestId, id: TaskId, settled: &TaskRow, lookup: &Lookup) {
        if let Err(refusal) = self.has_room(1) {
            return self.refuse(request, refusal);
        }
        let task = NewTask {
            id,
            kind: settled.kind,
            spec: crate::change::Spec::CopyOf(settled.id),
            contents: Vec::new(),
            key: None,
            priority: settled.priority,
            delay: None,
            after: Vec::new(),
            hold: false,
            policy: settled.policy,
            parent: None,
            // What it took over stands at the begin of its own transcript.
            inherit: (settled.inherited > 0).then_some(Inherit { task: settled.id, entries: Some(settled.inherited) }),
            workspace: settled.workspace.clone(),
        };
        let spent = lookup.tree.plus(self.core.ledger.in_memory_of(settled.root));
        let (id, number) = self.add(task, Box::default(), Origin::Retry { of: settled.id, root: settled.root, spent });
        self.reply(request, Reply::Accepted(vec![(id, number, false)]));
    }
}

/// Where a task comes from.
pub(crate) enum Origin {
    /// It was submitted.
    New,
    /// It repeats a settled one.
    Retry {
        /// Which.
        of: TaskId,
        /// The root of that one's tree.
        root: TaskId,
        /// What that tree has spent.
        spent: Tally,
    },
}

enum Plan {
    Duplicate(TaskId, TaskNumber),
    New(Box<NewTask>, Box<[TaskId]>),
}
