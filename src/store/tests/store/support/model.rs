//! What decisions add up to: the simplest thing that could be right.

use super::script;
use ouroboros_domain::change::Change;
use ouroboros_domain::row::{AttemptRow, KeyRow, MessageRow, ProcessRow, SendRow, TaskRow, TaskState};
use ouroboros_domain::{Loaded, RequestKey, RequestRow, Spent, Tally};
use ouroboros_proto::kind::{
    AttemptId, EventSeq, Generation, HoldReason, NanoDollars, ProcessId, RuleId, SendId, SendState, TaskId, TaskNumber,
};
use ouroboros_store::LoadedRows;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Default)]
pub struct Model {
    generation: Generation,
    number: u64,
    event: u64,
    hold: Option<HoldReason>,
    tasks: BTreeMap<TaskId, TaskRow>,
    attempts: BTreeMap<(TaskId, u32), AttemptRow>,
    processes: BTreeMap<ProcessId, ProcessRow>,
    keys: BTreeMap<TaskNumber, KeyRow>,
    messages: BTreeMap<(TaskId, u32), MessageRow>,
    sends: BTreeMap<SendId, SendRow>,
    requests: BTreeMap<RequestKey, RequestRow>,
    rules: BTreeMap<RuleId, Option<TaskId>>,
    rule: u64,
}

impl Model {
    /// What decisions 1 to `last` add up to.
    pub fn after(last: u64) -> Self {
        let mut model = Self::default();
        for decision in 1..=last {
            model.add(&script::decision(decision));
        }
        model
    }

