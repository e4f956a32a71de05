//! What decisions add up to: the simplest thing that could be right.

use super::script;
use ouroboros_domain::Loaded;
use ouroboros_domain::change::Change;
use ouroboros_domain::row::{AttemptRow, KeyRow, ProcessRow, TaskRow, TaskState};
use ouroboros_proto::kind::{EventSeq, Generation, HoldReason, ProcessId, TaskId, TaskNumber};
use ouroboros_store::LoadedRows;
use std::collections::BTreeMap;

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
                Change::Key(row) => {
                    self.keys.insert(row.number, *row);
                }
                Change::Event(row) => self.event = self.event.max(row.seq.get()),
                Change::QueueHold(hold) => self.hold = *hold,
                Change::Generation(generation) => self.generation = *generation,
            }
        }
    }

    pub fn settled(&self) -> u64 {
        self.tasks.values().filter(|row| is_settled(row)).count() as u64
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
        let live = Loaded {
            generation: self.generation,
            next_number: TaskNumber::new(self.number + 1),
            next_event: EventSeq::new(self.event + 1),
            queue_hold: self.hold,
            tasks,
            attempts: self.attempts.values().filter(|row| row.ended_at.is_none()).cloned().collect(),
            processes: self.processes.values().cloned().collect(),
            keys: self.keys.values().copied().collect(),
            dependencies,
        };
        LoadedRows { live, bad: Vec::new() }
    }
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
