//! Where a conversation stands, as the thread that follows it and the one that is typed on know it.

use ouroboros_proto::api::RequestView;
use ouroboros_proto::kind::{TaskId, TaskNumber};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// The task that the conversation is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// Its id.
    pub id: TaskId,
    /// Its number.
    pub number: TaskNumber,
}

/// What it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stand {
    /// There is no task yet.
    #[default]
    Idle,
    /// It works, or waits to.
    Working(At),
    /// It has ended, or is followed no more.
    Ended(At, u8),
}

/// All that is known.
#[derive(Debug, Default)]
pub struct Known {
    /// The task.
    pub stand: Stand,
    /// What it asks here.
    pub asked: Option<RequestView>,
    /// Why it waits, as the exit code that says so.
    pub waits: Option<u8>,
    /// Its turn was stopped here, and it waits for what is said.
    pub stopped: bool,
}

/// The same for all that hold it.
#[derive(Debug, Clone, Default)]
pub struct Shared(Arc<(Mutex<Known>, Condvar)>);

impl Shared {
    /// What is known, for as long as this is held.
    pub fn known(&self) -> MutexGuard<'_, Known> {
        // Each change is whole by itself, so that a thread that died left nothing half.
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same where nobody holds it: for whoever must not wait.
    pub fn try_known(&self) -> Option<MutexGuard<'_, Known>> {
        match self.0.0.try_lock() {
            Ok(known) => Some(known),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The task is this one now, and works.
    pub fn works(&self, at: At) {
        *self.known() = Known { stand: Stand::Working(at), ..Known::default() };
    }

    /// The task has ended with this exit code.
    pub fn ended(&self, at: At, code: u8) {
        *self.known() = Known { stand: Stand::Ended(at, code), ..Known::default() };
        self.0.1.notify_all();
    }

    /// Waits for the end of what works, for at most so long; where it stands then.
    pub fn wait_for_end(&self, bound: Duration) -> Stand {
        let works = |known: &mut Known| matches!(known.stand, Stand::Working(_));
        let waited = self.0.1.wait_timeout_while(self.known(), bound, works);
        waited.unwrap_or_else(PoisonError::into_inner).0.stand
    }
}
