//! A core with everything around it doing its part at once.

use ouroboros_domain::{AttemptRow, Change};
use ouroboros_domain::{
    Boot, Core, Decision, Effect, Input, KeptReport, Limits, Loaded, Lookup, MessageRow, NewTask, Policy, ProcessRow,
    QueueCommand, Reap, Refusal, Reply, RequestId, SendRow, Settings, ShutdownKind, Spec, Stamp, Tally, TaskCommand,
    TaskRow, TaskState, WorkerEvent, WorkerExit, WorkerReport,
};
use ouroboros_proto::kind::{
    AttemptId, AttemptReport, BootMicros, Captured, Ending, Event, EventSeq, Generation, Identity, Isolation, Millis,
    Outcome, Priority, ProcessId, Role, SendId, TaskId, TaskNumber, Usage, UtcMicros, WorkKind, WorkerId,
};
use std::collections::{BTreeMap, VecDeque};

pub const NO_LIMITS: Limits = Limits { total: None, hour: None, tree: None, task: None, soft_percent: 100 };
pub const SETTINGS: Settings = Settings {
    slots: 4,
    spares: 1,
    max_tasks: 1_000,
    cancel_grace: Millis::seconds(5),
    ready_bound: Millis::seconds(5),
    limits: NO_LIMITS,
    request_timeout: None,
};

pub const PLAIN: Policy =
    Policy { rerun: false, retries: 0, timeout: None, isolation: Isolation::Namespace, max_cost: None };

/// Where an attempt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub worker: WorkerId,
    pub attempt: AttemptId,
}

pub struct Rig {
    pub core: Core,
    pub wall: i64,
    pub boot: u64,
    pub entropy: u64,
    count: u64,
    spawns: VecDeque<WorkerId>,
    /// Whether commits are late: the store does not know what was decided since.
    pub late: bool,
    /// Every settled task and how it was answered to the store.
    pub settled: BTreeMap<TaskId, TaskRow>,
    /// The last image of every send that the store knows.
    pub sends: BTreeMap<SendId, SendRow>,
    /// The last image of every attempt.
    pub attempts: BTreeMap<AttemptId, AttemptRow>,
    /// Every message.
    pub messages: BTreeMap<(TaskId, u32), MessageRow>,
    pub events: Vec<Event>,
}

pub fn boot_input(generation: u64, settings: Settings) -> Boot {
    Boot {
        generation: Generation::new(generation),
        settings,
        namespaces: true,
        hold: None,
        disown: false,
        living: Vec::new(),
    }
}

pub fn report(ending: Ending) -> AttemptReport {
    AttemptReport { ending, usage: Usage::default(), stdout: Captured::default(), stderr: Captured::default() }
}

pub fn identity(pid: i32) -> Identity {
    Identity { boot_id: [1; 16], namespace: 1, pid, start_ticks: 1, pidfd_inode: None }
}

pub fn process_row(id: ProcessId, generation: u64, place: Place, tool: bool) -> ProcessRow {
    ProcessRow {
        id,
        identity: identity(9),
        role: if tool { Role::Tool } else { Role::Worker },
        generation: Generation::new(generation),
        worker: place.worker,
        attempt: tool.then_some(place.attempt),
        command: "true".into(),
        recorded_at: UtcMicros::new(1),
    }
}

pub fn empty() -> Loaded {
    Loaded { next_number: TaskNumber::new(1), next_event: EventSeq::new(1), ..Loaded::default() }
}

impl Rig {
    pub fn new() -> Self {
        Self::with(SETTINGS)
    }

    pub fn with(settings: Settings) -> Self {
        let mut rig = Self::cold(empty());
        rig.step(Input::Boot(boot_input(1, settings)));
        rig
    }

