//! What the owner does about money.

use crate::client::Ask;
use crate::image::is_settled;
use crate::ledger::against;
use crate::server::Message;
use crate::world::World;
use ouroboros_domain::{Input, Limits, MoneyInput, Park, Settings, TaskCommand, TaskRow, TaskState};
use ouroboros_proto::kind::{Allowance, NanoDollars, PauseId, TaskId};

impl World {
    /// Limits in force; none in the calm.
    pub fn limits(&mut self) -> Limits {
        if self.calm || !self.profile.money {
            return Limits::default();
        }
        let spent = against(self.disk.staged.sends.values());
        let more = NanoDollars::new(self.rng.below(1_200));
        let total = self.rng.percent(60).then(|| spent.saturating_add(more));
        Limits {
            total: if self.rng.percent(5) { Some(NanoDollars::default()) } else { total },
            hour: self.some_limit(30),
            tree: self.some_limit(30),
            task: self.some_limit(30),
            soft_percent: 80,
        }
    }

    pub fn some_limit(&mut self, chance: u64) -> Option<NanoDollars> {
        self.rng.percent(chance).then(|| NanoDollars::new(self.rng.below(1_500)))
    }

    /// A limit of a task's own; at times that it has none.
    pub fn some_allowance(&mut self, chance: u64) -> Option<Allowance> {
        let amount = self.some_limit(chance)?;
        Some(Allowance(if self.rng.percent(10) { None } else { Some(amount) }))
    }

    /// The owner resumes, raises or lowers a limit, or changes routes.
    pub fn spends(&mut self) {
        match self.rng.below(10) {
            0..=5 => {
                let parked: Vec<(TaskId, Option<PauseId>)> =
                    self.disk.written.tasks.values().filter(|row| !is_settled(row)).filter_map(parked).collect();
                let (task, pause) = self.rng.pick(&parked).copied().unwrap_or((self.some_task(), None));
                let pause = match self.rng.below(4) {
                    0 => None,
                    1 => Some(PauseId::from_bytes([1; 16])),
                    _ => pause,
                };
                let max_cost = self.some_allowance(20);
                self.resumes(task, pause, max_cost);
            }
            6..=8 => {
                let limits = self.limits();
                if let Some(settings) = self.server.as_ref().map(|server| server.core.settings()) {
                    self.send(100, Message::Input(Input::Configure(Settings { limits, ..settings })));
                }
            }
            _ => self.send(100, Message::Input(Input::Money(MoneyInput::RoutesChanged))),
        }
    }

    fn resumes(&mut self, task: TaskId, pause: Option<PauseId>, max_cost: Option<Allowance>) {
        let free = self.rng.percent(20);
        let command = TaskCommand::Resume { pause, max_cost, free };
        self.request(Ask::Other, |request| Input::Task { request, task, command });
    }

    /// In the calm: whatever waits for its owner goes on, with all the money it wants. Whether
    /// anything does.
    pub fn resume_everything(&mut self) -> bool {
        let paused =
            |row: &&TaskRow| row.state == TaskState::Queued && matches!(row.park.as_deref(), Some(Park::Paused(_)));
        let paused: Vec<TaskId> = self.disk.written.tasks.values().filter(paused).map(|row| row.id).collect();
        let any = !paused.is_empty() && self.server.is_some();
        for task in paused {
            self.resumes(task, None, Some(Allowance(None)));
        }
        any
    }
}

fn parked(row: &TaskRow) -> Option<(TaskId, Option<PauseId>)> {
    match row.park.as_deref()? {
        Park::Pausing(pause) | Park::Paused(pause) | Park::Granted(pause) => Some((row.id, Some(pause.id))),
        Park::Waiting(_) => Some((row.id, None)),
    }
}
