//! The live state, its one entry, and the one way it changes.

use crate::change::Change;
use crate::draft::Draft;
use crate::effect::Effect;
use crate::input::{Boot, Input, Lookup, Needs, NewTask, Settings, Stamp, TaskCommand};
use crate::money::row::SendRow;
use crate::money::{Ledger, Limits, MoneyInput, Spent, Tally};
use crate::pool::Pool;
use crate::queue::Queue;
use crate::request::Requests;
use crate::request::row::RequestRow;
use crate::row::{AttemptRow, KeyHash, KeyRow, MessageRow, ProcessRow, TaskRow, TaskState};
use crate::stop::Shutdown;
use ouroboros_proto::kind::{
    Allowance, AttemptId, BootMicros, EventSeq, Generation, HoldReason, Millis, ProcessId, RuleId, SendId, SendState,
    TaskId, TaskNumber, UtcMicros,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Rows as the store loads them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Loaded {
    /// The last life that was recorded.
    pub generation: Generation,
    /// The number of the next task.
    pub next_number: TaskNumber,
    /// The place of the next event.
    pub next_event: EventSeq,
    /// Why the queue is held.
    pub queue_hold: Option<HoldReason>,
    /// Unsettled tasks.
    pub tasks: Vec<TaskRow>,
    /// Attempts that have not ended.
    pub attempts: Vec<AttemptRow>,
    /// The process ledger.
    pub processes: Vec<ProcessRow>,
    /// Idempotency keys.
    pub keys: Vec<KeyRow>,
    /// What was said to unsettled tasks.
    pub messages: Vec<MessageRow>,
    /// Settled tasks that unsettled ones come after.
    pub dependencies: BTreeMap<TaskId, TaskRow>,
    /// Sends that are not over.
    pub sends: Vec<SendRow>,
    /// Attempts that have not ended and have a send that is unresolved, or was until a receipt came late.
    pub unknown: BTreeSet<AttemptId>,
    /// Sums over all sends.
    pub spent: Spent,
    /// Requests of unsettled tasks.
    pub requests: Vec<RequestRow>,
    /// Every rule, with the task that it is for, when it is for one only.
    pub rules: BTreeMap<RuleId, Option<TaskId>>,
    /// The number of the next rule.
    pub next_rule: RuleId,
}

/// What one step decided.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// To be committed together.
    pub changes: Vec<Change>,
    /// To happen after that, in order.
    pub effects: Vec<Effect>,
}

/// When the core wants to be asked again without an input. `Some` of either clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Due {
    /// On the wall clock.
    pub wall: Option<UtcMicros>,
    /// On the boot clock.
    pub boot: Option<BootMicros>,
}

/// The live state. Stored facts change only by [`Core::apply`]; beside them stand the workers of this life, which are not stored.
#[derive(Debug, Clone)]
pub struct Core {
    pub(crate) generation: Generation,
    pub(crate) settings: Settings,
    pub(crate) namespaces: bool,
    pub(crate) queue_hold: Option<HoldReason>,
    pub(crate) next_number: TaskNumber,
    pub(crate) next_event: EventSeq,
    /// Boxed: ids arrive in order, which leaves the nodes of the tree half empty, so a row must not lie in them.
    pub(crate) tasks: BTreeMap<TaskId, Box<TaskRow>>,
    pub(crate) attempts: BTreeMap<AttemptId, AttemptRow>,
    pub(crate) processes: BTreeMap<ProcessId, ProcessRow>,
    pub(crate) keys: BTreeMap<KeyHash, KeyRow>,
    pub(crate) messages: BTreeMap<(TaskId, u32), MessageRow>,
    /// Settled in this life and not yet known to be durable: the store cannot be asked for them yet.
    pub(crate) fresh: BTreeMap<TaskId, TaskRow>,
    /// Forgotten in this life and not yet known to be durable: the store may still tell of them.
    pub(crate) forgotten: BTreeSet<TaskId>,
    pub(crate) queue: Queue,
    pub(crate) ledger: Ledger,
    pub(crate) requests: Requests,
    pub(crate) pool: Pool,
    pub(crate) shutdown: Option<Shutdown>,
    /// Processes of dead generations that could not be ended, and when to try again.
    pub(crate) survivors: BTreeMap<ProcessId, BootMicros>,
}

