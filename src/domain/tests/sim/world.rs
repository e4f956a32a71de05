//! The world of one seed: clocks, events in order of time, and everything that acts.

use crate::client::Client;
use crate::disk::Disk;
use crate::gateway::Gateway;
use crate::os::Os;
use crate::profile::Profile;
use crate::provider::Provider;
use crate::rng::Rng;
use crate::server::{Message, Server};
use crate::truth::Truth;
use crate::worker::{Act, Key, Worker};
use ouroboros_domain::{Reap, Stamp};
use ouroboros_proto::kind::{AttemptId, BootMicros, ProcessId, Requeue, SendId, TaskId, UtcMicros};
use std::collections::{BTreeMap, VecDeque};

/// Something that happens at a time.
pub enum Event {
    /// A message reaches the server of this life.
    Arrive { life: u64, message: Message },
    /// A worker does the next thing.
    Worker { key: Key, act: Act },
    /// The disk is done with a group.
    Commit { life: u64 },
    /// The reaper of this life is done with a process.
    Reaped { life: u64, process: ProcessId, pid: i32, attempt: Option<AttemptId> },
    /// The owner does something.
    Owner,
    /// The launcher starts the server.
    Start,
    /// A worker's call of a model reaches the server of this life.
    Asks { life: u64, key: Key, attempt: AttemptId },
    /// What comes of a send reaches the gateway of this life.
    Outcome { life: u64, send: SendId },
    /// The provider tells what a send cost that was given up.
    Receipt { send: SendId },
    /// A process that could not be killed can be.
    Yield { pid: i32 },
}

pub struct World {
    pub rng: Rng,
    pub profile: Profile,
    /// Microseconds on the boot clock.
    pub now: u64,
    /// Microseconds since this world began, whatever was booted in between.
    pub elapsed: u64,
    pub wall_offset: i64,
    events: BTreeMap<(u64, u64), Event>,
    order: u64,
    pub disk: Disk,
    pub os: Os,
    pub workers: BTreeMap<Key, Worker>,
    pub server: Option<Server>,
    pub client: Client,
    /// What the server of this life has under way with models.
    pub gateway: Gateway,
    pub provider: Provider,
    /// Why attempts went back into the queue, as far as was decided.
    pub requeued: BTreeMap<AttemptId, Requeue>,
    pub truth: BTreeMap<AttemptId, Truth>,
    /// Attempts of each task, in the order of their start.
    pub history: BTreeMap<TaskId, Vec<AttemptId>>,
    /// Requests whose answer a worker heard.
    pub heard: std::collections::BTreeSet<(TaskId, u32)>,
    /// The emergency stop left its marker.
    pub panicked: bool,
    pub calm: bool,
    pub steps: u64,
    /// When each worker was started.
    pub spawned: Vec<u64>,
    /// When the pool was said to be degraded, and when to have recovered.
    pub health: Vec<(u64, bool)>,
    pub failure: Option<String>,
    pub marks: BTreeMap<&'static str, u64>,
    traced: bool,
    lines: usize,
    pub trace: VecDeque<String>,
}

impl World {
    pub fn new(seed: u64, traced: bool) -> Self {
        let mut rng = Rng::new(seed);
        let profile = Profile::draw(&mut rng);
        let os = Os::new(rng.bytes());
        let mut world = Self {
            rng,
            profile,
            now: 1_000_000,
            elapsed: 0,
            wall_offset: 1_700_000_000_000_000,
            events: BTreeMap::new(),
            order: 0,
            disk: Disk::new(),
            os,
            workers: BTreeMap::new(),
            server: None,
            client: Client::default(),
            gateway: Gateway::default(),
            provider: Provider::default(),
            requeued: BTreeMap::new(),
            truth: BTreeMap::new(),
            history: BTreeMap::new(),
            heard: std::collections::BTreeSet::new(),
            panicked: false,
            calm: false,
            steps: 0,
            spawned: Vec::new(),
            health: Vec::new(),
            failure: None,
            marks: BTreeMap::new(),
            traced,
            lines: crate::number("OUROBOROS_SIM_TRACE").map_or(200, |lines| usize::try_from(lines).unwrap_or(200)),
            trace: VecDeque::new(),
        };
        world.at(0, Event::Start);
        world.at(1_000, Event::Owner);
        world
    }

    /// Records the first violation; the run ends with it.
    pub fn fail(&mut self, what: String) {
        self.log(|| format!("VIOLATION {what}"));
        self.failure.get_or_insert(what);
    }

