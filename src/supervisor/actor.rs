//! The loop: next input, lookup, step, commit.

use super::alarms::{AlarmBook, Storage, Surroundings};
use super::committer::{Committer, Owed};
use super::handle::Answer;
use super::inbox::{Inbox, Message, Next};
use super::recent::Recent;
use super::status::{Life, Status};
use crate::custody::Table;
use crate::life::critical;
use crate::life::ends::Wish;
use crate::models::Asked;
use crossbeam_channel::Sender;
use ouroboros_domain::{
    Boot, Change, Core, EventRow, Input, Loaded, Lookup, MoneyInput, Needs, RequestId, Stamp, TaskCommand, TaskState,
};
use ouroboros_proto::api::{ApiError, Code};
use ouroboros_proto::kind::{BootMicros, Millis, TaskId, UtcMicros, clock};
use ouroboros_proto::limits;
use ouroboros_store::{Batch, ReadError, Reader, WriterHandle};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::oneshot;

/// A commit that is pending for longer is a stall.
pub(super) const STALL: Millis = Millis::new(5_000);

/// What the supervisor works with.
pub struct Parts {
    /// Inputs.
    pub inbox: Arc<Inbox>,
    /// Decisions on their way to the disk.
    pub committer: Arc<Committer>,
    /// The writer.
    pub writer: WriterHandle,
    /// Settled rows for lookups.
    pub reader: Reader,
    /// Bodies that were just accepted.
    pub recent: Arc<Recent>,
    /// What the gateway has told and is not answered.
    pub asked: Asked,
    /// The workers, for when storage fails.
    pub table: Arc<Table>,
    /// Facts about this life.
    pub life: Arc<Life>,
    /// Free bytes, when they are below the low-water mark; zero otherwise.
    pub disk_low: Arc<AtomicU64>,
    /// Settled tasks that the store keeps.
    pub settled: u64,
    /// Told when an end begins.
    pub wishes: Sender<Wish>,
}

/// The one that steps the core.
pub struct Supervisor {
    pub(super) parts: Parts,
    pub(super) core: Core,
    alarms: AlarmBook,
    pub(super) storage: Storage,
    decision: u64,
    pub(super) namespaces: bool,
    shown_disk_low: bool,
    pub(super) contradictions: u32,
    /// The facts that were given on last, to be shown.
    shown: Arc<Status>,
    pub(super) left: Arc<AtomicBool>,
}

impl Supervisor {
    /// A supervisor over loaded rows. `left` ends [`Supervisor::run`] at the next nudge.
    pub fn new(parts: Parts, rows: Loaded, namespaces: bool, left: Arc<AtomicBool>) -> Self {
        let core = Core::load(rows);
        let shown = Arc::new(Status::before_boot(core.settings()));
        Self {
            parts,
            core,
            alarms: AlarmBook::default(),
            storage: Storage::Well,
            decision: 0,
            namespaces,
            shown_disk_low: false,
            contradictions: 0,
            shown,
            left,
        }
    }

    /// The facts as they are now.
    pub fn status(&mut self) -> Status {
        let around = Surroundings {
            storage: self.storage,
            disk_low: Some(self.parts.disk_low.load(Ordering::Relaxed)).filter(|free| *free > 0),
            settled: self.parts.settled,
        };
        self.alarms.status(&self.core, around, &self.parts.life, clock::wall())
    }

    /// Runs until it is told to leave.
    pub fn run(mut self, boot: Boot) {
        self.decide(Input::Boot(boot), None);
        loop {
            let now = clock::now();
            let (undurable, waited) = self.parts.committer.undurable(now.boot);
            self.watch_storage(undurable, waited);
            let full = u64::try_from(undurable).unwrap_or(u64::MAX) >= limits::UNDURABLE_DECISIONS.max;
            self.parts.committer.actor_waits(full || self.storage == Storage::Stalled);
            match self.parts.inbox.next(self.wait(now.wall, now.boot, undurable, waited), full) {
                Next::Message(message) => self.take(*message),
                Next::TimedOut => {}
                Next::Nudged => {
                    if self.left.load(Ordering::Acquire) {
                        return;
                    }
                    let settled = self.parts.committer.take_settled();
                    self.core.durable(&settled);
                    if let Some(before) = self.parts.inbox.take_expired() {
                        self.core.keys_expired(before);
                    }
                    self.look_around();
                    if let Some((error, dropped)) = self.parts.committer.take_failure() {
                        self.recover(&error, dropped);
                    }
                }
            }
            if self.is_due() {
                self.decide(Input::Tick, None);
            }
        }
    }