impl Core {
    /// The state that the stored rows tell. Nothing happens before [`Input::Boot`].
    #[must_use]
    pub fn load(rows: Loaded) -> Self {
        let mut core = Self {
            generation: rows.generation,
            settings: Settings {
                slots: 0,
                spares: 0,
                max_tasks: 0,
                cancel_grace: Millis::ZERO,
                ready_bound: Millis::ZERO,
                limits: Limits::default(),
                request_timeout: None,
            },
            namespaces: false,
            queue_hold: rows.queue_hold,
            next_number: rows.next_number,
            next_event: rows.next_event,
            tasks: BTreeMap::new(),
            attempts: rows.attempts.into_iter().map(|row| (row.id, row)).collect(),
            processes: rows.processes.into_iter().map(|row| (row.id, row)).collect(),
            keys: rows.keys.into_iter().map(|row| (row.key, row)).collect(),
            messages: rows.messages.into_iter().map(|row| ((row.task, row.number), row)).collect(),
            fresh: BTreeMap::new(),
            forgotten: BTreeSet::new(),
            queue: Queue::default(),
            ledger: Ledger {
                spent: rows.spent,
                open: rows.sends.into_iter().map(|row| (row.id, row)).collect(),
                unknown: rows.unknown,
                ..Ledger::default()
            },
            requests: Requests::load(rows.requests, rows.rules, rows.next_rule),
            pool: Pool::default(),
            shutdown: None,
            survivors: BTreeMap::new(),
        };
        let mut paths = BTreeSet::new();
        let shared = |mut row: TaskRow| {
            row.workspace = row.workspace.take().map(|path| shared(&mut paths, path));
            (row.id, Box::new(row))
        };
        core.tasks = rows.tasks.into_iter().map(shared).collect();
        for row in core.attempts.values() {
            core.queue.attempt(row);
        }
        for row in core.tasks.values() {
            core.ledger.joined(row);
            let failed = |id: &TaskId| rows.dependencies.get(id).is_some_and(|row| !row.is_completed());
            let unmet = row.after.iter().copied().filter(|id| core.tasks.contains_key(id) || failed(id));
            core.queue.add(row, unmet.collect());
            for dependency in &row.after {
                if let Some(settled) = rows.dependencies.get(dependency) {
                    core.queue.dependency_settled_for(row.id, settled);
                }
            }
        }
        core
    }

    /// The state that the stored rows tell, after a failed commit within one life. What belongs to the life and is not stored
    /// goes on: the end that was asked for, the numbering of workers, the pauses between their starts. Living workers come
    /// with [`Input::Boot`].
    #[must_use]
    pub fn reload(&self, rows: Loaded) -> Self {
        let mut core = Self::load(rows);
        core.settings = self.settings;
        core.namespaces = self.namespaces;
        core.pool = self.pool.without_workers();
        core.shutdown = self.shutdown.map(Shutdown::begin_again);
        core
    }

    /// Decides what follows from `input`. `lookup` holds the settled rows named by [`Core::needs`].
    pub fn step(&mut self, stamp: Stamp, input: Input, lookup: &Lookup) -> Decision {
        let mut draft = Draft::new(self, stamp);
        draft.core.queue.promote(stamp.wall, &draft.core.tasks);
        match input {
            Input::Boot(boot) => draft.boot(boot),
            Input::Submit { request, tasks } => draft.submit(request, tasks, lookup),
            Input::Task { request, task, command } => draft.task_command(request, task, command, lookup),
            Input::Message { request, message } => draft.message(request, &message, lookup),
            Input::Queue { request, command } => draft.queue_command(request, command),
            Input::Shutdown { request, kind, drain } => draft.shut_down(request, kind, drain),
            Input::Worker { worker, event } => draft.worker(worker, event),
            Input::Reaped { process, result, kept } => draft.reaped(process, result, kept),
            Input::Forget { tasks } => draft.forget(&tasks, lookup),
            Input::Money(input) => draft.money(input, lookup),
            Input::Request(input) => draft.request_input(input),
            Input::Configure(settings) => draft.configure(settings),
            Input::Tick => {}
        }
        draft.advance();
        draft.finish()
    }

