//! What a disk holds: an independent fold over changes that also refuses what a store with constraints would refuse.

use crate::ledger::{against, worth};
use ouroboros_domain::{
    AttemptRow, Change, KeyHash, KeyRow, Loaded, MessageRow, ProcessRow, RequestKey, RequestRow, RuleRow, SendRow,
    Spec, Spent, Tally, TaskRow, TaskState,
};
use ouroboros_proto::kind::{
    AttemptId, EventSeq, Generation, HoldReason, Outcome, ProcessId, RequestState, RuleId, SendId, SendState, TaskId,
    TaskNumber,
};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Default)]
pub struct Image {
    pub generation: Generation,
    pub next_number: TaskNumber,
    pub next_event: EventSeq,
    pub queue_hold: Option<HoldReason>,
    /// All tasks, settled ones too.
    pub tasks: BTreeMap<TaskId, TaskRow>,
    /// All attempts, ended ones too.
    pub attempts: BTreeMap<AttemptId, AttemptRow>,
    pub processes: BTreeMap<ProcessId, ProcessRow>,
    /// Every process that ever had a row.
    pub seen: BTreeSet<ProcessId>,
    pub keys: BTreeMap<KeyHash, KeyRow>,
    /// All messages, those to settled tasks too.
    pub messages: BTreeMap<(TaskId, u32), MessageRow>,
    pub removed: BTreeSet<TaskId>,
    /// The frame of the last entry that an attempt recorded.
    pub entries: BTreeMap<AttemptId, u64>,
    /// All sends, those that are over too.
    pub sends: BTreeMap<SendId, SendRow>,
    /// All requests to the owner, those that are over too.
    pub requests: BTreeMap<RequestKey, RequestRow>,
    pub rules: BTreeMap<RuleId, RuleRow>,
    pub next_rule: RuleId,
}

pub fn is_settled(row: &TaskRow) -> bool {
    matches!(row.state, TaskState::Settled { .. })
}

fn completed(row: &TaskRow) -> bool {
    matches!(row.state, TaskState::Settled { outcome: Outcome::Completed, .. })
}

impl Image {
    pub fn new() -> Self {
        Self {
            next_number: TaskNumber::new(1),
            next_event: EventSeq::new(1),
            next_rule: RuleId::new(1),
            ..Self::default()
        }
    }