    /// How long nothing can become due.
    fn wait(&self, wall: UtcMicros, boot: BootMicros, undurable: usize, waited: Millis) -> Option<Millis> {
        let due = self.core.due();
        // One millisecond more, so that it is due when we wake.
        let wall = due.wall.map(|at| at.since(wall).get().saturating_add(1));
        let boot = due.boot.map(|at| at.since(boot).get().saturating_add(1));
        let stall = (undurable > 0 && self.storage == Storage::Well)
            .then(|| STALL.get().saturating_sub(waited.get()).saturating_add(1));
        [wall, boot, stall].into_iter().flatten().min().map(Millis::new)
    }

    fn is_due(&self) -> bool {
        let (due, now) = (self.core.due(), clock::now());
        due.wall.is_some_and(|at| at <= now.wall) || due.boot.is_some_and(|at| at <= now.boot)
    }

    fn watch_storage(&mut self, undurable: usize, waited: Millis) {
        let storage = match self.storage {
            Storage::Failed => Storage::Failed,
            Storage::Well | Storage::Stalled if undurable > 0 && waited >= STALL => Storage::Stalled,
            Storage::Well | Storage::Stalled => Storage::Well,
        };
        if storage != self.storage {
            self.storage = storage;
            self.publish();
        }
    }

    /// Publishes what changed beside the core.
    fn look_around(&mut self) {
        let disk_low = self.parts.disk_low.load(Ordering::Relaxed);
        if (disk_low > 0) != self.shown_disk_low {
            self.shown_disk_low = disk_low > 0;
            self.publish();
        }
    }

    pub(super) fn publish(&mut self) {
        self.shown = Arc::new(self.status());
        self.parts.committer.publish(Arc::clone(&self.shown));
    }

    fn take(&mut self, message: Message) {
        let Message { input, reply, .. } = message;
        if let Some(refusal) = self.refusal(&input) {
            if let Some((_, sender)) = reply {
                let _ = sender.send(Err(refusal));
            }
            return;
        }
        if let Input::Shutdown { kind, drain, .. } = input {
            let _ = self.parts.wishes.try_send(Wish::Ending { kind, drain });
        }
        if self.storage != Storage::Well
            && let Input::Task { task, command: TaskCommand::Cancel { .. }, .. } = &input
        {
            // The wish is recorded when storage allows; neither the processes nor the owner wait for that.
            self.kill_now(*task);
            if let Some((_, sender)) = reply {
                let _ = sender.send(Err(killed_not_recorded()));
            }
            return self.decide(input, None);
        }
        self.decide(input, reply);
    }

    /// Why work is not even looked at.
    fn refusal(&self, input: &Input) -> Option<ApiError> {
        if !matches!(
            input,
            Input::Submit { .. } | Input::Message { .. } | Input::Task { command: TaskCommand::Retry { .. }, .. }
        ) {
            return None;
        }
        match self.storage {
            Storage::Well => None,
            Storage::Stalled => Some(
                ApiError::new(
                    Code::StorageStalled,
                    "A write has been waiting for over 5 seconds; nothing was accepted.",
                )
                .remedy("Check the disk that holds the data directory, then repeat the request."),
            ),
            Storage::Failed => Some(not_accepted()),
        }
    }

    pub(super) fn kill_now(&self, task: TaskId) {
        if let Some(TaskState::Running { attempt }) = self.core.task(task).map(|row| &row.state) {
            self.parts.table.kill_attempt(*attempt);
        }
    }

    pub(super) fn decide(&mut self, input: Input, reply: Option<(RequestId, oneshot::Sender<Answer>)>) {
        let needs = self.core.needs(&input);
        let lookup = if needs.is_empty() {
            Lookup::default()
        } else {
            match self.look_up(&needs) {
                Ok(lookup) => lookup,
                Err(error) => {
                    tracing::error!(%error, "stored rows cannot be read");
                    if let Input::Money(MoneyInput::Late { send, .. }) = &input {
                        self.parts.asked.give_up(*send);
                    }
                    if let Some((_, sender)) = reply {
                        let _ = sender.send(Err(not_accepted()));
                    }
                    return;
                }
            }
        };
        let now = clock::now();
        let about = input.name();
        let decision = self.core.step(stamp(now.wall, now.boot), input, &lookup);
        self.count_settled(&decision.changes);
        let status = Arc::new(self.status());
        // What changed may be nothing that is stored, such as a worker that became ready. It is shown behind what came before it.
        if decision.changes.is_empty() && decision.effects.is_empty() && self.shown == status {
            return;
        }
        self.shown = Arc::clone(&status);
        self.decision = self.decision.saturating_add(1);
        for change in &decision.changes {
            self.parts.recent.remember(change);
        }
        let owed = Owed {
            decision: self.decision,
            about,
            made: now.boot,
            effects: decision.effects,
            reply,
            events: events(&decision.changes),
            settled: decision.changes.iter().filter(|change| leaves_memory(change)).cloned().collect(),
            status,
        };
        let sync = decision.changes.iter().any(Change::needs_sync);
        self.parts.committer.add(owed);
        if self.parts.writer.send(Batch { decision: self.decision, changes: decision.changes, sync }).is_err() {
            critical::fail("the writer has stopped; without it nothing can be recorded");
        }
    }

