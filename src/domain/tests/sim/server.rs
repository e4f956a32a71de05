//! The server as the real one drives the core: an input is looked up and stepped, its changes are queued for the disk, and its
//! effects happen when they are written, in that order.

use crate::disk::Pending;
use crate::gateway::Gateway;
use crate::image::is_settled;
use crate::worker::{Key, Life};
use crate::world::{Event, World};
use ouroboros_domain::{
    Boot, Core, Decision, Effect, Input, KeptReport, KeyHash, Living, Lookup, MessageRow, MoneyInput, NewRequest, Reap,
    Settings, WorkerEvent, WorkerExit, WorkerReport,
};
use ouroboros_proto::kind::{
    AttemptId, AttemptReport, ExitCode, Generation, HoldReason, Identity, Isolation, Millis, ProcessId, RequestKind,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// What a worker sends about its attempt. The server gives recorded processes their row's id.
#[derive(Debug, Clone)]
pub enum Frame {
    Started(Identity),
    Ended(Identity),
    /// More of a transcript.
    Entry,
    /// Something for the owner.
    Request {
        number: u32,
        digest: KeyHash,
    },
    Terminal(AttemptReport),
}

#[derive(Debug, Clone)]
pub enum Message {
    /// From the owner.
    Owner(Input),
    Input(Input),
    Frame {
        key: Key,
        attempt: AttemptId,
        generation: Generation,
        sequence: u64,
        frame: Frame,
    },
    Gone {
        key: Key,
    },
    Reaped {
        process: ProcessId,
        result: Reap,
        kept: Option<KeptReport>,
    },
}

pub struct Server {
    pub core: Core,
    /// Counts every start of a server process.
    pub life: u64,
    pub generation: Generation,
    /// An end was asked for.
    pub ending: bool,
    pub draining: bool,
    owner: VecDeque<Message>,
    others: VecDeque<Message>,
    comparisons: u64,
}

impl World {
    /// What an agent records: a message that waits for it, what it delivers, or something else.
    fn entry(&self, attempt: AttemptId, sequence: u64) -> WorkerReport {
        let entry: Arc<[u8]> = sequence.to_be_bytes()[..].into();
        let staged = &self.disk.staged;
        let task = staged.attempts.get(&attempt).map(|row| row.task);
        let waiting = staged.messages.values().find(|row| Some(row.task) == task && !row.taken);
        match waiting {
            Some(row) => WorkerReport::Took { number: row.number, entry },
            None if sequence.is_multiple_of(5) => WorkerReport::Delivered(entry),
            None => WorkerReport::Entry(entry),
        }
    }
}

impl World {
    pub fn settings(&mut self) -> Settings {
        let slots = if self.calm { 2 } else { u32::try_from(self.rng.below(4)).unwrap_or(1) };
        Settings {
            slots: slots.max(u32::from(self.rng.percent(80))),
            spares: u32::try_from(self.rng.below(3)).unwrap_or(0),
            max_tasks: if self.rng.percent(10) { 8 } else { 10_000 },
            cancel_grace: Millis::new(self.rng.below(5) * 700),
            ready_bound: Millis::seconds(5),
            limits: self.limits(),
            request_timeout: self.rng.percent(60).then(|| Millis::new(1 + self.rng.below(20_000))),
        }
    }

    /// The launcher starts the server.
    pub fn start(&mut self) {
        let generation = self.disk.written.generation.next();
        self.check_recovery();
        let core = Core::load(self.disk.written.loaded());
        let life = self.client.lives + 1;
        self.client.lives = life;
        self.server = Some(Server {
            core,
            life,
            generation,
            ending: false,
            draining: false,
            owner: VecDeque::new(),
            others: VecDeque::new(),
            comparisons: 0,
        });
        let hold = std::mem::take(&mut self.panicked).then_some(HoldReason::Panic);
        let boot = Boot {
            generation,
            settings: self.settings(),
            namespaces: !self.profile.host_only,
            hold,
            disown: false,
            living: Vec::new(),
        };
        self.step(Message::Input(Input::Boot(boot)));
    }

    /// A message is stepped at once, or waits until the disk has caught up.
    pub fn receive(&mut self, message: Message) {
        let full = self.disk.queue.len() >= self.profile.stack;
        let Some(server) = self.server.as_mut() else { return };
        match message {
            Message::Owner(_) if full => server.owner.push_back(message),
            _ if full || !server.others.is_empty() => server.others.push_back(message),
            _ => {
                self.step(message);
            }
        }
    }

    fn drain_inbox(&mut self) {
        while self.failure.is_none() && self.disk.queue.len() < self.profile.stack {
            let Some(server) = self.server.as_mut() else { return };
            let Some(message) = server.owner.pop_front().or_else(|| server.others.pop_front()) else { return };
            self.step(message);
        }
    }

    /// When the core wants a tick; `None` while it could not be stepped.
    pub fn tick_due(&self) -> Option<u64> {
        let server = self.server.as_ref()?;
        if self.disk.queue.len() >= self.profile.stack {
            return None;
        }
        let due = server.core.due();
        let wall = due.wall.map(|wall| u64::try_from(wall.get().saturating_sub(self.wall_offset)).unwrap_or(0));
        let boot = due.boot.map(|boot| boot.get());
        wall.into_iter().chain(boot).min().map(|due| due.max(self.now))
    }

    pub fn tick(&mut self) {
        let idle = self.step(Message::Input(Input::Tick));
        let again = self.tick_due();
        let now = self.now;
        self.check(!idle || again.is_none_or(|due| due > now), || {
            "a tick that did nothing is wanted again at once".to_owned()
        });
    }

    /// One step of the core. True when it decided nothing.
    pub fn step(&mut self, message: Message) -> bool {
        let (input, gone) = self.translate(message);
        let stamp = self.stamp();
        let Some(server) = self.server.as_mut() else { return true };
        let mut lookup = Lookup::default();
        let needs = server.core.needs(&input);
        for send in needs.sends {
            lookup.sends.extend(self.disk.written.sends.get(&send).map(|row| (send, row.clone())));
        }
        if let Some((task, without)) = needs.tree {
            lookup.tree = self.disk.written.tree(task, &without);
        }
        if let Some((task, key)) = needs.message {
            let same = |row: &&MessageRow| row.task == task && row.key.is_some_and(|(known, _)| known == key);
            lookup.message = self.disk.written.messages.values().find(same).copied();
        }
        for task in needs.tasks {
            if let Some(row) = self.disk.written.tasks.get(&task).filter(|row| is_settled(row)) {
                lookup.tasks.insert(task, row.clone());
            }
        }
        self.log(|| format!("step {input:?}"));
        self.note_kept(&input);
        self.note_input(&input);
        self.note_line(&input);
        let about = match &input {
            Input::Task { task, .. } => Some(*task),
            _ => None,
        };
        let late = match &input {
            Input::Money(MoneyInput::Late { send, receipt }) => Some((*send, receipt.cost.is_some())),
            _ => None,
        };
        let Some(server) = self.server.as_mut() else { return true };
        let Decision { changes, effects } = server.core.step(stamp, input, &lookup);
        server.comparisons += 1;
        let compare = server.comparisons % 16 == 0;
        self.log(|| format!("     {changes:?}"));
        self.log(|| format!("     {effects:?}"));
        self.note_answers(&effects);
        self.decided(&changes);
        self.judge_late(late);
        self.judge_free();
        self.judge_effects(&effects, about);
        self.note_lent(&effects);
        if compare {
            self.compare();
        }
        if changes.is_empty() && effects.is_empty() {
            return true;
        }
        self.disk.queue.push_back(Pending { changes: changes.into(), effects, gone });
        if self.disk.queue.len() == 1 && self.disk.queue[0].changes.is_empty() {
            let alone = self.disk.queue.pop_front();
            for effect in alone.into_iter().flat_map(|pending| pending.effects) {
                self.perform(effect);
            }
        } else {
            self.schedule_commit();
        }
        false
    }

    fn schedule_commit(&mut self) {
        if self.disk.commit_scheduled || self.disk.queue.is_empty() {
            return;
        }
        self.disk.commit_scheduled = true;
        let after = if self.profile.slow_disk { self.rng.span(1_000, 8_000_000) } else { self.rng.span(200, 30_000) };
        if let Some(life) = self.life() {
            self.at(after, Event::Commit { life });
        }
    }

    /// What a message is to the core.
    fn translate(&mut self, message: Message) -> (Input, Option<Key>) {
        match message {
            Message::Owner(input) => (input, None),
            Message::Input(input) => {
                if let Input::Worker { worker, event: WorkerEvent::Ready } = &input {
                    let key = (self.server.as_ref().map_or(Generation::default(), |server| server.generation), *worker);
                    if let Some(worker) = self.workers.get_mut(&key) {
                        worker.greeted = true;
                    }
                }
                (input, None)
            }
            Message::Reaped { process, result, kept } => (Input::Reaped { process, result, kept }, None),
            Message::Frame { key, attempt, generation, sequence, frame } => {
                let report = match frame {
                    Frame::Started(identity) => {
                        let process = self.rng.process();
                        WorkerReport::ProcessStarted { process, identity, command: "true".into() }
                    }
                    Frame::Ended(identity) => {
                        let rows = &self.disk.staged.processes;
                        let row = rows.values().find(|row| row.identity == identity).map(|row| row.id);
                        WorkerReport::ProcessEnded { process: row.unwrap_or(ProcessId::from_bytes([0; 16])) }
                    }
                    Frame::Entry => self.entry(attempt, sequence),
                    Frame::Request { number, digest } => {
                        let (kind, content) = (RequestKind::Question, digest[..].into());
                        WorkerReport::Request(NewRequest { number, kind, digest, content })
                    }
                    Frame::Terminal(report) => WorkerReport::Terminal(report),
                };
                let event = WorkerEvent::Report { attempt, generation, sequence, report };
                (Input::Worker { worker: key.1, event }, None)
            }
            Message::Gone { key } => {
                let work = self.workers.get(&key).and_then(|worker| worker.work.as_ref());
                let kept = work.map(|work| work.attempt).and_then(|attempt| self.kept(attempt));
                let exit = match self.workers.get_mut(&key) {
                    Some(worker) => {
                        worker.gone_told = true;
                        if let Life::Dead(exit) = worker.life { exit } else { WorkerExit::Signal(9) }
                    }
                    None => WorkerExit::Signal(9),
                };
                (Input::Worker { worker: key.1, event: WorkerEvent::Gone { exit, kept } }, Some(key))
            }
        }
    }

    /// The disk is done with a group, one way or another.
    pub fn commit(&mut self) {
        self.disk.commit_scheduled = false;
        let count = 1 + usize::try_from(self.rng.below(self.disk.queue.len().min(256) as u64)).unwrap_or(0);
        if self.rng.permille(self.profile.commit_errors) {
            return self.commit_failed(count);
        }
        let dies = self.rng.permille(self.profile.dies_in_commit);
        let group = match self.disk.write(count) {
            Ok(group) => group,
            Err(what) => return self.fail(format!("store refused: {what}")),
        };
        self.log(|| format!("committed {} decisions", group.len()));
        if let Some(server) = self.server.as_mut() {
            for pending in &group {
                server.core.durable(&pending.changes);
            }
        }
        for pending in &group {
            if let Some(worker) = pending.gone.and_then(|key| self.workers.get_mut(&key)) {
                worker.gone_committed = true;
            }
        }
        let life = self.life();
        let total = group.iter().map(|pending| pending.effects.len()).sum::<usize>();
        let until = if dies { usize::try_from(self.rng.below(total as u64 + 1)).unwrap_or(0) } else { total };
        for effect in group.into_iter().flat_map(|pending| pending.effects).take(until) {
            if self.life() != life || self.failure.is_some() {
                return;
            }
            self.perform(effect);
        }
        if dies {
            self.mark("killed between commit and effects");
            return self.crash();
        }
        self.drain_inbox();
        self.schedule_commit();
    }

    /// A commit that returned an error may have happened or not. The state is loaded again, or the server dies over it.
    fn commit_failed(&mut self, count: usize) {
        let visible = self.rng.percent(50);
        let group = match if visible { self.disk.write(count) } else { Ok(Vec::new()) } {
            Ok(group) => group,
            Err(what) => return self.fail(format!("store refused: {what}")),
        };
        self.mark(if visible { "commit error, visible" } else { "commit error, lost" });
        self.log(|| format!("commit of {count} failed, visible {visible}"));
        if self.rng.percent(20) {
            self.mark("killed after a commit error");
            return self.crash();
        }
        if let Err(what) = self.disk.sync() {
            return self.fail(what);
        }
        for effect in group.iter().chain(&self.disk.queue).flat_map(|pending| &pending.effects) {
            if let Effect::Reply { request, .. } = effect {
                self.client.pending.remove(request);
            }
        }
        self.disk.drop_queue();
        self.reload();
    }

    fn reload(&mut self) {
        let loaded = self.disk.written.loaded();
        let namespaces = !self.profile.host_only;
        let Some(server) = self.server.as_mut() else { return };
        let settings = server.core.settings();
        let generation = server.generation;
        server.core = server.core.reload(loaded);
        let mut living = Vec::new();
        let mut again = Vec::new();
        for (key, worker) in &mut self.workers {
            if key.0 != generation || worker.gone_committed {
                continue;
            }
            if worker.life == Life::Spawning {
                worker.life = Life::Never;
            }
            if worker.life == Life::Never {
                continue;
            }
            living.push(Living {
                worker: key.1,
                process: worker.process,
                identity: worker.identity.clone(),
                isolation: worker.isolation,
                ready: worker.greeted,
                attempt: worker.work.as_ref().map(|work| work.attempt),
            });
            let dead = matches!(worker.life, Life::Dead(_));
            if (dead && std::mem::take(&mut worker.gone_told)) || worker.wedged {
                again.push((*key, dead));
            }
        }
        let boot = Boot { generation, settings, namespaces, hold: None, disown: false, living };
        self.step(Message::Input(Input::Boot(boot)));
        self.tell_again();
        for (key, dead) in again {
            if self.workers.get(&key).is_some_and(|worker| worker.wedged) {
                self.tell_wedged(key);
            }
            if dead && !self.tools_alive(key) {
                self.tell_gone(key);
            }
        }
        self.drain_inbox();
    }

    fn tools_alive(&self, key: Key) -> bool {
        let work = self.workers.get(&key).and_then(|worker| worker.work.as_ref());
        work.and_then(|work| work.tool.as_ref()).is_some_and(|(pid, _)| self.os.alive(*pid))
    }

    /// SIGKILL to the server.
    pub fn crash(&mut self) {
        self.log(|| "server killed".to_owned());
        if self.rng.percent(30) {
            // The transaction under way reached the disk all the same.
            let count = self.disk.queue.len().min(3);
            if let Err(what) = self.disk.write(count) {
                return self.fail(format!("store refused: {what}"));
            }
        }
        self.disk.drop_queue();
        self.server_gone();
    }

    /// The server process is gone.
    pub fn server_gone(&mut self) {
        self.server = None;
        self.gateway = Gateway::default();
        self.client.pending.clear();
        self.orphan_all();
        let after = self.rng.span(1_000, 3_000_000);
        self.at(after, Event::Start);
    }

    /// The server leaves by itself: nothing it owes is open.
    pub fn exit(&mut self, code: ExitCode) {
        self.mark(if code == ExitCode::Restart { "restarted" } else { "stopped" });
        let generation = self.server.as_ref().map_or(Generation::default(), |server| server.generation);
        let left = self
            .workers
            .iter()
            .filter(|(key, worker)| key.0 == generation && worker.life == Life::Alive && !worker.wedged)
            .count();
        self.check(left == 0, || format!("server leaves while {left} of its workers live"));
        self.disk.drop_queue();
        self.server_gone();
    }

    /// A worker is to be started.
    pub fn spawn(&mut self, worker: ouroboros_proto::kind::WorkerId, isolation: Isolation) {
        self.spawned.push(self.elapsed);
        let Some(server) = self.server.as_ref() else { return };
        let key = (server.generation, worker);
        let process = self.rng.process();
        let fails = self.rng.percent(self.profile.spawn_fails);
        let mut fresh = crate::worker::Worker::new(key, isolation, process, &self.os);
        if fails {
            fresh.life = Life::Never;
        }
        let twice = self.workers.insert(key, fresh).is_some();
        self.check(!twice, || format!("worker number {worker} is used twice in generation {}", key.0));
        if fails {
            self.tell(key, Message::Input(Input::Worker { worker, event: WorkerEvent::SpawnFailed }));
        } else {
            self.schedule(key, 300, 30_000, crate::worker::Act::Spawned);
        }
    }
}
