//! Inputs on their way to the core, by lane: the owner's before the workers', both before housekeeping.
//!
//! Worker frames are taken in bounded batches, so that a worker that reports without pause cannot hold up the owner. Each
//! lane is first in, first out.

use super::handle::Answer;
use ouroboros_domain::{Input, RequestId, WorkerEvent};
use ouroboros_proto::kind::{Millis, UtcMicros, WorkerId};
use ouroboros_proto::limits;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// An input and whom to answer.
pub struct Message {
    /// What happened.
    pub input: Input,
    /// Where the answer goes.
    pub reply: Option<(RequestId, oneshot::Sender<Answer>)>,
    taken: Option<Box<dyn FnOnce() + Send>>,
}

impl Message {
    /// A request that is answered.
    pub fn asked(input: Input, request: RequestId, reply: oneshot::Sender<Answer>) -> Self {
        Self { input, reply: Some((request, reply)), taken: None }
    }

    /// An input that nobody waits for.
    pub fn quiet(input: Input) -> Self {
        Self { input, reply: None, taken: None }
    }

    /// Something about a worker.
    pub fn about(worker: WorkerId, event: WorkerEvent) -> Self {
        Self::quiet(Input::Worker { worker, event })
    }

    /// The same, with something to do once it is taken from its lane.
    #[must_use]
    pub fn when_taken(mut self, act: impl FnOnce() + Send + 'static) -> Self {
        self.taken = Some(Box::new(act));
        self
    }

    /// Tells whoever waits for it that it left its lane.
    pub(super) fn leave_lane(&mut self) {
        if let Some(act) = self.taken.take() {
            act();
        }
    }
}

/// What the supervisor takes next.
pub enum Next {
    /// This message.
    Message(Box<Message>),
    /// Nothing came before the time was over.
    TimedOut,
    /// Commits are done, one failed, or the clock was set: look again.
    Nudged,
}

#[derive(Default)]
struct Lanes {
    owner: VecDeque<Message>,
    workers: VecDeque<Message>,
    housekeeping: VecDeque<Message>,
    nudged: bool,
    expired: Option<UtcMicros>,
}

/// The lanes.
#[derive(Default)]
pub struct Inbox {
    lanes: Mutex<Lanes>,
    wake: Condvar,
}

impl Inbox {
    /// Adds an owner's request; false when too many wait.
    pub fn push_owner(&self, message: Message) -> bool {
        let max = usize::try_from(limits::PENDING_REQUESTS.max).unwrap_or(usize::MAX);
        self.push(|lanes| {
            let fits = lanes.owner.len() < max;
            if fits {
                lanes.owner.push_back(message);
            }
            fits
        })
    }

    /// Adds something about a worker. Bounded by its readers: each waits for its frames to be taken.
    pub fn push_worker(&self, message: Message) {
        self.push(|lanes| {
            lanes.workers.push_back(message);
            true
        });
    }

    /// Adds housekeeping; false when too much waits.
    pub fn push_housekeeping(&self, message: Message) -> bool {
        self.push(|lanes| {
            let fits = lanes.housekeeping.len() < 1_024;
            if fits {
                lanes.housekeeping.push_back(message);
            }
            fits
        })
    }

    /// Makes the supervisor look again: at the committer, at the clock.
    pub fn nudge(&self) {
        self.push(|lanes| {
            lanes.nudged = true;
            true
        });
    }

    /// Idempotency keys used before this are no longer stored.
    pub fn expire_keys(&self, before: UtcMicros) {
        self.push(|lanes| {
            lanes.expired = Some(before);
            lanes.nudged = true;
            true
        });
    }

    /// The latest such time since the last call.
    pub fn take_expired(&self) -> Option<UtcMicros> {
        self.lock().expired.take()
    }

    /// The next message by lane. With `only_commits`, nothing is taken until a commit is done.
    pub fn next(&self, bound: Option<Millis>, only_commits: bool) -> Next {
        let mut lanes = self.lock();
        loop {
            if std::mem::take(&mut lanes.nudged) {
                return Next::Nudged;
            }
            let message = if only_commits { None } else { take(&mut lanes) };
            if let Some(message) = message {
                return Next::Message(Box::new(message));
            }
            lanes = match bound {
                None => self.wake.wait(lanes).unwrap_or_else(PoisonError::into_inner),
                Some(bound) => {
                    let (lanes, waited) =
                        self.wake.wait_timeout(lanes, bound.duration()).unwrap_or_else(PoisonError::into_inner);
                    if waited.timed_out() {
                        return Next::TimedOut;
                    }
                    lanes
                }
            };
        }
    }

    /// The owner's next message, while nothing else may be taken.
    pub fn next_owner(&self, bound: Millis) -> Next {
        let mut lanes = self.lock();
        if lanes.owner.is_empty() {
            lanes = self.wake.wait_timeout(lanes, bound.duration()).unwrap_or_else(PoisonError::into_inner).0;
        }
        match lanes.owner.pop_front() {
            Some(mut message) => {
                message.leave_lane();
                Next::Message(Box::new(message))
            }
            None => Next::TimedOut,
        }
    }

    fn push(&self, add: impl FnOnce(&mut Lanes) -> bool) -> bool {
        let added = add(&mut self.lock());
        self.wake.notify_one();
        added
    }

    fn lock(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take(lanes: &mut Lanes) -> Option<Message> {
    let mut message = next_by_lane(lanes)?;
    message.leave_lane();
    Some(message)
}

fn next_by_lane(lanes: &mut Lanes) -> Option<Message> {
    lanes.owner.pop_front().or_else(|| lanes.workers.pop_front()).or_else(|| lanes.housekeeping.pop_front())
}
