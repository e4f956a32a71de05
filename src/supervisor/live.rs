//! Live output progress: not durable, replaced by the terminal row when the attempt ends.

use ouroboros_proto::kind::{AttemptId, Stream, TaskId};
use std::collections::HashMap;
use std::sync::Mutex;
use tokio::sync::watch;

/// Bytes of an answer that are kept for those who look: longer ones are seen when they are whole.
const ANSWER_BYTES: usize = 256 << 10;

/// How far a running attempt has come.
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
    /// Grows whenever something that it reported has become durable.
    pub recorded: u64,
    /// Bytes of the answer that its model is writing.
    pub heard: u64,
}

/// What a model has written of an answer so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    /// Which call of the attempt.
    pub call: u32,
    /// The text.
    pub text: String,
}

#[derive(Debug)]
struct Running {
    progress: watch::Sender<Progress>,
    heard: Option<Heard>,
}

/// The running attempts whose output can be followed.
#[derive(Debug, Default)]
pub struct LiveRegistry {
    // Held for a map operation only, never across a wait.
    tasks: Mutex<HashMap<TaskId, Running>>,
}

impl LiveRegistry {
    /// An attempt of `task` begins.
    pub fn begin(&self, task: TaskId, attempt: AttemptId, ordinal: u32) {
        let begun = Progress { attempt, ordinal, stdout: 0, stderr: 0, recorded: 0, heard: 0 };
        let (progress, _) = watch::channel(begun);
        self.lock().insert(task, Running { progress, heard: None });
    }

    /// A stream of the attempt has grown to `written` bytes.
    pub fn grew(&self, task: TaskId, attempt: AttemptId, stream: Stream, written: u64) {
        if let Some(running) = self.lock().get(&task) {
            running.progress.send_if_modified(|progress| {
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

    /// Something that the attempt reported has become durable.
    pub fn recorded(&self, task: TaskId, attempt: AttemptId) {
        if let Some(running) = self.lock().get(&task) {
            running.progress.send_if_modified(|progress| {
                let ours = progress.attempt == attempt;
                progress.recorded = progress.recorded.saturating_add(u64::from(ours));
                ours
            });
        }
    }

    /// The model wrote more of the answer to this call.
    pub fn heard(&self, task: TaskId, attempt: AttemptId, call: u32, text: &str) {
        let mut tasks = self.lock();
        let Some(running) = tasks.get_mut(&task).filter(|running| running.progress.borrow().attempt == attempt) else {
            return;
        };
        if running.heard.as_ref().is_none_or(|heard| heard.call != call) {
            running.heard = Some(Heard { call, text: String::new() });
        }
        if let Some(heard) = running.heard.as_mut().filter(|heard| heard.text.len() < ANSWER_BYTES) {
            heard.text.push_str(text);
            let bytes = u64::try_from(heard.text.len()).unwrap_or(u64::MAX);
            running.progress.send_modify(|progress| progress.heard = bytes);
        }
    }

    /// That answer is whole, or will not be.
    pub fn heard_out(&self, task: TaskId, attempt: AttemptId, call: u32) {
        if let Some(running) = self.lock().get_mut(&task)
            && running.progress.borrow().attempt == attempt
        {
            running.heard.take_if(|heard| heard.call == call);
        }
    }

    /// What the model of this attempt has written of an answer that is under way, from an offset on where it is the answer to that call.
    pub fn answer(&self, task: TaskId, attempt: AttemptId, (call, offset): (u32, usize)) -> Option<(usize, Heard)> {
        let tasks = self.lock();
        let running = tasks.get(&task).filter(|running| running.progress.borrow().attempt == attempt)?;
        let heard = running.heard.as_ref()?;
        let from = if heard.call == call { offset } else { 0 };
        Some((from, Heard { call: heard.call, text: heard.text.get(from..)?.to_owned() }))
    }

    /// The attempt is over: its followers see the channel close.
    pub fn end(&self, task: TaskId, attempt: AttemptId) {
        let mut tasks = self.lock();
        if tasks.get(&task).is_some_and(|running| running.progress.borrow().attempt == attempt) {
            tasks.remove(&task);
        }
    }

    /// Follows the running attempt of `task`.
    pub fn subscribe(&self, task: TaskId) -> Option<watch::Receiver<Progress>> {
        self.lock().get(&task).map(|running| running.progress.subscribe())
    }

    /// How far the output of this attempt has grown, while it runs.
    pub fn of_attempt(&self, task: TaskId, attempt: AttemptId) -> Option<Progress> {
        self.lock().get(&task).map(|running| *running.progress.borrow()).filter(|progress| progress.attempt == attempt)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TaskId, Running>> {
        self.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