    /// Applies a change; says what a constraint would have refused.
    pub fn apply(&mut self, change: &Change) -> Result<(), String> {
        match change {
            Change::TaskAdded { row, spec, .. } => {
                if row.number != self.next_number {
                    return Err(format!("task number {} after {}", row.number, self.next_number));
                }
                if let Spec::CopyOf(other) = spec
                    && !self.tasks.contains_key(other)
                {
                    return Err(format!("specification copied from {other}, which does not exist"));
                }
                self.next_number = row.number.next();
                if self.tasks.insert(row.id, (**row).clone()).is_some() {
                    return Err(format!("task {} added twice", row.id));
                }
            }
            Change::Task(row) => match self.tasks.insert(row.id, (**row).clone()) {
                None => return Err(format!("task {} changed, but it does not exist", row.id)),
                Some(before) if is_settled(&before) => {
                    return Err(format!("task {} changed after it settled: {:?}", row.id, before.state));
                }
                Some(_) => {}
            },
            Change::TaskRemoved(task) => {
                let completed = self.tasks.get(task).is_some_and(completed);
                let needed = |row: &TaskRow| !is_settled(row) && row.after.contains(task);
                if !completed && self.tasks.values().any(needed) {
                    return Err(format!("task {task} removed, but others wait for it"));
                }
                match self.tasks.remove(task) {
                    None => return Err(format!("task {task} removed, but it does not exist")),
                    Some(row) if !is_settled(&row) => return Err(format!("unsettled task {task} removed")),
                    Some(_) => {}
                }
                self.removed.insert(*task);
                self.requests.retain(|(of, _), _| of != task);
                if self.attempts.values().any(|row| row.task == *task && row.ended_at.is_none()) {
                    return Err(format!("task {task} removed under a live attempt"));
                }
            }
            Change::Attempt(row) => {
                if !self.tasks.contains_key(&row.task) {
                    return Err(format!("attempt {} of a task that does not exist", row.id));
                }
                if let Some(before) = self.attempts.insert(row.id, (**row).clone())
                    && (before.ended_at.is_some() || before.sequence > row.sequence)
                {
                    return Err(format!("attempt {} changed after it ended, or backwards", row.id));
                }
            }
            Change::Transcript { task, attempt, entry } => {
                if self.attempts.get(attempt).is_none_or(|row| row.task != *task) {
                    return Err(format!("an entry of attempt {attempt}, which is not one of {task}"));
                }
                let frame = entry.as_ref().try_into().map_or(0, u64::from_be_bytes);
                if self.entries.insert(*attempt, frame).is_some_and(|before| before >= frame) {
                    return Err(format!("an entry of attempt {attempt} is recorded twice, or too late"));
                }
            }
            Change::Requested { row, .. } => {
                if !row.is_open() || self.tasks.get(&row.task).is_none_or(is_settled) {
                    return Err(format!("request {} of {} is opened as {:?}", row.number, row.task, row.state));
                }
                let before = self.requests.insert(row.key(), **row);
                let same = |before: &RequestRow| before.digest == row.digest && before.state != RequestState::Withdrawn;
                if before.as_ref().is_some_and(same) {
                    return Err(format!("request {} of {} is opened again: {before:?}", row.number, row.task));
                }
            }
            Change::Request { row, answer } => {
                let Some(before) = self.requests.insert(row.key(), *row) else {
                    return Err(format!("request {} of {} changed, but it does not exist", row.number, row.task));
                };
                let closes = before.is_open() && answer.is_some() == (row.state == RequestState::Answered);
                let moves = before.state == row.state && answer.is_none();
                if !(closes || moves) || before.digest != row.digest {
                    return Err(format!("request {} of {} went from {before:?} to {row:?}", row.number, row.task));
                }
            }
            Change::RuleAdded(row) => {
                if row.id < self.next_rule || self.rules.insert(row.id, (**row).clone()).is_some() {
                    return Err(format!("rule {} is given again", row.id));
                }
                self.next_rule = row.id.next();
            }
            Change::RuleRemoved(rule) => {
                if self.rules.remove(rule).is_none() {
                    return Err(format!("rule {rule} removed, but it does not exist"));
                }
            }
            Change::Inherited { task, from, .. } => {
                if !self.tasks.contains_key(task) || !self.tasks.contains_key(from) {
                    return Err(format!("{task} continues {from}, and one of them does not exist"));
                }
            }
            Change::Message { row, .. } => {
                if self.tasks.get(&row.task).is_none_or(is_settled) {
                    return Err(format!("a message to {}, which is over", row.task));
                }
                if self.messages.insert((row.task, row.number), *row).is_some() {
                    return Err(format!("message {} to {} is there twice", row.number, row.task));
                }
            }
            Change::MessageTaken { task, number } => match self.messages.get_mut(&(*task, *number)) {
                Some(row) if !row.taken => row.taken = true,
                _ => return Err(format!("message {number} to {task} is taken, and does not wait")),
            },
            Change::Process(row) => {
                if row.attempt.is_some_and(|attempt| !self.attempts.contains_key(&attempt)) {
                    return Err(format!("process {} of an attempt that does not exist", row.id));
                }
                self.seen.insert(row.id);
                self.processes.insert(row.id, (**row).clone());
            }
            Change::ProcessGone(process) => {
                if self.processes.remove(process).is_none() {
                    return Err(format!("process {process} removed, but it is not recorded"));
                }
            }
            Change::Send(row) => {
                let before = self.sends.insert(row.id, (**row).clone());
                let fits = match (&before, row.state) {
                    (None, SendState::Reserved) => true,
                    (Some(before), SendState::Dispatched) => before.state == SendState::Reserved,
                    (Some(before), SendState::Settled | SendState::Unresolved | SendState::Released) => {
                        before.state.is_open()
                    }
                    _ => false,
                };
                if !fits {
                    return Err(format!(
                        "send {} went from {:?} to {:?}",
                        row.id,
                        before.map(|row| row.state),
                        row.state
                    ));
                }
            }
            Change::SendCorrected { row, was } => {
                let before = self.sends.insert(row.id, (**row).clone());
                let (told, knows) = (was.receipt.is_some(), row.receipt.as_ref().is_some_and(|it| it.cost.is_some()));
                let unknown = worth(was).unresolved == was.bound && was.state != SendState::Released;
                if before.as_ref() != Some(&**was) || !unknown || told && !knows {
                    return Err(format!("send {} corrected, though it stood as {before:?}", row.id));
                }
            }
            Change::Key(row) => {
                if self.keys.insert(row.key, *row).is_some() {
                    return Err("key used twice".to_owned());
                }
            }
            Change::Event(row) => {
                if row.seq != self.next_event {
                    return Err(format!("event {:?} where {:?} was due", row.seq, self.next_event));
                }
                self.next_event = row.seq.next();
            }
            Change::QueueHold(hold) => self.queue_hold = *hold,
            Change::Generation(generation) => {
                if *generation <= self.generation {
                    return Err(format!("generation {generation} after {}", self.generation));
                }
                self.generation = *generation;
            }
        }
        Ok(())
    }

