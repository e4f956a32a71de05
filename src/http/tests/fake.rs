//! A supervisor and a store, in memory.

pub(crate) mod models;
mod operations;
mod view;

use crate::http::view::{AttemptRecord, CostQuery, Costs, RequestRecord, TaskRecord};
use crate::supervisor::handle::Answer;
use crate::supervisor::inbox::{Inbox, Message, Next};
use crate::supervisor::{Handle, Life, LiveRegistry, Status};
use bytes::Bytes;
use ouroboros_domain::{
    AttemptRow, Content, EventRow, Input, Limits, NewTask, Reply, RuleRow, SendRow, Settings, Spec, Tally, TaskCommand,
    TaskRow, TaskState,
};
use ouroboros_proto::api::{ApiError, KeySet, MessageView, PriceSet, QueueView, SlotsView, StreamView};
use ouroboros_proto::kind::{
    AttemptId, Ending, Event, EventSeq, Failure, Generation, InstallationId, Isolation, Millis, NanoDollars, Outcome,
    SendId, Stream, TaskId, TaskNumber, UtcMicros, WorkerId, clock,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::{broadcast, watch};

type Script = Box<dyn FnMut(&Input) -> Option<Answer> + Send>;

#[derive(Default)]
pub(crate) struct Store {
    pub tasks: BTreeMap<TaskNumber, TaskRecord>,
    pub attempts: Vec<AttemptRecord>,
    pub events: Vec<EventRow>,
    pub dropped: u64,
    pub output: BTreeMap<(AttemptId, Stream), Vec<u8>>,
    /// Bytes kept of head and tail, where not all are.
    pub kept: BTreeMap<(AttemptId, Stream), (usize, usize)>,
    /// Bytes that were dropped since what is kept was looked at.
    pub overtaken: u64,
    pub expired: bool,
    pub contents: Vec<[u8; 32]>,
    pub submitted: Vec<NewTask>,
    pub admission: Option<ApiError>,
    /// Sends, oldest first.
    pub sends: Vec<SendRow>,
    pub transcripts: BTreeMap<TaskId, Vec<String>>,
    pub messages: BTreeMap<TaskId, Vec<MessageView>>,
    /// What was sent and what came back.
    pub exchanges: BTreeMap<SendId, (Bytes, Bytes)>,
    /// What the owner said that sends cost.
    pub receipts: Vec<(SendId, NanoDollars)>,
    /// What a provider said a send cost before its owner did.
    pub known_cost: Option<NanoDollars>,
    pub costs: Costs,
    pub asked_costs: Vec<CostQuery>,
    /// Whether somebody waited for routes to be looked for.
    pub settled: bool,
    /// Why there is no route.
    pub no_route: Option<ApiError>,
    pub keys: Vec<KeySet>,
    pub prices: Vec<PriceSet>,
    pub requests: Vec<RequestRecord>,
    pub rules: Vec<RuleRow>,
}

pub(crate) struct World {
    store: Mutex<Store>,
    inbox: Arc<Inbox>,
    live: Arc<LiveRegistry>,
    events: broadcast::Sender<Arc<[EventRow]>>,
    status: watch::Sender<Arc<Status>>,
    script: Mutex<Script>,
    pub panics: Arc<AtomicU64>,
    handle: Handle,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl World {
    pub fn new() -> Arc<Self> {
        let (events, _) = broadcast::channel(16);
        let (status, watched) = watch::channel(Arc::new(status()));
        let (inbox, live) = (Arc::new(Inbox::default()), Arc::new(LiveRegistry::default()));
        let panics = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&panics);
        let panic = Arc::new(move || {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        let handle =
            Handle::new(Arc::clone(&inbox), events.clone(), watched, Arc::clone(&live), Arc::new(life()), panic);
        let script: Script = Box::new(|_| None);
        let store = Mutex::new(Store::default());
        Arc::new(Self {
            store,
            inbox,
            live,
            events,
            status,
            script: Mutex::new(script),
            panics,
            handle,
            thread: Mutex::new(None),
        })
    }

    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    pub fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap()
    }

    /// Answers these inputs; `None` leaves one to the default.
    pub fn script(&self, script: impl FnMut(&Input) -> Option<Answer> + Send + 'static) {
        *self.script.lock().unwrap() = Box::new(script);
    }

    pub fn set_status(&self, change: impl FnOnce(&mut Status)) {
        let mut now = Status::clone(&self.status.borrow());
        change(&mut now);
        self.status.send_replace(Arc::new(now));
    }

    /// Takes requests, on a thread of its own, until [`World::end`].
    pub fn run(self: &Arc<Self>) {
        let world = Arc::clone(self);
        let thread = std::thread::spawn(move || {
            while let Next::Message(message) = world.inbox.next(None, false) {
                let message = *message;
                let Some((_, reply)) = message.reply else { return };
                let scripted = world.script.lock().unwrap()(&message.input);
                let answer = scripted.unwrap_or_else(|| world.decide(message.input));
                let _ = reply.send(answer);
            }
        });
        *self.thread.lock().unwrap() = Some(thread);
    }

    fn decide(&self, input: Input) -> Answer {
        match input {
            Input::Submit { tasks, .. } => {
                Ok(Reply::Accepted(tasks.into_iter().map(|task| (task.id, self.add(task), false)).collect()))
            }
            Input::Task { task, command: TaskCommand::Retry { id }, .. } => {
                let number = self.number(task);
                let mut copy = self.store().tasks.get(&number).unwrap().clone();
                copy.row.state = TaskState::Queued;
                copy.row.id = id;
                copy.row.retry_of = Some(task);
                Ok(Reply::Accepted(vec![(id, self.insert(copy), false)]))
            }
            Input::Task { task, command: TaskCommand::Cancel { .. }, .. } => {
                self.settle(task, Outcome::Cancelled(ouroboros_proto::kind::CancelReason::Requested));
                Ok(Reply::Done)
            }
            Input::Message { message, .. } => {
                let mut store = self.store();
                let said = store.messages.entry(message.task).or_default();
                let number = u32::try_from(said.len()).unwrap() + 1;
                let (at, text) = (clock::wall().into(), message.text.to_string());
                said.push(MessageView { number, at, text, taken: None });
                Ok(Reply::Heard(number, false))
            }
            Input::Shutdown { .. } => Ok(Reply::Ending(vec![TaskNumber::new(1)])),
            _ => Ok(Reply::Done),
        }
    }

    fn add(&self, task: NewTask) -> TaskNumber {
        self.store().submitted.push(task.clone());
        let Spec::New(spec) = &task.spec else { panic!("a new task has a new specification") };
        let row = TaskRow {
            id: task.id,
            number: TaskNumber::new(0),
            kind: task.kind,
            priority: task.priority,
            state: TaskState::Queued,
            hold: task.hold.then_some(ouroboros_proto::kind::HoldReason::Owner),
            not_before: task.delay.map(|delay| clock::wall().plus(delay)),
            after: task.after.into(),
            policy: task.policy,
            attempts: 0,
            retried: 0,
            crashes: 0,
            cancel: None,
            retry_of: None,
            submitted_at: clock::wall(),
            inherited: 0,
            root: task.id,
            park: None,
            workspace: task.workspace.clone(),
        };
        self.insert(TaskRecord {
            row,
            spec: Some(Bytes::copy_from_slice(spec)),
            started_at: None,
            behind: None,
            objective: None,
        })
    }

    fn insert(&self, mut record: TaskRecord) -> TaskNumber {
        let number = self.store().tasks.keys().last().map_or(TaskNumber::new(1), |last| last.next());
        let (id, retry_of) = (record.row.id, record.row.retry_of);
        record.row.number = number;
        self.store().tasks.insert(number, record);
        self.event(Some(id), Event::Submitted { retry_of });
        number
    }

    pub fn number(&self, task: TaskId) -> TaskNumber {
        self.store().tasks.values().find(|record| record.row.id == task).map(|record| record.row.number).unwrap()
    }

    pub fn id(&self, number: u64) -> TaskId {
        self.store().tasks.get(&TaskNumber::new(number)).unwrap().row.id
    }

    pub fn event(&self, task: Option<TaskId>, event: Event) -> EventSeq {
        let task = task.map(|task| (task, self.number(task)));
        let mut store = self.store();
        let seq = EventSeq::new(store.dropped + u64::try_from(store.events.len()).unwrap() + 1);
        let row = EventRow { seq, at: clock::wall(), task, event };
        store.events.push(row.clone());
        drop(store);
        // Nobody may be listening.
        let _ = self.events.send(Arc::from([row]));
        seq
    }

    /// Forgets the oldest events, as retention does.
    pub fn drop_events(&self, count: usize) {
        let mut store = self.store();
        store.events.drain(..count);
        store.dropped += u64::try_from(count).unwrap();
    }

    pub fn start(&self, task: TaskId) -> AttemptId {
        let attempt = AttemptId::mint();
        let number = self.number(task);
        let mut store = self.store();
        let record = store.tasks.get_mut(&number).unwrap();
        record.row.attempts += 1;
        record.row.state = TaskState::Running { attempt };
        record.started_at = Some(clock::wall());
        let ordinal = record.row.attempts;
        let row = AttemptRow {
            id: attempt,
            task,
            ordinal,
            generation: Generation::new(3),
            worker: WorkerId::new(1),
            started_at: clock::wall(),
            isolation: Isolation::Namespace,
            released: true,
            delivered: false,
            sequence: 0,
            report: None,
            ended_at: None,
            workspace: None,
        };
        store.attempts.push(AttemptRecord { row, stdout: StreamView::default(), stderr: StreamView::default() });
        drop(store);
        self.event(Some(task), Event::Started { attempt, ordinal });
        self.live.begin(task, attempt, ordinal);
        let identity = ouroboros_proto::kind::Identity {
            boot_id: [1; 16],
            namespace: 1,
            pid: 42,
            start_ticks: 1,
            pidfd_inode: None,
        };
        self.event(Some(task), Event::ProcessStarted { attempt, identity });
        attempt
    }

    pub fn write(&self, task: TaskId, attempt: AttemptId, stream: Stream, bytes: &[u8]) {
        let mut store = self.store();
        let output = store.output.entry((attempt, stream)).or_default();
        output.extend_from_slice(bytes);
        let written = u64::try_from(output.len()).unwrap();
        drop(store);
        self.live.grew(task, attempt, stream, written);
    }

    /// Something of the transcript became durable.
    pub fn record(&self, task: TaskId, attempt: AttemptId, entry: &serde_json::Value) {
        self.store().transcripts.entry(task).or_default().push(entry.to_string());
        self.live.recorded(task, attempt);
    }

    /// The model writes.
    pub fn hear(&self, task: TaskId, attempt: AttemptId, call: u32, text: &str) {
        self.live.heard(task, attempt, call, text);
    }

    /// An answer is whole.
    pub fn heard_out(&self, task: TaskId, attempt: AttemptId, call: u32) {
        self.live.heard_out(task, attempt, call);
    }

    /// Ends an attempt that is followed by another.
    pub fn end_attempt(&self, task: TaskId, attempt: AttemptId) {
        self.close(attempt);
        self.event(
            Some(task),
            Event::AttemptEnded { attempt, why: ouroboros_proto::kind::Requeue::Retry, not_before: None },
        );
        self.live.end(task, attempt);
    }

    pub fn finish(&self, task: TaskId, attempt: AttemptId, code: u8) {
        self.close(attempt);
        let outcome = match code {
            0 => Outcome::Completed,
            code => Outcome::Failed(Failure::Ended(Ending::Exited { code })),
        };
        self.settle(task, outcome);
        self.live.end(task, attempt);
    }

    fn close(&self, attempt: AttemptId) {
        let mut store = self.store();
        store.attempts.iter_mut().find(|record| record.row.id == attempt).unwrap().row.ended_at = Some(clock::wall());
    }

    pub fn settle(&self, task: TaskId, outcome: Outcome) {
        let number = self.number(task);
        self.store().tasks.get_mut(&number).unwrap().row.state =
            TaskState::Settled { outcome: outcome.clone(), at: clock::wall() };
        self.event(Some(task), Event::Settled { outcome, ending: None, usage: None });
    }
}

impl World {
    /// Stops answering: when it returns nothing is taken any more.
    pub fn end(&self) {
        if let Some(thread) = self.thread.lock().unwrap().take() {
            // An input that nobody waits for is the sign to leave.
            self.inbox.push_owner(Message::quiet(Input::Tick));
            // A script that panicked has failed its test already.
            let _ = thread.join();
        }
    }
}

/// What the contents of an accepted task hold.
pub(crate) fn content<'a>(contents: &'a [Content], hash: &str) -> &'a [u8] {
    &contents.iter().find(|content| ouroboros_proto::kind::hex::hex(&content.hash) == hash).unwrap().bytes
}

