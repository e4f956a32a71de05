//! Effects happen, and what must be true when they do.

use crate::server::Message;
use crate::worker::Key;
use crate::world::{Event, World};
use ouroboros_domain::{Effect, Input, WorkerEvent};
use ouroboros_proto::kind::{AttemptId, Generation, ProcessId, WorkerId};

impl World {
    fn key(&self, worker: WorkerId) -> Key {
        (self.server.as_ref().map_or(Generation::default(), |server| server.generation), worker)
    }

    pub fn perform(&mut self, effect: Effect) {
        self.log(|| format!("  do {effect:?}"));
        match effect {
            Effect::Reply { request, reply } => self.answered(request, reply),
            Effect::SpawnWorker { worker, isolation } => self.spawn(worker, isolation),
            Effect::Assign { worker, attempt, task, unheard, .. } => {
                let stored = self.disk.synced.attempts.get(&attempt);
                let matches = stored.is_some_and(|row| row.worker == worker && row.task == task);
                self.check(matches, || format!("attempt {attempt} is sent before it is stored"));
                let heard = unheard.iter().find(|number| self.heard.contains(&(task, **number)));
                self.check(heard.is_none(), || {
                    format!("{task} is told that request {heard:?} is unheard, and it was heard")
                });
                if !unheard.is_empty() {
                    self.mark("owner: not heard");
                }
                self.history.entry(task).or_default().push(attempt);
                if self.rng.permille(self.profile.unreadable) {
                    let event = WorkerEvent::Unreadable { attempt };
                    return self.tell(self.key(worker), Message::Input(Input::Worker { worker, event }));
                }
                self.assigned(self.key(worker), attempt, task);
            }
            Effect::Release { worker, attempt, process } => self.release(worker, attempt, process),
            Effect::Stop { worker, attempt, grace } => self.stop(self.key(worker), attempt, grace.get()),
            Effect::Acknowledge { worker, attempt, sequence } => {
                let stored = self.disk.synced.attempts.get(&attempt).map(|row| row.sequence);
                self.check(stored.is_none_or(|stored| stored >= sequence), || {
                    format!("report {sequence} of {attempt} is acknowledged, {stored:?} is stored")
                });
                self.acknowledged(self.key(worker), attempt, sequence);
            }
            Effect::Resend { worker, attempt, after } => self.resend(self.key(worker), attempt, after),
            Effect::EndWorker { worker } => {
                let known = self.workers.contains_key(&self.key(worker));
                self.check(known, || format!("worker {worker} is to be ended, but was never started"));
                self.end_worker(self.key(worker));
            }
            Effect::Reap { process, identity, attempt } => {
                let current = self.key(WorkerId::default()).0;
                let seen = self.disk.written.seen.contains(&process);
                let row = self.disk.written.processes.get(&process);
                let agrees = row.is_none_or(|row| row.identity == identity && row.generation < current);
                self.check(seen && agrees, || format!("{process} is to be ended, but is not recorded as of the dead"));
                let after = self.rng.span(200, 50_000);
                let pid = self.os.find(&identity).map_or(-1, |proc| proc.identity.pid);
                if let Some(life) = self.life() {
                    self.at(after, Event::Reaped { life, process, pid, attempt });
                }
            }
            Effect::DropOutput { task } => {
                let gone = !self.disk.written.tasks.contains_key(&task);
                self.check(gone, || format!("output of {task} is dropped while it is stored"));
            }
            // The fake system forgets a worker when its end is committed.
            Effect::Dismiss { .. } => {}
            // What is said and stopped is between the worker and its model.
            Effect::Tell { .. } | Effect::Interrupt { .. } | Effect::CancelCall { .. } => {}
            Effect::Answer { send, answer } => self.send_answered(send, answer),
            Effect::Answered { worker, attempt, task, number } => {
                self.owner_answered(self.key(worker), attempt, task, number);
            }
            Effect::Exit(code) => self.exit(code),
        }
    }

    fn release(&mut self, worker: WorkerId, attempt: AttemptId, process: ProcessId) {
        let recorded = self.disk.synced.seen.contains(&process);
        let released = self.disk.synced.attempts.get(&attempt).is_some_and(|row| row.released);
        self.check(recorded && released, || format!("{process} is released before it is stored"));
        if let Some(row) = self.disk.written.processes.get(&process) {
            let pid = row.identity.pid;
            self.released(self.key(worker), attempt, pid);
        }
    }
}