    /// The rows as a store would load them.
    pub fn loaded(&self) -> Loaded {
        let tasks: Vec<TaskRow> = self.tasks.values().filter(|row| !is_settled(row)).cloned().collect();
        let dependencies = tasks
            .iter()
            .flat_map(|row| row.after.iter())
            .filter_map(|id| self.tasks.get(id))
            .filter(|row| is_settled(row))
            .map(|row| (row.id, row.clone()))
            .collect();
        Loaded {
            generation: self.generation,
            next_number: self.next_number,
            next_event: self.next_event,
            queue_hold: self.queue_hold,
            tasks,
            attempts: self.attempts.values().filter(|row| row.ended_at.is_none()).cloned().collect(),
            processes: self.processes.values().cloned().collect(),
            keys: self.keys.values().copied().collect(),
            messages: {
                let live = |row: &&MessageRow| self.tasks.get(&row.task).is_some_and(|task| !is_settled(task));
                self.messages.values().filter(live).copied().collect()
            },
            dependencies,
            sends: self.sends.values().filter(|row| row.state.is_open()).cloned().collect(),
            unknown: self.unknown(),
            spent: self.spent(),
            requests: self.live_requests().copied().collect(),
            rules: self.rules.values().map(|row| (row.id, row.task())).collect(),
            next_rule: self.next_rule,
        }
    }

    /// Requests of unsettled tasks.
    fn live_requests(&self) -> impl Iterator<Item = &RequestRow> {
        self.requests.values().filter(|row| self.tasks.get(&row.task).is_some_and(|task| !is_settled(task)))
    }

    /// Attempts under way with a send of which it is not known what came of it.
    fn unknown(&self) -> BTreeSet<AttemptId> {
        let under_way = |id: &AttemptId| self.attempts.get(id).is_some_and(|row| row.ended_at.is_none());
        let unknown = self.sends.values().filter(|row| row.state == SendState::Unresolved || row.late);
        unknown.map(|row| row.attempt).filter(under_way).collect()
    }

    /// Whether an attempt sent something of which it is not, or was not in time, known what came of it.
    pub fn is_unknown(&self, attempt: AttemptId) -> bool {
        let open = |row: &SendRow| row.state == SendState::Unresolved || row.late || row.state.is_open();
        self.sends.values().any(|row| row.attempt == attempt && open(row))
    }

