//! Fake workers: each is a state machine that does its work, or goes wrong.

use crate::os::Os;
use crate::server::{Frame, Message};
use crate::truth::Truth;
use crate::world::{Event, World};
use ouroboros_domain::{Input, KeptReport, WorkerEvent, WorkerExit};
use ouroboros_proto::kind::{
    AttemptId, AttemptReport, Captured, Ending, Generation, Identity, Isolation, ProcessId, TaskId, Usage, WorkerId,
};

/// The namespace that workers are counted in.
const HOST: u64 = 1;

pub type Key = (Generation, WorkerId);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// Its process is being made.
    Spawning,
    Alive,
    Dead(WorkerExit),
    /// It never was.
    Never,
}

/// How an attempt goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slip {
    None,
    DiesBeforeStart,
    DiesAtBarrier,
    DiesRunning,
    DiesAfterEnd,
    DiesAfterEndKeeping,
    DiesAfterTerminal,
    Stalls,
    SetUpFails,
    NeverLeaves,
}

const SLIPS: [Slip; 9] = [
    Slip::DiesBeforeStart,
    Slip::DiesAtBarrier,
    Slip::DiesRunning,
    Slip::DiesAfterEnd,
    Slip::DiesAfterEndKeeping,
    Slip::DiesAfterTerminal,
    Slip::Stalls,
    Slip::SetUpFails,
    Slip::NeverLeaves,
];

/// The next thing that a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Spawned,
    Greet,
    Begin,
    ToolEnds,
    Report,
    Leave,
    StopTool,
    /// Its lifeline to a dead server breaks.
    Orphaned,
    /// It goes on with whatever it waits for, in the calm at the end.
    Nudge,
}

pub struct Work {
    pub attempt: AttemptId,
    pub task: TaskId,
    pub slip: Slip,
    pub tool: Option<(i32, Identity)>,
    pub ending: Option<Ending>,
    pub sequence: u64,
    pub log: Vec<(u64, Frame)>,
    pub terminal: Option<(u64, AttemptReport)>,
    /// Its ending lies on disk.
    pub kept: bool,
    pub acknowledged: bool,
    /// What it waits for the owner to answer.
    pub asks: Option<(u32, ouroboros_domain::KeyHash)>,
}

pub struct Worker {
    pub key: Key,
    pub isolation: Isolation,
    pub life: Life,
    pub process: ProcessId,
    pub pid: i32,
    pub identity: Identity,
    /// The server has seen its hello.
    pub greeted: bool,
    pub work: Option<Work>,
    /// When its last message arrives: its messages keep their order.
    pub arrival: u64,
    /// To be killed as soon as it exists.
    pub condemned: bool,
    pub wedged: bool,
    pub gone_told: bool,
    pub gone_committed: bool,
}

impl Worker {
    pub fn new(key: Key, isolation: Isolation, process: ProcessId, os: &Os) -> Self {
        let identity = Identity { boot_id: os.boot_id, namespace: 0, pid: 0, start_ticks: 0, pidfd_inode: None };
        Self {
            key,
            isolation,
            life: Life::Spawning,
            process,
            pid: 0,
            identity,
            greeted: false,
            work: None,
            arrival: 0,
            condemned: false,
            wedged: false,
            gone_told: false,
            gone_committed: false,
        }
    }
}

pub fn report(ending: Ending) -> AttemptReport {
    AttemptReport { ending, usage: Usage::default(), stdout: Captured::default(), stderr: Captured::default() }
}

impl World {
    /// Runs `what` on a worker that is alive.
    pub fn alive<T>(&mut self, key: Key, what: impl FnOnce(&mut Worker) -> T) -> Option<T> {
        self.workers.get_mut(&key).filter(|worker| worker.life == Life::Alive).map(what)
    }

    pub fn schedule(&mut self, key: Key, low: u64, high: u64, act: Act) {
        let after = self.rng.span(low, high);
        self.at(after, Event::Worker { key, act });
    }

    /// Sends something about a worker to the server it belongs to, after everything sent before.
    pub fn tell(&mut self, key: Key, message: Message) {
        let latency = self.rng.span(20, 2_000);
        let Some(life) = self.server.as_ref().filter(|server| server.generation == key.0).map(|server| server.life)
        else {
            return;
        };
        let Some(worker) = self.workers.get_mut(&key) else { return };
        let arrival = (self.now + latency).max(worker.arrival + 1);
        worker.arrival = arrival;
        self.at(arrival - self.now, Event::Arrive { life, message });
    }