    /// Loaded, but not booted.
    pub fn cold(rows: Loaded) -> Self {
        Self {
            core: Core::load(rows),
            wall: 1_000_000_000,
            boot: 1_000_000,
            entropy: 0,
            count: 0,
            spawns: VecDeque::new(),
            late: false,
            settled: BTreeMap::new(),
            sends: BTreeMap::new(),
            attempts: BTreeMap::new(),
            messages: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    /// The next life, from what the store would load, with everything of this one ended by identity.
    pub fn reborn(mut self, settings: Settings) -> Self {
        self.core = Core::load(self.loaded());
        self.spawns.clear();
        let generation = self.core.generation().get() + 1;
        let decision = self.step(Input::Boot(boot_input(generation, settings)));
        let reaped = decision.effects.into_iter().filter_map(|effect| match effect {
            Effect::Reap { process, .. } => Some(process),
            _ => None,
        });
        for process in reaped.collect::<Vec<_>>() {
            self.step(Input::Reaped { process, result: Reap::Gone, kept: None });
        }
        self.workers();
        self
    }

    fn bytes(&mut self) -> [u8; 16] {
        self.count += 1;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.count.to_be_bytes());
        bytes
    }

    pub fn process(&mut self) -> ProcessId {
        ProcessId::from_bytes(self.bytes())
    }

    pub fn step(&mut self, input: Input) -> Decision {
        let fresh = self.bytes();
        let stamp =
            Stamp { wall: UtcMicros::new(self.wall), boot: BootMicros::new(self.boot), fresh, entropy: self.entropy };
        let needs = self.core.needs(&input);
        let found = needs.tasks.iter().filter_map(|id| self.settled.get(id)).map(|row| (row.id, row.clone()));
        let sends = needs.sends.iter().filter_map(|id| self.sends.get(id)).map(|row| (row.id, row.clone())).collect();
        let tree = needs.tree.map(|(task, without)| {
            let root = self.settled.get(&task).map(|row| row.root);
            let rows = self.sends.values().filter(|row| Some(row.root) == root && !without.contains(&row.id));
            rows.map(Tally::of).fold(Tally::default(), Tally::plus)
        });
        let message = needs.message.and_then(|(task, key)| {
            let same = |row: &&MessageRow| row.task == task && row.key.is_some_and(|(known, _)| known == key);
            self.messages.values().find(same).copied()
        });
        let lookup = Lookup { tasks: found.collect(), sends, tree: tree.unwrap_or_default(), message };
        let decision = self.core.step(stamp, input, &lookup);
        for change in &decision.changes {
            match change {
                Change::Task(row) if matches!(row.state, TaskState::Settled { .. }) => {
                    let again = self.settled.insert(row.id, (**row).clone());
                    assert!(again.is_none(), "settled twice: {again:?}");
                }
                Change::TaskRemoved(task) if !self.late => {
                    self.settled.remove(task);
                }
                Change::Attempt(row) => {
                    self.attempts.insert(row.id, (**row).clone());
                }
                Change::Send(row) | Change::SendCorrected { row, .. } if !self.late => {
                    self.sends.insert(row.id, (**row).clone());
                }
                Change::Message { row, .. } => {
                    self.messages.insert((row.task, row.number), *row);
                }
                Change::MessageTaken { task, number } => {
                    self.messages.get_mut(&(*task, *number)).expect("it was said").taken = true;
                }
                Change::Event(row) => self.events.push(row.event.clone()),
                _ => {}
            }
        }
        if !self.late {
            self.core.durable(&decision.changes);
        }
        self.spawns.extend(decision.effects.iter().filter_map(|effect| match effect {
            Effect::SpawnWorker { worker, .. } => Some(*worker),
            _ => None,
        }));
        decision
    }

    pub fn tick(&mut self) -> Decision {
        self.step(Input::Tick)
    }

    /// Both clocks move on.
    pub fn pass(&mut self, span: Millis) -> Decision {
        self.wall += i64::try_from(span.get()).unwrap() * 1_000;
        self.boot += span.get() * 1_000;
        self.tick()
    }

    /// Workers that were asked for come and say hello, and those asked for because of it.
    pub fn workers(&mut self) -> Vec<Decision> {
        let mut decisions = Vec::new();
        while let Some(worker) = self.spawns.pop_front() {
            let process = self.process();
            let identity = identity(i32::try_from(worker.get()).unwrap());
            decisions.push(self.worker(worker, WorkerEvent::Spawned { process, identity }));
            decisions.push(self.worker(worker, WorkerEvent::Ready));
        }
        decisions
    }

    pub fn worker(&mut self, worker: WorkerId, event: WorkerEvent) -> Decision {
        self.step(Input::Worker { worker, event })
    }

    pub fn new_task(&mut self) -> NewTask {
        NewTask {
            id: TaskId::from_bytes(self.bytes()),
            kind: WorkKind::Command,
            spec: Spec::New([1_u8][..].into()),
            contents: Vec::new(),
            key: None,
            priority: Priority::Normal,
            delay: None,
            after: Vec::new(),
            hold: false,
            policy: PLAIN,
            parent: None,
            inherit: None,
            workspace: None,
        }
    }

    /// The answer to a submission.
    pub fn submit_all(&mut self, tasks: Vec<NewTask>) -> (Reply, Decision) {
        let decision = self.step(Input::Submit { request: RequestId(1), tasks });
        (reply(&decision), decision)
    }

    pub fn submit(&mut self, change: impl FnOnce(&mut NewTask)) -> TaskId {
        let mut task = self.new_task();
        change(&mut task);
        let id = task.id;
        let (reply, _) = self.submit_all(vec![task]);
        assert!(matches!(reply, Reply::Accepted(_)), "{reply:?}");
        id
    }

    /// Submits a task and lets it start.
    pub fn start(&mut self, policy: Policy) -> (TaskId, Place) {
        self.start_of(WorkKind::Command, policy)
    }

    /// The same, of this kind.
    pub fn start_of(&mut self, kind: WorkKind, policy: Policy) -> (TaskId, Place) {
        let task = self.submit(|task| (task.kind, task.policy) = (kind, policy));
        self.workers();
        (task, self.place(task).expect("it runs"))
    }

    /// The same, with its program running.
    pub fn run(&mut self, policy: Policy) -> (TaskId, Place) {
        let (task, place) = self.start(policy);
        self.started(place, 1);
        (task, place)
    }

    pub fn place(&self, task: TaskId) -> Option<Place> {
        match self.core.task(task)?.state {
            TaskState::Running { attempt } => Some(Place { worker: self.core.attempt(attempt)?.worker, attempt }),
            _ => None,
        }
    }

    pub fn report(&mut self, place: Place, sequence: u64, report: WorkerReport) -> Decision {
        let generation = self.core.generation();
        let event = WorkerEvent::Report { attempt: place.attempt, generation, sequence, report };
        self.worker(place.worker, event)
    }

    pub fn started(&mut self, place: Place, sequence: u64) -> Decision {
        let process = self.process();
        let started = WorkerReport::ProcessStarted { process, identity: identity(500), command: "true".into() };
        self.report(place, sequence, started)
    }

    pub fn terminal(&mut self, place: Place, sequence: u64, ending: Ending) -> Decision {
        self.report(place, sequence, WorkerReport::Terminal(report(ending)))
    }

    pub fn gone(&mut self, place: Place, exit: WorkerExit) -> Decision {
        self.gone_keeping(place, exit, None)
    }

    pub fn gone_keeping(&mut self, place: Place, exit: WorkerExit, ending: Option<Ending>) -> Decision {
        let kept = ending.map(|ending| KeptReport { attempt: place.attempt, sequence: 9, report: report(ending) });
        self.worker(place.worker, WorkerEvent::Gone { exit, kept })
    }

    pub fn order(&mut self, task: TaskId, command: TaskCommand) -> (Reply, Decision) {
        let decision = self.step(Input::Task { request: RequestId(2), task, command });
        (reply(&decision), decision)
    }

    pub fn cancel(&mut self, task: TaskId, grace: u64) -> Decision {
        self.order(task, TaskCommand::Cancel { grace: Some(Millis::new(grace)) }).1
    }

    pub fn queue(&mut self, command: QueueCommand) -> Decision {
        self.step(Input::Queue { request: RequestId(3), command })
    }

    pub fn shut_down(&mut self, kind: ShutdownKind, drain: bool) -> Decision {
        self.step(Input::Shutdown { request: Some(RequestId(4)), kind, drain })
    }

    pub fn outcome(&self, task: TaskId) -> Option<Outcome> {
        match &self.settled.get(&task)?.state {
            TaskState::Settled { outcome, .. } => Some(outcome.clone()),
            _ => None,
        }
    }

    /// What the store would load now.
    pub fn loaded(&self) -> Loaded {
        Loaded { dependencies: self.settled.clone(), ..self.core.rows() }
    }
}

pub fn reply(decision: &Decision) -> Reply {
    let replies: Vec<_> = decision
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Reply { reply, .. } => Some(reply.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(replies.len(), 1, "one answer: {replies:?}");
    replies[0].clone()
}

pub fn assert_refused(answer: &(Reply, Decision), refusal: Refusal) {
    assert_eq!(answer.0, Reply::Refused(refusal));
    assert_eq!(answer.1.changes, [], "a refusal changes nothing");
}