    /// Which stored rows `input` depends on. Tasks that memory knows are left out.
    #[must_use]
    pub fn needs(&self, input: &Input) -> Needs {
        let sends = match input {
            Input::Money(MoneyInput::Late { send, .. }) if self.send(*send).is_none() => vec![*send],
            _ => Vec::new(),
        };
        let unknown = |task: &TaskId| self.task(*task).is_none() && !self.forgotten.contains(task);
        let tasks = match input {
            Input::Submit { tasks, .. } => {
                let named =
                    |task: &NewTask| task.after.iter().copied().chain(task.inherit.map(|from| from.task)).collect();
                tasks.iter().flat_map::<Vec<TaskId>, _>(named).filter(unknown).collect()
            }
            Input::Message { message, .. } => Some(message.task).into_iter().filter(unknown).collect(),
            Input::Task { task, .. } => Some(*task).into_iter().filter(unknown).collect(),
            Input::Forget { tasks } => tasks.iter().copied().filter(unknown).collect(),
            Input::Boot(_)
            | Input::Queue { .. }
            | Input::Shutdown { .. }
            | Input::Worker { .. }
            | Input::Reaped { .. }
            | Input::Money(_)
            | Input::Request(_)
            | Input::Configure(_)
            | Input::Tick => Vec::new(),
        };
        let tree = match input {
            Input::Task { task, command: TaskCommand::Retry { .. }, .. } => Some((*task, self.ledger.in_memory())),
            _ => None,
        };
        let message = match input {
            Input::Message { message, .. } if self.unsettled(message.task).is_none() => {
                message.key.map(|(key, _)| (message.task, key))
            }
            _ => None,
        };
        Needs { tasks, sends, tree, message }
    }

