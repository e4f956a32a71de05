//! Makes effects happen. Called in commit order on the writer's thread, so nothing here waits.

use super::answers;
use super::live::LiveRegistry;
use super::work::{WorkError, WorkFactory};
use crate::custody::{Assigned, Hatchery, Reaper, Table};
use crate::life::housekeeping::Occasion;
use crate::link::Link;
use crate::models::{Asked, Calls};
use crate::supervisor::inbox::{Inbox, Message};
use crossbeam_channel::Sender;
use ouroboros_domain::{Effect, WorkerEvent};
use ouroboros_proto::kind::{AttemptId, ExitCode, Generation, TaskId, WorkerId};
use ouroboros_proto::wire::{Order, ToWorker};
use std::sync::Arc;

/// What effects act on.
pub struct Executor {
    /// This life.
    pub generation: Generation,
    /// Workers.
    pub table: Arc<Table>,
    /// Starts workers.
    pub hatchery: Hatchery,
    /// Ends what dead workers and lives left.
    pub reaper: Reaper,
    /// Watches workers.
    pub link: Link,
    /// Live output.
    pub live: Arc<LiveRegistry>,
    /// Turns a stored specification into work.
    pub work: WorkFactory,
    /// Calls of models.
    pub calls: Arc<Calls>,
    /// Who waits for answers about money.
    pub asked: Asked,
    /// Where trouble with an effect goes.
    pub inbox: Arc<Inbox>,
    /// Removes what nothing names any more.
    pub housekeeping: Sender<Occasion>,
    /// Where the last effect goes.
    pub exit: Sender<ExitCode>,
}

impl Executor {
    /// Makes one effect happen. Replies are given by the caller.
    pub fn execute(&mut self, effect: Effect) {
        match effect {
            Effect::Reply { .. } => {}
            Effect::SpawnWorker { worker, isolation } => self.hatchery.spawn(worker, isolation),
            Effect::Assign { worker, attempt, ordinal, task, timeout, inherited, unheard } => {
                self.live.begin(task, attempt, ordinal);
                match self.work.order(task, attempt, timeout, (inherited, unheard)) {
                    Ok(order) => self.table.assign(worker, Assigned { task, attempt }, &self.frame(attempt, order)),
                    Err(error) => self.unreadable(worker, task, attempt, &error),
                }
            }
            Effect::Release { worker, attempt, process } => self.send(worker, attempt, Order::Release { process }),
            Effect::Stop { worker, attempt, grace } => self.send(worker, attempt, Order::Stop { grace }),
            Effect::Acknowledge { worker, attempt, sequence } => {
                if let Some(Assigned { task, .. }) = self.table.assigned(worker) {
                    self.live.recorded(task, attempt);
                }
                // From here on the next call may leave.
                self.calls.recorded(worker, sequence);
                self.send(worker, attempt, Order::Acknowledge { sequence });
            }
            Effect::Resend { worker, attempt, after } => {
                // Up to there everything is durable, whether or not it was acknowledged before.
                self.calls.recorded(worker, after);
                self.send(worker, attempt, Order::Resend { after });
            }
            Effect::EndWorker { worker } => {
                self.calls.call_off_all(worker);
                // A worker that does not exist yet is killed by the hatchery's own failure, or when it says hello too late.
                if self.table.kill(worker) {
                    self.link.killed(worker);
                }
            }
            Effect::Dismiss { worker } => {
                self.calls.gone(worker);
                if let Some(assigned) = self.table.dismiss(worker) {
                    self.work.output.tidy(&assigned.attempt);
                }
            }
            Effect::Reap { process, identity, attempt } => self.reaper.ledger(process, identity, attempt),
            Effect::DropOutput { task } => {
                // When too many wait, retention finds the files later: they have no row.
                let _ = self.housekeeping.try_send(Occasion::Forgotten(task));
            }
            Effect::Answer { send, answer } => self.asked.answer(send, answer),
            Effect::Answered { worker, attempt, task, number } => match answers::order(&self.work.reader, task, number)
            {
                Ok(order) => self.send(worker, attempt, order),
                // It would wait for ever.
                Err(error) => self.unreadable(worker, task, attempt, &error),
            },
            Effect::Tell { worker, attempt, task } => match self.work.messages(task) {
                Ok(messages) => {
                    for (number, text) in messages {
                        self.send(worker, attempt, Order::Message { number, text });
                    }
                }
                // It is told again with the next one, and with the next attempt.
                Err(error) => tracing::error!(%task, %error, "what was said to a task cannot be read"),
            },
            Effect::CancelCall { worker, attempt, call } => self.send(worker, attempt, Order::CancelCall { call }),
            Effect::Interrupt { worker, attempt, hold } => self.send(worker, attempt, Order::Interrupt { hold }),
            Effect::Exit(code) => {
                // The first one counts.
                let _ = self.exit.try_send(code);
            }
        }
    }

    fn send(&self, worker: WorkerId, attempt: AttemptId, order: Order) {
        self.table.send(worker, &self.frame(attempt, order));
    }

    fn frame(&self, attempt: AttemptId, order: Order) -> ToWorker {
        ToWorker { attempt, generation: self.generation, order }
    }

    fn unreadable(&self, worker: WorkerId, task: TaskId, attempt: AttemptId, error: &WorkError) {
        tracing::error!(task = %task, %error, "what a task's worker is to be told cannot be read; the task fails");
        self.inbox.push_worker(Message::about(worker, WorkerEvent::Unreadable { attempt }));
    }
}