    /// A worker sends a frame; it keeps it until it is acknowledged.
    pub fn send_frame(&mut self, key: Key, frame: Frame) {
        let (lost, twice) = (self.rng.percent(self.profile.loses_frame), self.rng.percent(self.profile.repeats));
        let sent = self.alive(key, |worker| {
            let work = worker.work.as_mut()?;
            work.sequence += 1;
            work.log.push((work.sequence, frame.clone()));
            if let Frame::Terminal(report) = &frame {
                work.terminal = Some((work.sequence, *report));
            }
            Some((work.attempt, work.sequence))
        });
        let Some((attempt, sequence)) = sent.flatten() else { return };
        let generation = key.0;
        let terminal = matches!(frame, Frame::Terminal(_));
        if self.rng.percent(self.profile.lies) {
            self.lie(key, attempt, sequence);
        }
        let message = Message::Frame { key, attempt, generation, sequence, frame };
        if lost && !terminal {
            return self.mark("frame lost");
        }
        if twice {
            self.mark("frame repeated");
            self.tell(key, message.clone());
        }
        self.tell(key, message);
        if terminal && self.rng.percent(self.profile.lies) {
            self.mark("lie after the end");
            let frame = Frame::Terminal(report(Ending::Exited { code: 99 }));
            self.tell(key, Message::Frame { key, attempt, generation, sequence: sequence + 1, frame });
        }
    }

    /// A frame that must change nothing: of another attempt, another generation, out of order.
    fn lie(&mut self, key: Key, attempt: AttemptId, sequence: u64) {
        self.mark("lie");
        let (mut attempt, mut generation, mut sequence) = (attempt, key.0, sequence);
        match self.rng.below(4) {
            0 => generation = Generation::new(generation.get().wrapping_sub(1)),
            1 => generation = generation.next(),
            2 => sequence += 1 + self.rng.below(5),
            _ => {
                let others: Vec<AttemptId> = self.truth.keys().copied().filter(|other| *other != attempt).collect();
                attempt = self.rng.pick(&others).copied().unwrap_or(AttemptId::from_bytes([7; 16]));
            }
        }
        let frame = Frame::Terminal(report(Ending::Exited { code: 99 }));
        self.tell(key, Message::Frame { key, attempt, generation, sequence, frame });
    }

    pub fn act(&mut self, key: Key, act: Act) {
        match act {
            Act::Spawned => self.spawned(key),
            Act::Greet => {
                if self.alive(key, |_| ()).is_some() {
                    self.tell(key, Message::Input(Input::Worker { worker: key.1, event: WorkerEvent::Ready }));
                }
            }
            Act::Begin => self.begin(key),
            Act::ToolEnds => self.tool_ends(key),
            Act::Report => self.report(key),
            Act::Leave => self.leave(key),
            Act::StopTool => self.stop_tool(key),
            Act::Orphaned => self.orphaned(key),
            Act::Nudge => self.nudge(key),
        }
    }

    fn spawned(&mut self, key: Key) {
        let unkillable = self.rng.percent(self.profile.unkillable);
        let dies = self.rng.percent(self.profile.dies_at_start);
        let greets = !self.rng.percent(self.profile.never_greets);
        let Some(worker) = self.workers.get_mut(&key).filter(|worker| worker.life == Life::Spawning) else { return };
        let (pid, identity) = self.os.fork(self.now, HOST, None, unkillable);
        worker.life = Life::Alive;
        worker.pid = pid;
        worker.identity = identity.clone();
        let (process, condemned) = (worker.process, worker.condemned);
        if unkillable {
            let after = self.rng.span(100_000, 600_000_000);
            self.at(after, Event::Yield { pid });
        }
        self.tell(
            key,
            Message::Input(Input::Worker { worker: key.1, event: WorkerEvent::Spawned { process, identity } }),
        );
        if condemned {
            return self.end_worker(key);
        }
        if dies {
            self.mark("worker died at start");
            let exit = self.some_exit();
            return self.die(key, exit);
        }
        if greets {
            self.schedule(key, 500, 20_000, Act::Greet);
        }
    }

