//! The owner: asks for things at random, and remembers what was promised.

use crate::image::is_settled;
use crate::server::Message;
use crate::world::{Event, World};
use ouroboros_domain::{
    Input, KeyHash, NewMessage, NewTask, Policy, QueueCommand, Refusal, Reply, RequestId, ShutdownKind, Spec,
    TaskCommand,
};
use ouroboros_proto::kind::{Isolation, Millis, Priority, TaskId, WorkKind};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What was asked, for judging the answer.
pub enum Ask {
    Submit(Vec<(TaskId, Option<(KeyHash, KeyHash)>)>),
    Cancel(TaskId),
    Remove(TaskId),
    Retry(TaskId),
    Hold(TaskId),
    Answer(TaskId, u32),
    Message(TaskId),
    Other,
}

#[derive(Default)]
pub struct Client {
    pub lives: u64,
    pub clock_jumped: bool,
    requests: u64,
    pub pending: BTreeMap<RequestId, Ask>,
    /// Every id that was ever submitted, accepted or not.
    ids: Vec<TaskId>,
    /// Accepted, and nobody was told that it is forgotten.
    pub accepted: BTreeMap<TaskId, Promise>,
    /// Tasks that may have been forgotten on purpose.
    removing: BTreeSet<TaskId>,
    keys: BTreeMap<KeyHash, (KeyHash, TaskId)>,
}

/// What the owner was told about a task.
#[derive(Default)]
pub struct Promise {
    pub cancelled: bool,
    pub removed: bool,
}

impl World {
    pub fn request(&mut self, ask: Ask, input: impl FnOnce(RequestId) -> Input) {
        self.client.requests += 1;
        let request = RequestId(self.client.requests);
        if self.server.is_none() {
            return;
        }
        self.client.pending.insert(request, ask);
        let after = if self.calm { 2_000_000 } else { self.rng.span(20, 500) };
        self.send(after, Message::Owner(input(request)));
    }

    pub fn some_task(&mut self) -> TaskId {
        let recent = self.client.ids.len().saturating_sub(12);
        let unknown = self.rng.task();
        if self.rng.percent(2) {
            return unknown;
        }
        let from = if self.rng.percent(70) { recent } else { 0 };
        self.rng.pick(&self.client.ids[from..]).copied().unwrap_or(unknown)
    }

    fn grace(&mut self) -> Option<Millis> {
        match self.rng.below(4) {
            0 => None,
            1 => Some(Millis::ZERO),
            _ => Some(Millis::new(self.rng.span(1, 10_000))),
        }
    }

    fn some_work(&mut self) -> WorkKind {
        if self.rng.percent(40) { WorkKind::Agent } else { WorkKind::Ask }
    }

    /// Some are the same, some lie beneath others.
    fn some_folder(&mut self) -> Option<Arc<str>> {
        const FOLDERS: [&str; 7] = ["/", "/a", "/a/b", "/a/b/c", "/a/c", "/a-b", "/d"];
        let chosen = self.rng.percent(self.profile.acts).then(|| self.rng.pick(&FOLDERS).copied())?;
        chosen.map(Arc::from)
    }

    fn new_task(&mut self) -> NewTask {
        let key = self.rng.percent(30).then(|| {
            let key = u8::try_from(self.rng.below(8)).unwrap_or(0);
            let body = u8::from(self.rng.percent(15));
            ([key; 16], [body; 16])
        });
        let after =
            if self.rng.percent(30) { (0..=self.rng.below(2)).map(|_| self.some_task()).collect() } else { Vec::new() };
        let delay = self.rng.percent(15).then(|| Millis::new(self.rng.span(1, 100_000)));
        let retries = if self.rng.percent(40) { u32::try_from(self.rng.below(4)).unwrap_or(0) } else { 0 };
        let host = self.rng.percent(40);
        let asks = self.profile.money && self.rng.percent(60);
        let max_cost = if asks { self.some_allowance(25) } else { None };
        let parent = (asks && self.rng.percent(25)).then(|| self.some_task());
        NewTask {
            id: self.rng.task(),
            kind: if asks { self.some_work() } else { WorkKind::Command },
            spec: Spec::New([1_u8][..].into()),
            contents: Vec::new(),
            key,
            priority: if self.rng.percent(70) {
                Priority::Normal
            } else {
                self.rng.pick(&Priority::ALL).copied().unwrap_or_default()
            },
            delay,
            after,
            hold: self.rng.percent(8),
            policy: Policy {
                rerun: self.rng.percent(30),
                retries,
                timeout: None,
                isolation: if host { Isolation::Host } else { Isolation::Namespace },
                max_cost,
            },
            parent,
            inherit: None,
            workspace: self.some_folder(),
        }
    }

