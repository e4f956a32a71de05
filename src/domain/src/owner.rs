//! What the owner does to tasks and to the queue.

use crate::change::Change;
use crate::draft::Draft;
use crate::effect::{Effect, Refusal, Reply};
use crate::input::{Lookup, QueueCommand, RequestId, Settings, TaskCommand};
use crate::row::{TaskRow, TaskState};
use ouroboros_proto::kind::{Event, HoldReason, TaskId};

impl Draft<'_> {
    /// Does `command` to a task, or answers why not.
    pub fn task_command(&mut self, request: RequestId, task: TaskId, command: TaskCommand, lookup: &Lookup) {
        let Some(row) = self.core.find(task, lookup).cloned() else {
            return self.refuse(request, Refusal::UnknownTask);
        };
        match (command, &row.state) {
            (TaskCommand::Retry { id }, TaskState::Settled { .. }) => self.retry(request, id, &row, lookup),
            (TaskCommand::Remove, TaskState::Settled { .. }) => self.remove(request, &row),
            (TaskCommand::Retry { .. } | TaskCommand::Remove, _) => self.refuse(request, Refusal::NotSettled),
            (_, TaskState::Settled { .. }) => self.refuse(request, Refusal::AlreadySettled),
            (TaskCommand::Cancel { grace }, _) => {
                self.cancel(row, grace.unwrap_or(self.core.settings.cancel_grace));
                self.reply(request, Reply::Done);
            }
            (TaskCommand::Hold | TaskCommand::Reprioritise(_), TaskState::Running { .. }) => {
                self.refuse(request, Refusal::AlreadyRunning);
            }
            (TaskCommand::Interrupt { hold }, _) => self.interrupt(request, &row, hold),
            (TaskCommand::CancelCall { call }, _) => self.cancel_call(request, &row, call),
            (TaskCommand::Hold, _) => {
                self.hold_task(row);
                self.reply(request, Reply::Done);
            }
            (TaskCommand::Resume { pause, max_cost, free }, _) => {
                self.resume_task(request, row, pause, max_cost, free);
            }
            (TaskCommand::Release, _) => {
                self.release_task(row);
                self.reply(request, Reply::Done);
            }
            (TaskCommand::Reprioritise(priority), _) => {
                let about = (row.id, row.number);
                self.put_task(TaskRow { priority, ..row });
                self.event(Some(about), Event::Reprioritised { priority });
                self.reply(request, Reply::Done);
            }
        }
    }

    /// Does `command` to the whole queue.
    pub fn queue_command(&mut self, request: RequestId, command: QueueCommand) {
        match command {
            QueueCommand::Hold => self.hold_queue(Some(HoldReason::Owner)),
            QueueCommand::Release { all } => {
                self.hold_queue(None);
                if all {
                    for task in self.core.queue.held() {
                        if let Some(row) = self.core.unsettled(task).cloned() {
                            self.release_task(row);
                        }
                    }
                }
            }
            QueueCommand::SetSlots(slots) => self.configure(Settings { slots, ..self.core.settings }),
        }
        self.reply(request, Reply::Done);
    }

    /// Takes over settings that apply at once.
    pub fn configure(&mut self, settings: Settings) {
        let slots = (settings.slots != self.core.settings.slots).then_some(settings.slots);
        self.core.settings = settings;
        if let Some(slots) = slots {
            self.event(None, Event::SlotsChanged { slots });
        }
    }

    /// Holds or releases the whole queue.
    pub(crate) fn hold_queue(&mut self, hold: Option<HoldReason>) {
        if self.core.queue_hold != hold {
            self.put(Change::QueueHold(hold));
            self.event(None, Event::QueueHeld { held: hold.is_some(), by: hold });
        }
    }

    /// Forgets settled tasks whose time is over; those that others wait for stay.
    pub fn forget(&mut self, tasks: &[TaskId], lookup: &Lookup) {
        for task in tasks {
            let row = self.core.find(*task, lookup);
            if matches!(row.map(|row| &row.state), Some(TaskState::Settled { .. })) && self.may_forget(*task) {
                self.put(Change::TaskRemoved(*task));
                self.then(Effect::DropOutput { task: *task });
            }
        }
    }

    fn remove(&mut self, request: RequestId, row: &TaskRow) {
        if !self.may_forget(row.id) {
            return self.refuse(request, Refusal::HasDependents);
        }
        self.put(Change::TaskRemoved(row.id));
        self.then(Effect::DropOutput { task: row.id });
        self.reply(request, Reply::Done);
    }

    /// Nothing that lives or waits may point at a forgotten task.
    fn may_forget(&self, task: TaskId) -> bool {
        !self.core.queue.has_dependents(task) && !self.core.attempts.values().any(|attempt| attempt.task == task)
    }

    fn hold_task(&mut self, row: TaskRow) {
        if row.hold.is_none() {
            let about = (row.id, row.number);
            self.put_task(TaskRow { hold: Some(HoldReason::Owner), ..row });
            self.event(Some(about), Event::Held { by: HoldReason::Owner });
        }
    }

    fn release_task(&mut self, row: TaskRow) {
        if row.hold.is_some() {
            let about = (row.id, row.number);
            self.put_task(TaskRow { hold: None, ..row });
            self.event(Some(about), Event::Released);
        }
    }
}
