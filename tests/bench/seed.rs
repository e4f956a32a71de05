//! A store that is full before its first server starts, written by the store itself.

use anyhow::{Context as _, ensure};
use ouroboros_domain::Tally;
use ouroboros_domain::change::{Change, Content, Spec};
use ouroboros_domain::row::{AttemptRow, EventRow, Policy, TaskRow, TaskState};
use ouroboros_process::durable;
use ouroboros_proto::api::StoredSpec;
use ouroboros_proto::kind::{
    AttemptId, AttemptReport, Captured, Ending, Event, EventSeq, Generation, Isolation, Outcome, Priority, TaskId,
    TaskNumber, Usage, WorkKind, WorkerId, clock,
};
use ouroboros_store::{Batch, CommitError, Contents, Options, Sink, Writer, open};
use sha2::{Digest as _, Sha256};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

/// Decisions on their way at once.
const WINDOW: usize = 64;
/// Tasks in one decision.
const PER_DECISION: u64 = 500;

struct Ear(SyncSender<Result<u64, String>>);

impl Sink for Ear {
    fn committed(&mut self, up_to: u64) {
        // Whoever stopped listening knows enough.
        let _ = self.0.send(Ok(up_to));
    }

    fn failed(&mut self, _from: u64, error: CommitError) {
        let _ = self.0.send(Err(error.to_string()));
    }
}

/// Fills the store of `dir` with settled tasks, and queued ones after them; each has what a task has that came in by the API.
///
/// # Errors
/// The store cannot be made or written.
pub fn fill(dir: &Path, settled: u64, queued: u64) -> anyhow::Result<()> {
    let mut maker = Maker::new();
    let all = settled + queued;
    let decisions = (1..=all).step_by(PER_DECISION as usize).map(move |first| {
        let mut changes = Vec::new();
        for number in first..=all.min(first + PER_DECISION - 1) {
            maker.task(number, number <= settled, &mut changes);
        }
        changes
    });
    write(dir, decisions)
}

/// Writes these decisions into the store of `dir`.
///
/// # Errors
/// The store cannot be made or written.
pub fn write(dir: &Path, decisions: impl Iterator<Item = Vec<Change>>) -> anyhow::Result<()> {
    let opened = open(&Options::new(dir)).context("make the store")?;
    let (say, heard) = sync_channel(4_096);
    let writer = Writer::start(opened.store, Box::new(Ear(say)))?;
    let (mut decision, mut committed) = (0, 0);
    for changes in decisions {
        decision += 1;
        writer.send(Batch { decision, changes, sync: true })?;
        while decision - committed > WINDOW as u64 {
            committed = heard.recv()?.map_err(anyhow::Error::msg)?;
        }
    }
    writer.close();
    for result in heard.try_iter() {
        committed = result.map_err(anyhow::Error::msg)?;
    }
    ensure!(committed == decision, "only {committed} of {decision} decisions were committed");
    durable::sync_dir(dir).context("sync the store")
}

/// Makes tasks.
pub struct Maker {
    environment: Content,
    spec: Arc<[u8]>,
    seq: u64,
}

impl Maker {
    /// One that has made none.
    pub fn new() -> Self {
        let body: &[u8] = br#"{"HOME":"/root","LANG":"C.UTF-8","PATH":"/usr/local/bin:/usr/bin:/bin"}"#;
        let environment = Content { hash: Sha256::digest(body).into(), bytes: Arc::from(body), in_file: false };
        let spec = StoredSpec {
            argv: vec!["true".to_owned()],
            cwd: "/".to_owned(),
            umask: None,
            agent: None,
            from: None,
            env: Contents::name(&environment.hash),
            stdin: None,
            pty: None,
            name: None,
            ask: None,
        };
        let spec = serde_json::to_vec(&spec).unwrap_or_default().into();
        Self { environment, spec, seq: 0 }
    }

    fn event(&mut self, task: (TaskId, TaskNumber), event: Event) -> Change {
        self.seq += 1;
        Change::Event(Box::new(EventRow { seq: EventSeq::new(self.seq), at: clock::wall(), task: Some(task), event }))
    }

    /// The task of this number, settled or queued.
    pub fn task(&mut self, number: u64, settled: bool, changes: &mut Vec<Change>) -> TaskId {
        let (id, at) = (TaskId::mint(), clock::wall());
        let task = (id, TaskNumber::new(number));
        let row = TaskRow {
            id,
            number: task.1,
            kind: WorkKind::Command,
            priority: Priority::Normal,
            state: TaskState::Queued,
            hold: None,
            not_before: None,
            after: Box::default(),
            policy: Policy { rerun: false, retries: 0, timeout: None, isolation: Isolation::Namespace, max_cost: None },
            attempts: 0,
            retried: 0,
            crashes: 0,
            cancel: None,
            retry_of: None,
            submitted_at: at,
            inherited: 0,
            root: id,
            park: None,
            workspace: None,
        };
        let contents = vec![self.environment.clone()];
        let spec = Spec::New(Arc::clone(&self.spec));
        changes.push(Change::TaskAdded { row: Box::new(row.clone()), spec, contents, spent: Tally::default() });
        changes.push(self.event(task, Event::Submitted { retry_of: None }));
        if !settled {
            return id;
        }
        let attempt = AttemptId::mint();
        let (ending, captured) = (Ending::Exited { code: 0 }, Captured::default());
        let report = AttemptReport { ending, usage: Usage::default(), stdout: captured, stderr: captured };
        changes.push(Change::Attempt(Box::new(AttemptRow {
            id: attempt,
            task: id,
            ordinal: 1,
            generation: Generation::new(1),
            worker: WorkerId::new(number),
            started_at: at,
            isolation: Isolation::Namespace,
            released: true,
            delivered: false,
            sequence: 2,
            report: Some(report),
            ended_at: Some(at),
            workspace: None,
        })));
        let state = TaskState::Settled { outcome: Outcome::Completed, at };
        changes.push(Change::Task(Box::new(TaskRow { state, attempts: 1, ..row })));
        changes.push(self.event(task, Event::Started { attempt, ordinal: 1 }));
        let end = Event::Settled { outcome: Outcome::Completed, ending: Some(ending), usage: Some(Usage::default()) };
        changes.push(self.event(task, end));
        id
    }
}