    /// Submits a task that nothing keeps from starting.
    pub fn submit_plain(&mut self) {
        let task = NewTask {
            kind: WorkKind::Command,
            parent: None,
            inherit: None,
            key: None,
            delay: None,
            after: Vec::new(),
            hold: false,
            workspace: None,
            ..self.new_task()
        };
        let policy = Policy { retries: 0, ..task.policy };
        let asked = vec![(task.id, None)];
        self.request(Ask::Submit(asked), |request| Input::Submit { request, tasks: vec![NewTask { policy, ..task }] });
    }

    fn submit(&mut self) {
        let count = 1 + if self.rng.percent(30) { self.rng.below(4) } else { 0 };
        let tasks: Vec<NewTask> = (0..count).map(|_| self.new_task()).collect();
        if self.rng.percent(10) {
            self.client.ids.extend(tasks.iter().map(|task| task.id));
        }
        let asked = tasks.iter().map(|task| (task.id, task.key)).collect();
        self.request(Ask::Submit(asked), |request| Input::Submit { request, tasks });
    }

    pub fn owner_or_fault(&mut self) {
        if self.calm {
            return;
        }
        let after = if self.rng.percent(50) { self.rng.span(100, 20_000) } else { self.rng.span(10_000, 2_000_000) };
        self.at(after, Event::Owner);
        if self.rng.below(self.profile.fault_every) == 0 {
            return self.fault();
        }
        if self.profile.money && self.rng.percent(30) {
            return self.spends();
        }
        if self.profile.asks_owner > 0 && self.rng.percent(25) {
            return self.answer_something();
        }
        let task = self.some_task();
        let order = |command| move |request| Input::Task { request, task, command };
        match self.rng.below(100) {
            0..=49 => self.submit(),
            50..=62 => {
                let grace = self.grace();
                self.request(Ask::Cancel(task), order(TaskCommand::Cancel { grace }));
            }
            63..=66 => self.request(Ask::Hold(task), order(TaskCommand::Hold)),
            67..=71 => self.request(Ask::Other, order(TaskCommand::Release)),
            72..=75 => {
                let priority = self.rng.pick(&Priority::ALL).copied().unwrap_or_default();
                self.request(Ask::Other, order(TaskCommand::Reprioritise(priority)));
            }
            76..=77 => {
                let key = self.rng.percent(80).then(|| ([u8::try_from(self.rng.below(2)).unwrap_or(0); 16], [0; 16]));
                let message = NewMessage { task, text: "more".into(), key };
                // Who hears no answer asks again.
                if self.rng.percent(50) {
                    let message = message.clone();
                    self.request(Ask::Message(task), |request| Input::Message { request, message });
                }
                self.request(Ask::Message(task), |request| Input::Message { request, message });
            }
            78..=80 => {
                let id = self.rng.task();
                self.request(Ask::Retry(id), order(TaskCommand::Retry { id }));
            }
            81..=84 => {
                self.client.removing.insert(task);
                self.request(Ask::Remove(task), order(TaskCommand::Remove));
            }
            85..=87 => {
                let tasks = vec![task, self.some_task(), task];
                self.client.removing.extend(tasks.iter().copied());
                self.send(100, Message::Input(Input::Forget { tasks }));
            }
            88..=90 => self.request(Ask::Other, |request| Input::Queue { request, command: QueueCommand::Hold }),
            91..=95 => {
                let all = self.rng.percent(50);
                self.request(Ask::Other, |request| Input::Queue { request, command: QueueCommand::Release { all } });
            }
            96..=97 => {
                let slots = u32::try_from(self.rng.below(5)).unwrap_or(1);
                self.request(Ask::Other, |request| Input::Queue { request, command: QueueCommand::SetSlots(slots) });
            }
            _ => {
                let settings = self.settings();
                self.send(100, Message::Input(Input::Configure(settings)));
            }
        }
    }

    pub fn shut_down(&mut self, restart: bool, drain: bool) {
        let kind = if restart { ShutdownKind::Restart } else { ShutdownKind::Stop };
        self.request(Ask::Other, |request| Input::Shutdown { request: Some(request), kind, drain });
    }

    /// Lets everything go that the owner keeps back.
    pub fn release_everything(&mut self) {
        let settings = self.settings();
        self.send(2_000_000, Message::Input(Input::Configure(settings)));
        self.request(Ask::Other, |request| Input::Queue { request, command: QueueCommand::Release { all: true } });
    }