    pub fn add(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::TaskAdded { row, .. } => {
                    self.number = self.number.max(row.number.get());
                    self.tasks.insert(row.id, (**row).clone());
                }
                Change::Task(row) => {
                    self.tasks.insert(row.id, (**row).clone());
                }
                Change::TaskRemoved(id) => {
                    self.tasks.remove(id);
                    self.attempts.retain(|(task, _), _| task != id);
                    self.requests.retain(|(task, _), _| task != id);
                }
                Change::Attempt(row) => {
                    self.attempts.insert((row.task, row.ordinal), (**row).clone());
                }
                Change::Process(row) => {
                    self.processes.insert(row.id, (**row).clone());
                }
                Change::ProcessGone(id) => {
                    self.processes.remove(id);
                }
                Change::Send(row) | Change::SendCorrected { row, .. } => {
                    self.sends.insert(row.id, (**row).clone());
                }
                Change::Key(row) => {
                    self.keys.insert(row.number, *row);
                }
                Change::Event(row) => self.event = self.event.max(row.seq.get()),
                Change::QueueHold(hold) => self.hold = *hold,
                Change::Generation(generation) => self.generation = *generation,
                Change::Transcript { .. } | Change::Inherited { .. } => {}
                Change::Message { row, .. } => {
                    self.messages.insert((row.task, row.number), *row);
                }
                Change::MessageTaken { task, number } => {
                    self.messages.get_mut(&(*task, *number)).unwrap().taken = true;
                }
                Change::Requested { row, .. } => {
                    self.requests.insert(row.key(), **row);
                }
                Change::Request { row, .. } => {
                    self.requests.insert(row.key(), *row);
                }
                Change::RuleAdded(row) => {
                    self.rule = self.rule.max(row.id.get());
                    self.rules.insert(row.id, row.task());
                }
                Change::RuleRemoved(rule) => {
                    self.rules.remove(rule);
                }
            }
        }
    }

    pub fn settled(&self) -> u64 {
        self.tasks.values().filter(|row| is_settled(row)).count() as u64
    }

    /// All sends.
    pub fn sends(&self) -> impl Iterator<Item = &SendRow> {
        self.sends.values()
    }

    fn open(&self) -> Vec<SendRow> {
        let mut open: Vec<SendRow> = self.sends.values().filter(|row| row.state.is_open()).cloned().collect();
        open.sort_by_key(|row| (row.state, row.id));
        open
    }

    fn unknown(&self) -> BTreeSet<AttemptId> {
        let under_way =
            |id: &AttemptId| self.attempts.values().any(|row| row.id == *id && row.released && row.ended_at.is_none());
        let unknown = self.sends.values().filter(|row| row.state == SendState::Unresolved || row.late);
        unknown.map(|row| row.attempt).filter(under_way).collect()
    }

    fn spent(&self) -> Spent {
        let live = || self.tasks.values().filter(|row| !is_settled(row));
        let tasks: BTreeSet<TaskId> = live().map(|row| row.id).collect();
        let roots: BTreeSet<TaskId> = live().map(|row| row.root).collect();
        let of = |keys: &BTreeSet<TaskId>, key: fn(&SendRow) -> TaskId| -> BTreeMap<TaskId, Tally> {
            let sum = |id: &TaskId| sum(self.sends.values().filter(|row| key(row) == *id));
            keys.iter().map(|id| (*id, sum(id))).filter(|(_, sum)| *sum != Tally::default()).collect()
        };
        let last = self.sends.values().map(|row| Spent::minute(row.reserved_at)).max();
        let mut minutes: BTreeMap<i64, NanoDollars> = BTreeMap::new();
        for row in self.sends.values() {
            let minute = Spent::minute(row.reserved_at);
            if last.is_some_and(|last| minute >= last - 60) {
                let sum = minutes.entry(minute).or_default();
                *sum = sum.saturating_add(Tally::of(row).accounted());
            }
        }
        Spent {
            total: sum(self.sends.values()),
            trees: of(&roots, |row| row.root),
            tasks: of(&tasks, |row| row.task),
            minutes,
        }
    }

    pub fn rows(&self) -> LoadedRows {
        let mut tasks: Vec<TaskRow> = self.tasks.values().filter(|row| !is_settled(row)).cloned().collect();
        tasks.sort_by_key(|row| row.number);
        let dependencies = tasks
            .iter()
            .flat_map(|row| row.after.iter())
            .filter_map(|id| self.tasks.get(id).filter(|row| is_settled(row)))
            .map(|row| (row.id, row.clone()))
            .collect();
        let live = |task: &TaskId| self.tasks.get(task).is_some_and(|row| !is_settled(row));
        let live = Loaded {
            generation: self.generation,
            next_number: TaskNumber::new(self.number + 1),
            next_event: EventSeq::new(self.event + 1),
            queue_hold: self.hold,
            tasks,
            attempts: self.attempts.values().filter(|row| row.ended_at.is_none()).cloned().collect(),
            processes: self.processes.values().cloned().collect(),
            keys: self.keys.values().copied().collect(),
            messages: {
                let live = |row: &&MessageRow| self.tasks.get(&row.task).is_some_and(|task| !is_settled(task));
                self.messages.values().filter(live).copied().collect()
            },
            dependencies,
            unknown: self.unknown(),
            sends: self.open(),
            spent: self.spent(),
            requests: self.requests.values().filter(|row| live(&row.task)).copied().collect(),
            rules: self.rules.clone(),
            next_rule: RuleId::new(self.rule + 1),
        };
        LoadedRows { live, bad: Vec::new() }
    }
}

/// What these rows count together.
pub fn sum<'a>(rows: impl Iterator<Item = &'a SendRow>) -> Tally {
    rows.map(Tally::of).fold(Tally::default(), Tally::plus)
}

fn is_settled(row: &TaskRow) -> bool {
    matches!(row.state, TaskState::Settled { .. })
}

/// The decision up to which `rows` holds everything, looked for from `from` to `to`.
pub fn prefix_of(rows: &LoadedRows, from: u64, to: u64) -> Option<u64> {
    let mut model = Model::after(from);
    for decision in from..=to {
        if decision > from {
            model.add(&script::decision(decision));
        }
        if &model.rows() == rows {
            return Some(decision);
        }
    }
    None
}