    /// Changes the state as `change` says. The only way stored facts change here.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::TaskAdded { row, spent, .. } => {
                self.next_number = self.next_number.max(row.number.next());
                if !self.has_tree(row.root) && *spent != Tally::default() {
                    self.ledger.spent.trees.insert(row.root, *spent);
                }
                let unmet = row.after.iter().copied().filter(|dependency| self.tasks.contains_key(dependency));
                self.queue.add(row, unmet.collect());
                self.ledger.joined(row);
                self.tasks.insert(row.id, row.clone());
            }
            Change::Task(row) => match row.state {
                TaskState::Settled { .. } => {
                    self.tasks.remove(&row.id);
                    self.requests.forget(row.id);
                    self.forget_messages(row.id);
                    self.ledger.left(row, self.tasks.contains_key(&row.root));
                    self.queue.remove(row.id);
                    self.queue.left(row.workspace.as_ref());
                    self.queue.dependency_settled(row, &self.tasks);
                    self.fresh.insert(row.id, (**row).clone());
                }
                TaskState::Queued | TaskState::Running { .. } => {
                    self.queue.update(row);
                    self.tasks.insert(row.id, row.clone());
                }
            },
            Change::TaskRemoved(task) => {
                // Its key stays until it expires: asking again must not run the work again.
                self.fresh.remove(task);
                self.forgotten.insert(*task);
            }
            Change::Attempt(row) => {
                self.queue.attempt(row);
                if row.ended_at.is_some() {
                    self.attempts.remove(&row.id);
                    self.ledger.unknown.remove(&row.id);
                } else {
                    self.attempts.insert(row.id, (**row).clone());
                }
            }
            Change::Process(row) => {
                self.processes.insert(row.id, (**row).clone());
            }
            Change::ProcessGone(process) => {
                self.survivors.remove(process);
                self.processes.remove(process);
            }
            Change::Send(row) => {
                let (task, tree) = (self.tasks.contains_key(&row.task), self.has_tree(row.root));
                self.ledger.apply(row, task, tree);
                if row.state == SendState::Unresolved && self.attempts.contains_key(&row.attempt) {
                    self.ledger.unknown.insert(row.attempt);
                }
            }
            Change::SendCorrected { row, was } => {
                let (task, tree) = (self.tasks.contains_key(&row.task), self.has_tree(row.root));
                self.ledger.correct(row, was, task, tree);
            }
            Change::Key(row) => {
                self.keys.insert(row.key, *row);
            }
            // It is read when an attempt begins, and by who looks.
            Change::Requested { row, .. } => self.requests.apply(**row),
            Change::Request { row, .. } => self.requests.apply(*row),
            Change::RuleAdded(row) => {
                self.requests.next_rule = self.requests.next_rule.max(row.id.next());
                self.requests.rules.insert(row.id, row.task());
            }
            Change::RuleRemoved(rule) => {
                self.requests.rules.remove(rule);
            }
            Change::Transcript { .. } | Change::Inherited { .. } => {}
            Change::Message { row, .. } => {
                self.messages.insert((row.task, row.number), *row);
            }
            Change::MessageTaken { task, number } => {
                if let Some(row) = self.messages.get_mut(&(*task, *number)) {
                    row.taken = true;
                }
            }
            Change::Event(row) => self.next_event = row.seq.next(),
            Change::QueueHold(hold) => self.queue_hold = *hold,
            Change::Generation(generation) => self.generation = *generation,
        }
    }

    /// These changes are committed: from now on the store is asked for the tasks that they settle or forget.
    pub fn durable(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Task(row) if self.fresh.get(&row.id) == Some(&**row) => {
                    self.fresh.remove(&row.id);
                }
                Change::TaskRemoved(task) => {
                    self.forgotten.remove(task);
                }
                Change::Send(row) | Change::SendCorrected { row, .. } => self.ledger.durable(row),
                _ => {}
            }
        }
    }

    /// Forgets idempotency keys that the store no longer keeps.
    pub fn keys_expired(&mut self, before: UtcMicros) {
        self.keys.retain(|_, row| row.at >= before);
    }

    /// The stored facts, as [`Core::load`] would get them: what memory and disk must agree on.
    #[must_use]
    pub fn rows(&self) -> Loaded {
        Loaded {
            generation: self.generation,
            next_number: self.next_number,
            next_event: self.next_event,
            queue_hold: self.queue_hold,
            tasks: self.tasks.values().map(|row| (**row).clone()).collect(),
            attempts: self.attempts.values().cloned().collect(),
            processes: self.processes.values().cloned().collect(),
            keys: self.keys.values().copied().collect(),
            messages: self.messages.values().copied().collect(),
            dependencies: BTreeMap::new(),
            sends: self.ledger.open.values().cloned().collect(),
            unknown: self.ledger.unknown.clone(),
            spent: self.ledger.spent.nonzero(),
            requests: self.requests.rows.values().copied().collect(),
            rules: self.requests.rules.clone(),
            next_rule: self.requests.next_rule,
        }
    }

    /// Whether a task of this tree is unsettled.
    pub(crate) fn has_tree(&self, root: TaskId) -> bool {
        self.tasks.contains_key(&root) || self.ledger.branches.contains_key(&root)
    }

    /// The limits on a task.
    pub(crate) fn limits(&self, task: &TaskRow) -> Limits {
        let of_settings = self.settings.limits.task;
        let task = task.policy.max_cost.map_or(of_settings, |Allowance(own)| own);
        Limits { task, ..self.settings.limits }
    }

    /// What is spent, set aside and not known.
    #[must_use]
    pub fn spent(&self) -> &Spent {
        &self.ledger.spent
    }

    /// When to send [`Input::Tick`].
    #[must_use]
    pub fn due(&self) -> Due {
        let mut boot = earliest(self.pool.due(self), self.requests.due());
        for retry in self.survivors.values() {
            boot = earliest(boot, Some(*retry));
        }
        if self.queue.has_doomed() {
            boot = Some(BootMicros::new(0));
        }
        Due { wall: self.queue.next_promotion(), boot }
    }

    /// This life.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// An unsettled task, or one settled by a decision that is not yet durable.
    #[must_use]
    pub fn task(&self, task: TaskId) -> Option<&TaskRow> {
        self.unsettled(task).or_else(|| self.fresh.get(&task))
    }

    /// A send that is not over, or is over by a decision that is not yet durable.
    pub(crate) fn send(&self, send: SendId) -> Option<&SendRow> {
        self.ledger.open.get(&send).or_else(|| self.ledger.fresh.get(&send))
    }

    /// An unsettled task.
    pub(crate) fn unsettled(&self, task: TaskId) -> Option<&TaskRow> {
        self.tasks.get(&task).map(Box::as_ref)
    }

    /// The same as [`Core::task`], or a settled one that the store told of and that was not forgotten since.
    pub(crate) fn find<'row>(&'row self, task: TaskId, lookup: &'row Lookup) -> Option<&'row TaskRow> {
        let stored = || lookup.tasks.get(&task).filter(|_| !self.forgotten.contains(&task));
        self.task(task).or_else(stored)
    }

    /// An attempt that has not ended.
    #[must_use]
    pub fn attempt(&self, attempt: AttemptId) -> Option<&AttemptRow> {
        self.attempts.get(&attempt)
    }

    pub(crate) fn start(&mut self, boot: &Boot) {
        self.settings = boot.settings;
        self.namespaces = boot.namespaces;
    }
}

/// The one copy of this path.
fn shared(paths: &mut BTreeSet<Arc<str>>, path: Arc<str>) -> Arc<str> {
    if let Some(known) = paths.get(&path) {
        return known.clone();
    }
    paths.insert(path.clone());
    path
}

pub(crate) fn earliest(one: Option<BootMicros>, other: Option<BootMicros>) -> Option<BootMicros> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