    /// An answer reaches the owner: from now on it is a promise.
    pub fn answered(&mut self, request: RequestId, reply: Reply) {
        let Some(ask) = self.client.pending.remove(&request) else {
            return self.fail(format!("{request:?} is answered twice, or was never asked"));
        };
        match (ask, reply) {
            (Ask::Submit(asked), Reply::Accepted(accepted)) => self.submit_answered(&asked, &accepted),
            (Ask::Submit(asked), Reply::Refused(Refusal::KeyConflict { .. })) => {
                self.mark("key conflict");
                let mut first = self.client.keys.clone();
                let conflicts = asked
                    .iter()
                    .filter_map(|(id, key)| key.map(|key| (id, key)))
                    .any(|(id, (key, body))| first.entry(key).or_insert((body, *id)).0 != body);
                let unsure = self.disk.staged.keys.len() > self.client.keys.len();
                self.check(conflicts || unsure, || "a key conflicts with nothing".to_owned());
            }
            (Ask::Cancel(task), Reply::Done) => {
                self.client.accepted.entry(task).and_modify(|promise| promise.cancelled = true);
            }
            (Ask::Remove(task), Reply::Done) => {
                self.client.accepted.entry(task).and_modify(|promise| promise.removed = true);
            }
            (Ask::Retry(id), Reply::Accepted(_)) => {
                self.client.ids.push(id);
                self.client.accepted.insert(id, Promise::default());
            }
            (Ask::Hold(task), Reply::Done) => {
                let running = self.disk.written.tasks.get(&task).is_some_and(|row| row.hold.is_some());
                if running {
                    self.mark("held");
                }
            }
            (Ask::Answer(task, number), Reply::Done) => self.answer_promised(task, number),
            (Ask::Message(task), Reply::Heard(number, duplicate)) => {
                self.mark(if duplicate { "message again" } else { "message" });
                let disk = &self.disk.synced;
                let stored = disk.messages.contains_key(&(task, number)) || disk.removed.contains(&task);
                self.check(stored, || format!("message {number} to {task} is accepted before it is stored"));
            }
            (_, Reply::Refused(refusal)) => self.mark(match refusal {
                Refusal::QueueFull { .. } => "refused: queue full",
                Refusal::Stopping => "refused: stopping",
                Refusal::KeyConflict { .. } => "refused: key conflict",
                Refusal::UnknownDependency { .. } => "refused: unknown dependency",
                Refusal::DependencyFailed { .. } => "refused: dependency failed",
                Refusal::UnknownTask => "refused: unknown task",
                Refusal::AlreadySettled => "refused: already settled",
                Refusal::NotSettled => "refused: not settled",
                Refusal::AlreadyRunning => "refused: already running",
                Refusal::HasDependents => "refused: has dependents",
                Refusal::ParentNotLive { .. } => "refused: parent not live",
                Refusal::NotPaused => "refused: not paused",
                Refusal::StillPausing => "refused: still pausing",
                Refusal::NothingLeft { .. } => "refused: nothing left",
                Refusal::RequestClosed => "refused: request closed",
                Refusal::TooManyRules { .. } => "refused: too many rules",
                Refusal::UnknownRule => "refused: unknown rule",
                Refusal::NotInWords => "refused: not in words",
                Refusal::NotListening { .. } => "refused: not listening",
                Refusal::TooManyMessages { .. } => "refused: too many messages",
                Refusal::NotRunning => "refused: not running",
                Refusal::StillAtWork { .. } => "refused: still at work",
            }),
            _ => {}
        }
    }

    fn submit_answered(
        &mut self,
        asked: &[(TaskId, Option<(KeyHash, KeyHash)>)],
        accepted: &[(TaskId, ouroboros_proto::kind::TaskNumber, bool)],
    ) {
        self.check(asked.len() == accepted.len(), || "an answer for another number of tasks".to_owned());
        for ((wanted, key), (given, _, duplicate)) in asked.iter().zip(accepted) {
            self.check(*duplicate || wanted == given, || format!("{wanted} was asked for, {given} was accepted"));
            if let Some((key, body)) = key {
                let known = *self.client.keys.entry(*key).or_insert((*body, *given));
                self.check(known == (*body, *given), || format!("a key stands for {given} and for {known:?}"));
            }
            if *duplicate {
                self.mark("duplicate key");
            } else {
                self.client.ids.push(*given);
                self.client.accepted.entry(*given).or_default();
                let stored = self.disk.synced.tasks.contains_key(given) || self.disk.synced.removed.contains(given);
                self.check(stored, || format!("{given} is accepted before it is stored"));
            }
        }
    }

    /// What was promised is on disk.
    pub fn check_promises(&mut self) {
        let disk = &self.disk.written;
        let mut broken = Vec::new();
        for (task, promise) in &self.client.accepted {
            match disk.tasks.get(task) {
                None if self.client.removing.contains(task) => {}
                None => broken.push(format!("accepted task {task} is lost")),
                Some(_) if promise.removed => broken.push(format!("removed task {task} is back")),
                Some(row) if promise.cancelled && row.cancel.is_none() && !is_settled(row) => {
                    broken.push(format!("the cancel of {task} is lost"));
                }
                Some(_) => {}
            }
        }
        if let Some(what) = broken.pop() {
            self.fail(what);
        }
    }
}