    pub fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.fail(what());
        }
    }

    /// Counts a situation, so that a test can tell that it was reached.
    pub fn mark(&mut self, what: &'static str) {
        *self.marks.entry(what).or_default() += 1;
    }

    pub fn log(&mut self, line: impl FnOnce() -> String) {
        if self.traced {
            if self.trace.len() == self.lines {
                self.trace.pop_front();
            }
            self.trace.push_back(format!("{:>12} {}", self.elapsed, line()));
        }
    }

    pub fn wall(&self) -> UtcMicros {
        UtcMicros::new(self.wall_offset.saturating_add(i64::try_from(self.now).unwrap_or(i64::MAX)))
    }

    pub fn stamp(&mut self) -> Stamp {
        Stamp { wall: self.wall(), boot: BootMicros::new(self.now), fresh: self.rng.bytes(), entropy: self.rng.next() }
    }

    /// Lets something happen `after` microseconds from now.
    pub fn at(&mut self, after: u64, event: Event) {
        self.order += 1;
        self.events.insert((self.now.saturating_add(after), self.order), event);
    }

    /// A new boot of the machine: its clock starts again, and only what does not hang on it is still to come.
    pub fn reboot_clock(&mut self) {
        let old = std::mem::take(&mut self.events);
        let back = i64::try_from(self.now).unwrap_or(0);
        self.wall_offset = self.wall_offset.saturating_add(back);
        self.now = 1_000;
        for event in old.into_values().filter(|event| matches!(event, Event::Owner)) {
            self.at(1_000, event);
        }
    }

    /// The next thing happens: an event, or a tick that the core asked for. False when nothing will.
    pub fn advance(&mut self) -> bool {
        self.advance_within(u64::MAX)
    }

    /// The same, unless it would be after `elapsed`: then time passes until there.
    pub fn advance_within(&mut self, elapsed: u64) -> bool {
        self.steps += 1;
        let due = self.tick_due();
        let next = self.events.first_key_value().map(|(key, _)| key.0);
        let last = self.now.saturating_add(elapsed.saturating_sub(self.elapsed));
        if next.into_iter().chain(due).min().is_some_and(|first| first > last) {
            self.pass_to(last);
            return true;
        }
        match (next, due) {
            (_, Some(due)) if next.is_none_or(|next| due < next) => {
                self.pass_to(due);
                self.tick();
            }
            (Some(next), _) => {
                self.pass_to(next);
                if let Some((_, event)) = self.events.pop_first() {
                    self.happen(event);
                }
            }
            (None, _) => return false,
        }
        true
    }

    fn pass_to(&mut self, time: u64) {
        let time = time.max(self.now);
        self.elapsed += time - self.now;
        self.now = time;
    }

    fn happen(&mut self, event: Event) {
        let life = self.life();
        match event {
            Event::Arrive { life: meant, message } if life == Some(meant) => self.receive(message),
            Event::Commit { life: meant } if life == Some(meant) => self.commit(),
            Event::Reaped { life: meant, process, pid, attempt } if life == Some(meant) => {
                self.reap_done(process, pid, attempt);
            }
            Event::Asks { life: meant, key, attempt } if life == Some(meant) => self.asks(key, attempt),
            Event::Outcome { life: meant, send } if life == Some(meant) => self.outcome(send),
            Event::Receipt { send } => self.receipt_comes(send),
            Event::Arrive { .. }
            | Event::Commit { .. }
            | Event::Reaped { .. }
            | Event::Asks { .. }
            | Event::Outcome { .. } => {}
            Event::Worker { key, act } => self.act(key, act),
            Event::Owner => self.owner_or_fault(),
            Event::Start if self.server.is_none() => self.start(),
            Event::Start => {}
            Event::Yield { pid } => self.yields(pid),
        }
    }

    pub fn life(&self) -> Option<u64> {
        self.server.as_ref().map(|server| server.life)
    }

    /// Sends a message to the server that lives now.
    pub fn send(&mut self, after: u64, message: Message) {
        if let Some(life) = self.life() {
            self.at(after, Event::Arrive { life, message });
        }
    }

    /// What the reaper found when it ended `pid`.
    fn reap_done(&mut self, process: ProcessId, pid: i32, attempt: Option<AttemptId>) {
        let was_alive = self.os.alive(pid);
        let dead = self.kill(pid);
        let result = match (dead, was_alive) {
            (false, _) => Reap::Survives,
            (true, false) if self.rng.percent(30) => Reap::Stranger,
            (true, _) => Reap::Gone,
        };
        self.mark(match result {
            Reap::Survives => "reap: survives",
            Reap::Stranger => "reap: stranger",
            Reap::Gone => "reap: gone",
        });
        let kept = attempt.and_then(|attempt| self.kept(attempt));
        self.receive(Message::Reaped { process, result, kept });
    }
}