    /// Everything up to `sequence` is recorded.
    pub fn acknowledged(&mut self, key: Key, attempt: AttemptId, sequence: u64) {
        let found = self.alive(key, |worker| {
            let work = worker.work.as_mut().filter(|work| work.attempt == attempt)?;
            work.log.retain(|(number, _)| *number > sequence);
            let over = work.terminal.is_some_and(|(number, _)| number <= sequence);
            work.acknowledged |= over;
            Some((over, work.slip))
        });
        match found.flatten() {
            Some((true, Slip::NeverLeaves)) => self.mark("never leaves"),
            Some((true, _)) => self.schedule(key, 50, 5_000, Act::Leave),
            Some((false, _)) | None => {}
        }
    }

    pub fn resend(&mut self, key: Key, attempt: AttemptId, after: u64) {
        let found = self.alive(key, |worker| {
            let work = worker.work.as_ref().filter(|work| work.attempt == attempt)?;
            Some(work.log.iter().filter(|(number, _)| *number > after).cloned().collect::<Vec<_>>())
        });
        for (sequence, frame) in found.flatten().unwrap_or_default() {
            self.tell(key, Message::Frame { key, attempt, generation: key.0, sequence, frame });
        }
    }

    fn leave(&mut self, key: Key) {
        if self.alive(key, |worker| worker.work.as_ref().is_some_and(|work| work.acknowledged)) == Some(true) {
            self.die(key, WorkerExit::Code(0));
        }
    }

    pub fn stop(&mut self, key: Key, attempt: AttemptId, grace: u64) {
        if self.alive(key, |worker| worker.work.as_ref().map(|work| work.attempt)) != Some(Some(attempt)) {
            return;
        }
        if self.rng.percent(self.profile.ignores_stop) {
            return self.mark("stop ignored");
        }
        self.schedule(key, 50, grace.max(100) * 1_000, Act::StopTool);
    }

    fn nudge(&mut self, key: Key) {
        let found = self.alive(key, |worker| {
            let work = worker.work.as_mut()?;
            work.slip = Slip::None;
            let waits = work.asks.is_some();
            Some((work.tool.clone(), work.ending, work.acknowledged, (work.attempt, waits)))
        });
        if let Some(Some((.., (attempt, _)))) = &found {
            let attempt = *attempt;
            self.resend(key, attempt, 0);
        }
        match found.flatten() {
            None => {}
            Some((_, _, true, _)) => self.leave(key),
            Some((_, Some(_), false, _)) => self.report(key),
            Some((Some((pid, _)), None, ..)) if self.os.table.get(&pid).is_some_and(|proc| proc.runs) => {
                self.tool_ends(key);
            }
            // It goes on with the answer.
            Some((_, None, _, (_, true))) => {}
            Some((_, None, _, (attempt, false))) => self.ask_again(key, attempt),
        }
    }

    /// What the worker that had this attempt left on disk, once it is dead.
    pub fn kept(&self, attempt: AttemptId) -> Option<KeptReport> {
        let worker = self.workers.get(&self.truth.get(&attempt)?.worker)?;
        let work = worker.work.as_ref().filter(|work| work.attempt == attempt && work.kept)?;
        let dead = matches!(worker.life, Life::Dead(_));
        let ending = work.ending.filter(|_| dead)?;
        let sequence = work.terminal.map_or(work.sequence + 1, |(number, _)| number);
        Some(KeptReport { attempt, sequence, report: report(ending) })
    }

    pub fn some_exit(&mut self) -> WorkerExit {
        match self.rng.below(4) {
            0 => WorkerExit::Code(101),
            1 => WorkerExit::Signal(11),
            2 => WorkerExit::Signal(6),
            _ => WorkerExit::Signal(9),
        }
    }

    /// A task reaches a worker.
    pub fn assigned(&mut self, key: Key, attempt: AttemptId, task: TaskId) {
        let slips = self.rng.percent(self.profile.slips);
        let slip = if slips { self.rng.pick(&SLIPS).copied().unwrap_or(Slip::None) } else { Slip::None };
        let busy = self.alive(key, |worker| worker.work.is_some());
        self.check(busy != Some(true), || format!("worker {} is given a second attempt", key.1));
        self.truth.insert(attempt, Truth { worker: key, tools: Vec::new(), ran: false, natural: None, shown: None });
        let given = self.alive(key, |worker| {
            worker.work = Some(Work {
                attempt,
                task,
                slip,
                tool: None,
                ending: None,
                sequence: 0,
                log: Vec::new(),
                terminal: None,
                kept: false,
                acknowledged: false,
                asks: None,
            });
        });
        if given.is_some() {
            self.schedule(key, 100, 20_000, Act::Begin);
        }
    }
}
