//! Live output progress: not durable, replaced by the terminal row when the attempt ends.

use ouroboros_proto::kind::{AttemptId, Stream, TaskId};
use std::collections::HashMap;
use std::sync::Mutex;
use tokio::sync::watch;

/// How far the output of a running attempt has grown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The attempt.
    pub attempt: AttemptId,
    /// Counted from 1.
    pub ordinal: u32,
    /// Bytes written to standard output.
    pub stdout: u64,
    /// Bytes written to standard error.
    pub stderr: u64,
}

/// The running attempts whose output can be followed.
#[derive(Debug, Default)]
pub struct LiveRegistry {
    // Held for a map operation only, never across a wait.
    tasks: Mutex<HashMap<TaskId, watch::Sender<Progress>>>,
}

impl LiveRegistry {
    /// An attempt of `task` begins.
    pub fn begin(&self, task: TaskId, attempt: AttemptId, ordinal: u32) {
        let (sender, _) = watch::channel(Progress { attempt, ordinal, stdout: 0, stderr: 0 });
        self.lock().insert(task, sender);
    }

    /// A stream of the attempt has grown to `written` bytes.
    pub fn grew(&self, task: TaskId, attempt: AttemptId, stream: Stream, written: u64) {
        if let Some(sender) = self.lock().get(&task) {
            sender.send_if_modified(|progress| {
                let known = match stream {
                    Stream::Stdout => &mut progress.stdout,
                    Stream::Stderr => &mut progress.stderr,
                };
                let grew = progress.attempt == attempt && *known < written;
                if grew {
                    *known = written;
                }
                grew
            });
        }
    }

    /// The attempt is over: its followers see the channel close.
    pub fn end(&self, task: TaskId, attempt: AttemptId) {
        let mut tasks = self.lock();
        if tasks.get(&task).is_some_and(|sender| sender.borrow().attempt == attempt) {
            tasks.remove(&task);
        }
    }

    /// Follows the running attempt of `task`.
    pub fn subscribe(&self, task: TaskId) -> Option<watch::Receiver<Progress>> {
        self.lock().get(&task).map(watch::Sender::subscribe)
    }

    /// How far the output of this attempt has grown, while it runs.
    pub fn of_attempt(&self, task: TaskId, attempt: AttemptId) -> Option<Progress> {
        self.lock().get(&task).map(|sender| *sender.borrow()).filter(|progress| progress.attempt == attempt)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TaskId, watch::Sender<Progress>>> {
        self.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