    fn look_up(&self, needs: &Needs) -> Result<Lookup, ReadError> {
        let reader = &self.parts.reader;
        let message = needs.message.as_ref().map(|(task, key)| reader.message_by_key(*task, key)).transpose()?;
        let tree = needs.tree.as_ref().map(|(task, without)| reader.tree(*task, without)).transpose()?;
        Ok(Lookup {
            tasks: reader.lookup(&needs.tasks)?,
            sends: reader.sends(&needs.sends)?,
            tree: tree.unwrap_or_default(),
            message: message.flatten(),
        })
    }

    fn count_settled(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Task(row) if matches!(row.state, TaskState::Settled { .. }) => {
                    self.parts.settled = self.parts.settled.saturating_add(1);
                }
                Change::TaskRemoved(_) => self.parts.settled = self.parts.settled.saturating_sub(1),
                _ => {}
            }
        }
    }
}

pub(super) fn killed_not_recorded() -> ApiError {
    ApiError::new(
        Code::CommitUnknown,
        "Storage fails: the processes are killed, but that the task is cancelled is not recorded yet.",
    )
    .remedy("Cancel it again when storage works, if it is then not cancelled.")
    .detail(serde_json::json!({ "durable": false }))
}

pub(super) fn not_accepted() -> ApiError {
    ApiError::new(Code::NotAccepted, "Storage fails; the request was not accepted.")
        .remedy("Check the disk that holds the data directory, then repeat the request.")
}

/// Whether the core keeps something only until this change is durable.
fn leaves_memory(change: &Change) -> bool {
    match change {
        Change::Task(row) => matches!(row.state, TaskState::Settled { .. }),
        Change::Send(row) => !row.state.is_open(),
        Change::TaskRemoved(_) | Change::SendCorrected { .. } => true,
        Change::TaskAdded { .. }
        | Change::Attempt(_)
        | Change::Process(_)
        | Change::ProcessGone(_)
        | Change::Key(_)
        | Change::Transcript { .. }
        | Change::Requested { .. }
        | Change::Request { .. }
        | Change::RuleAdded(_)
        | Change::RuleRemoved(_)
        | Change::Inherited { .. }
        | Change::Message { .. }
        | Change::MessageTaken { .. }
        | Change::Event(_)
        | Change::QueueHold(_)
        | Change::Generation(_) => false,
    }
}

fn events(changes: &[Change]) -> Vec<EventRow> {
    changes
        .iter()
        .filter_map(|change| match change {
            Change::Event(row) => Some((**row).clone()),
            _ => None,
        })
        .collect()
}

fn stamp(wall: UtcMicros, boot: BootMicros) -> Stamp {
    let fresh = *TaskId::mint().as_bytes();
    let entropy = fresh.last_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    Stamp { wall, boot, fresh, entropy }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouroboros_domain::{PriceBasis, SendRow};
    use ouroboros_proto::kind::{AttemptId, Generation, NanoDollars, SendId, SendState, TaskNumber};

    #[test]
    fn a_send_that_is_over_leaves_memory_once_it_is_stored() {
        let row = |state| SendRow {
            id: SendId::from_bytes([1; 16]),
            task: TaskId::from_bytes([2; 16]),
            number: TaskNumber::new(1),
            root: TaskId::from_bytes([2; 16]),
            attempt: AttemptId::from_bytes([3; 16]),
            call: 1,
            ordinal: 1,
            route: "r".into(),
            generation: Generation::new(1),
            state,
            bound: NanoDollars::new(1),
            basis: PriceBasis::Known,
            limit: None,
            reserved_at: UtcMicros::new(1),
            ended_at: None,
            receipt: None,
            late: false,
        };
        for (state, over) in [
            (SendState::Reserved, false),
            (SendState::Dispatched, false),
            (SendState::Settled, true),
            (SendState::Unresolved, true),
            (SendState::Released, true),
        ] {
            assert_eq!(leaves_memory(&Change::Send(Box::new(row(state)))), over, "{state:?}");
        }
        let (settled, was) = (Box::new(row(SendState::Settled)), Box::new(row(SendState::Unresolved)));
        assert!(leaves_memory(&Change::SendCorrected { row: settled, was }));
    }
}
