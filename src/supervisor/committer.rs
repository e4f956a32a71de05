//! Decisions on their way to the disk. What a decision owes is released here, on the writer's thread, in commit order.

use super::effects::Executor;
use super::handle::Answer;
use super::inbox::Inbox;
use super::status::Status;
use crate::life::housekeeping::Occasion;
use ouroboros_domain::{Change, Effect, EventRow, Reply, RequestId};
use ouroboros_proto::kind::{BootMicros, Millis};
use ouroboros_store::{CommitError, Sink};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{broadcast, oneshot, watch};

/// What one decision owes once it is durable.
pub struct Owed {
    /// Its number.
    pub decision: u64,
    /// What it was about, for the log.
    pub about: &'static str,
    /// When it was made.
    pub made: BootMicros,
    /// What is to happen.
    pub effects: Vec<Effect>,
    /// Whom to answer.
    pub reply: Option<(RequestId, oneshot::Sender<Answer>)>,
    /// What is to be published.
    pub events: Vec<EventRow>,
    /// Tasks that it settled.
    pub settled: Vec<Change>,
    /// The facts as they are after it.
    pub status: Arc<Status>,
}

#[derive(Default)]
struct State {
    owed: VecDeque<Owed>,
    settled: Vec<Change>,
    failed: Option<CommitError>,
    actor_waits: bool,
}

/// Shared by the actor, which adds, and the writer, which releases.
pub struct Committer {
    state: Mutex<State>,
    inbox: Arc<Inbox>,
    events: broadcast::Sender<Arc<[EventRow]>>,
    status: watch::Sender<Arc<Status>>,
}

impl Committer {
    /// An empty one.
    pub fn new(
        inbox: Arc<Inbox>,
        events: broadcast::Sender<Arc<[EventRow]>>,
        status: watch::Sender<Arc<Status>>,
    ) -> Self {
        Self { state: Mutex::default(), inbox, events, status }
    }

    /// Adds what a decision owes. Before its changes are given to the writer.
    pub fn add(&self, owed: Owed) {
        self.lock().owed.push_back(owed);
    }

    /// How many decisions are not durable, and how old the oldest is.
    pub fn undurable(&self, now: BootMicros) -> (usize, Millis) {
        let state = self.lock();
        (state.owed.len(), state.owed.front().map_or(Millis::ZERO, |owed| now.since(owed.made)))
    }

    /// Whether the actor can do nothing until a commit is done.
    pub fn actor_waits(&self, waits: bool) {
        self.lock().actor_waits = waits;
    }

    /// Tasks settled by decisions that became durable since the last call.
    pub fn take_settled(&self) -> Vec<Change> {
        std::mem::take(&mut self.lock().settled)
    }

    /// The failure since the last call, with everything that was stacked on it and will not happen.
    pub fn take_failure(&self) -> Option<(CommitError, Vec<Owed>)> {
        let mut state = self.lock();
        let error = state.failed.take()?;
        Some((error, state.owed.drain(..).collect()))
    }

    /// Whether a commit failed and nobody has taken it.
    pub fn has_failed(&self) -> bool {
        self.lock().failed.is_some()
    }

    /// Publishes facts that no commit brings: storage trouble.
    pub fn publish(&self, status: Arc<Status>) {
        show(&self.status, status);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The committer as the writer calls it.
pub struct Release {
    /// What is owed.
    pub committer: Arc<Committer>,
    /// Makes it happen.
    pub executor: Executor,
    /// The decision after which housekeeping is worth while.
    pub sweep_at: u64,
}

/// Decisions between two looks of housekeeping.
const SWEEP_EVERY: u64 = 8_192;

impl Sink for Release {
    fn committed(&mut self, up_to: u64) {
        let due: Vec<Owed> = {
            let mut state = self.committer.lock();
            let count = state.owed.iter().take_while(|owed| owed.decision <= up_to).count();
            state.owed.drain(..count).collect()
        };
        let mut settled = Vec::new();
        let mut latest = None;
        for owed in due {
            if !owed.events.is_empty() {
                // Nobody listening is fine.
                let _ = self.committer.events.send(owed.events.into());
            }
            let mut reply = owed.reply;
            for effect in owed.effects {
                match effect {
                    Effect::Reply { request, reply: answer } => give(&mut reply, request, answer),
                    other => self.executor.execute(other),
                }
            }
            settled.extend(owed.settled);
            latest = Some(owed.status);
        }
        if let Some(status) = latest {
            show(&self.committer.status, status);
        }
        if up_to >= self.sweep_at {
            self.sweep_at = up_to.saturating_add(SWEEP_EVERY);
            // One that waits already is enough.
            let _ = self.executor.housekeeping.try_send(Occasion::Grown);
        }
        let mut state = self.committer.lock();
        let wake = !settled.is_empty() || state.actor_waits;
        state.settled.extend(settled);
        drop(state);
        if wake {
            self.committer.inbox.nudge();
        }
    }

    fn failed(&mut self, _from: u64, error: CommitError) {
        self.committer.lock().failed = Some(error);
        self.committer.inbox.nudge();
    }
}

fn give(reply: &mut Option<(RequestId, oneshot::Sender<Answer>)>, request: RequestId, answer: Reply) {
    if let Some((_, sender)) = reply.take_if(|(asked, _)| *asked == request) {
        // A caller that went away is told nothing; its request stands.
        let _ = sender.send(Ok(answer));
    }
}

/// Shows facts when they differ from those that are shown.
fn show(shown: &watch::Sender<Arc<Status>>, status: Arc<Status>) {
    shown.send_if_modified(|current| {
        let changed = *current != status;
        if changed {
            *current = status;
        }
        changed
    });
}