    /// What the tree of a task has spent, without these sends.
    pub fn tree(&self, task: TaskId, without: &[SendId]) -> Tally {
        let root = self.tasks.get(&task).map(|row| row.root);
        let rows = self.sends.values().filter(|row| Some(row.root) == root && !without.contains(&row.id));
        rows.map(worth).fold(Tally::default(), Tally::plus)
    }

    /// The sums, counted anew from all rows.
    fn spent(&self) -> Spent {
        let live = |task: &TaskId| self.tasks.get(task).is_some_and(|row| !is_settled(row));
        let roots: BTreeSet<TaskId> = self.tasks.values().filter(|row| !is_settled(row)).map(|row| row.root).collect();
        let mut spent = Spent::default();
        let last = self.sends.values().map(|row| Spent::minute(row.reserved_at)).max();
        for row in self.sends.values() {
            let (tally, minute) = (worth(row), Spent::minute(row.reserved_at));
            spent.total = spent.total.plus(tally);
            if live(&row.task) {
                let sum = spent.tasks.entry(row.task).or_default();
                *sum = sum.plus(tally);
            }
            if roots.contains(&row.root) {
                let sum = spent.trees.entry(row.root).or_default();
                *sum = sum.plus(tally);
            }
            if last.is_some_and(|last| minute >= last - 60) {
                let sum = spent.minutes.entry(minute).or_default();
                *sum = sum.saturating_add(against(std::iter::once(row)));
            }
        }
        spent.nonzero()
    }

    /// The first difference to what a core holds.
    ///
    /// Minutes are compared when clocks went on as they should: otherwise memory may hold less than all rows say.
    pub fn difference(&self, rows: &Loaded, minutes: bool) -> Option<String> {
        let heads = (self.generation, self.next_number, self.next_event, self.queue_hold);
        if heads != (rows.generation, rows.next_number, rows.next_event, rows.queue_hold) {
            return Some(format!("counters {heads:?}"));
        }
        if !rows.tasks.iter().eq(self.tasks.values().filter(|row| !is_settled(row))) {
            return Some(format!("tasks {:?}", rows.tasks));
        }
        if !rows.attempts.iter().eq(self.attempts.values().filter(|row| row.ended_at.is_none())) {
            return Some(format!("attempts {:?}", rows.attempts));
        }
        if !rows.processes.iter().eq(self.processes.values()) {
            return Some(format!("processes {:?}", rows.processes));
        }
        if !rows.sends.iter().eq(self.sends.values().filter(|row| row.state.is_open())) {
            return Some(format!("sends {:?}", rows.sends));
        }
        if rows.unknown != self.unknown() {
            return Some(format!("unknown {:?}", rows.unknown));
        }
        if !rows.requests.iter().eq(self.live_requests()) {
            return Some(format!("requests {:?}", rows.requests));
        }
        let rules = self.rules.values().map(|row| (row.id, row.task()));
        if !rules.eq(rows.rules.iter().map(|(id, task)| (*id, *task))) || rows.next_rule != self.next_rule {
            return Some(format!("rules {:?}, next {:?}", rows.rules, rows.next_rule));
        }
        let mut spent = self.spent();
        if !minutes {
            spent.minutes.clone_from(&rows.spent.minutes);
        }
        if rows.spent != spent {
            return Some(format!("spent {:?}, counted anew {spent:?}", rows.spent));
        }
        (!rows.keys.iter().eq(self.keys.values())).then(|| "keys".to_owned())
    }

    /// Whether every task that `row` comes after has completed; one that was forgotten had.
    pub fn dependencies_met(&self, row: &TaskRow) -> bool {
        row.after.iter().all(|id| match self.tasks.get(id) {
            Some(other) => completed(other),
            None => self.removed.contains(id),
        })
    }
}