fn life() -> Life {
    Life {
        installation: InstallationId::from_bytes([0xab; 16]),
        generation: Generation::new(3),
        started_at: UtcMicros::new(1_796_040_000_000_000),
        launcher_pid: Some(100),
        build: "test".to_owned(),
        namespaces: Ok(()),
    }
}

fn status() -> Status {
    Status {
        booted: true,
        ready: true,
        stopping: false,
        alarms: Vec::new(),
        queue: QueueView { queued: 1, waiting: 0, held: 0, paused: 0, running: 1, settled: 5, queue_held: None },
        slots: SlotsView { configured: 2, busy: 1, ending: 0, wedged: 0, assignable: 1, spares: 1, starting: 0 },
        settings: Settings {
            slots: 2,
            spares: 1,
            max_tasks: 100,
            cancel_grace: Millis::seconds(2),
            ready_bound: Millis::seconds(5),
            limits: Limits { total: Some(NanoDollars::new(10_000_000_000)), ..Limits::default() },
            request_timeout: None,
        },
        spent: Tally { settled: NanoDollars::new(2_000_000), open: NanoDollars::new(1), ..Tally::default() },
        hour: NanoDollars::new(5),
    }
}

impl World {
    /// Leaves a request that nobody takes; false when there is no room for one.
    pub fn fill(&self) -> bool {
        let (reply, _) = tokio::sync::oneshot::channel();
        let message = Message::asked(Input::Tick, ouroboros_domain::RequestId(0), reply);
        self.inbox.push_owner(message)
    }
}
