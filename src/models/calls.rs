//! Calls under way, by the worker that made them.

use super::call::{self, Context};
use super::window::Window;
use crate::custody::Table;
use crate::supervisor::LiveRegistry;
use ouroboros_proto::agent::{ModelEnd, ModelFailure, Piece};
use ouroboros_proto::kind::{AttemptId, Generation, TaskId, WorkerId};
use ouroboros_proto::limits::FRAME_BYTES;
use ouroboros_proto::wire::{CALL_WINDOW, Order, ToWorker};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Bytes of an end in JSON: with what is around it, it fits a frame.
const LONGEST_END: u64 = FRAME_BYTES.max - (64 << 10);

/// Calls of one worker that may be under way at once.
const MOST: usize = 64;

/// Where the pieces and the end of one call go.
#[derive(Debug, Clone)]
pub struct Asker {
    table: Arc<Table>,
    generation: Generation,
    window: Arc<Window>,
    /// Where text goes for those who look, and for which task.
    live: Option<(Arc<LiveRegistry>, TaskId)>,
    /// Who asked.
    pub worker: WorkerId,
    /// For what.
    pub attempt: AttemptId,
    /// Which call of it.
    pub call: u32,
    /// Cancelled when it is called off.
    pub off: CancellationToken,
    after: After,
}

/// What a worker reported before it asked.
#[derive(Debug, Clone)]
struct After {
    /// The last report.
    sequence: u64,
    /// The last one that is durable.
    recorded: watch::Receiver<u64>,
}

impl After {
    /// Returns when all of it is durable; false when that will not be.
    async fn is_recorded(&self) -> bool {
        self.recorded.clone().wait_for(|sequence| *sequence >= self.sequence).await.is_ok()
    }
}

impl Asker {
    /// Returns when everything is durable that the worker reported before it asked; false when that will not be.
    pub async fn is_recorded(&self) -> bool {
        self.after.is_recorded().await
    }

    /// Passes a piece on, once there is room for it. A worker that is gone takes no room.
    pub async fn piece(&self, piece: &Piece) {
        let Ok(piece) = serde_json::to_vec(piece) else { return };
        tokio::select! {
            () = self.window.take(bytes(&piece)) => {}
            () = self.off.cancelled() => return,
        }
        self.send(Order::Piece { call: self.call, piece });
    }

    /// Shows text to those who follow the task, while the answer is written.
    pub fn show(&self, text: &str) {
        if let Some((live, task)) = &self.live {
            live.heard(*task, self.attempt, self.call, text);
        }
    }

    fn over(&self, end: &ModelEnd) {
        if let Some((live, task)) = &self.live {
            live.heard_out(*task, self.attempt, self.call);
        }
        let end = told(end);
        self.send(Order::CallOver { call: self.call, end });
    }

    fn send(&self, order: Order) {
        self.table.send(self.worker, &ToWorker { attempt: self.attempt, generation: self.generation, order });
    }
}

/// An end as it goes into a frame; one that does not fit is told to be too long.
fn told(end: &ModelEnd) -> Vec<u8> {
    let json = |end| serde_json::to_vec(end).unwrap_or_default();
    let whole = json(end);
    // An answer of control characters is six times as long in JSON.
    if bytes(&whole) <= LONGEST_END {
        return whole;
    }
    let detail = "the answer is longer than a worker can be told; what came of it was passed on".to_owned();
    json(&ModelEnd::Failed { failure: ModelFailure::TooLarge, detail, window: None, route: None })
}

fn bytes(json: &[u8]) -> u64 {
    u64::try_from(json.len()).unwrap_or(u64::MAX)
}

#[derive(Debug)]
struct Live {
    window: Arc<Window>,
    off: CancellationToken,
}

/// All of them.
pub struct Calls {
    context: Arc<Context>,
    table: Arc<Table>,
    shown: Arc<LiveRegistry>,
    generation: Generation,
    runtime: runtime::Handle,
    live: Mutex<BTreeMap<(WorkerId, u32), Live>>,
    /// The last report of each worker that is durable.
    recorded: Mutex<BTreeMap<WorkerId, watch::Sender<u64>>>,
}

impl Calls {
    /// With none under way.
    #[must_use]
    pub fn new(
        context: Arc<Context>,
        table: Arc<Table>,
        shown: Arc<LiveRegistry>,
        generation: Generation,
        runtime: runtime::Handle,
    ) -> Self {
        Self { context, table, shown, generation, runtime, live: Mutex::default(), recorded: Mutex::default() }
    }

    /// A worker asks, after its report `after`: nothing leaves before that is durable.
    pub fn begin(self: &Arc<Self>, worker: WorkerId, attempt: AttemptId, after: u64, call: u32, request: Vec<u8>) {
        let (window, off) = (Arc::new(Window::new(CALL_WINDOW)), CancellationToken::new());
        let assigned = self.table.assigned(worker).filter(|assigned| assigned.attempt == attempt);
        let asker = Asker {
            live: assigned.map(|assigned| (Arc::clone(&self.shown), assigned.task)),
            table: Arc::clone(&self.table),
            generation: self.generation,
            window: Arc::clone(&window),
            worker,
            attempt,
            call,
            off: off.clone(),
            after: After { sequence: after, recorded: self.recorded_of(worker, watch::Sender::subscribe) },
        };
        {
            let mut live = self.lock();
            let known = live.contains_key(&(worker, call));
            if known || live.range((worker, 0)..=(worker, u32::MAX)).count() >= MOST {
                drop(live);
                let detail = if known { "the call has this number already" } else { "too many calls at once" };
                let (failure, detail) = (ModelFailure::Invalid, detail.to_owned());
                return asker.over(&ModelEnd::Failed { failure, detail, window: None, route: None });
            }
            live.insert((worker, call), Live { window, off });
        }
        let calls = Arc::clone(self);
        self.runtime.spawn(async move {
            // `None`: the server leaves, and takes the worker along.
            if let Some(end) = call::run(&calls.context, &asker, request).await {
                asker.over(&end);
            }
            calls.lock().remove(&(worker, call));
        });
    }

    /// Reports of a worker up to this number are durable.
    pub fn recorded(&self, worker: WorkerId, sequence: u64) {
        self.recorded_of(worker, |recorded| {
            recorded.send_if_modified(|known| {
                let is_news = sequence > *known;
                *known = sequence.max(*known);
                is_news
            });
        });
    }

    fn recorded_of<T>(&self, worker: WorkerId, look: impl FnOnce(&watch::Sender<u64>) -> T) -> T {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        look(recorded.entry(worker).or_insert_with(|| watch::channel(0).0))
    }

    /// A worker took this many bytes of pieces.
    pub fn taken(&self, worker: WorkerId, call: u32, bytes: u64) {
        if let Some(live) = self.lock().get(&(worker, call)) {
            live.window.taken(bytes);
        }
    }

    /// A worker is not interested any more.
    pub fn call_off(&self, worker: WorkerId, call: u32) {
        if let Some(live) = self.lock().get(&(worker, call)) {
            live.off.cancel();
        }
    }

    /// A worker is ended on purpose: so is what it asked for.
    pub fn call_off_all(&self, worker: WorkerId) {
        for (_, live) in self.lock().range((worker, 0)..=(worker, u32::MAX)) {
            live.off.cancel();
        }
    }

    /// A worker is gone: what it asked for is read to its end, so that its cost is known, and nobody hears it. What is not sent yet is
    /// not sent.
    pub fn gone(&self, worker: WorkerId) {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner).remove(&worker);
        for (_, live) in self.lock().range((worker, 0)..=(worker, u32::MAX)) {
            live.window.taken(u64::MAX);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(WorkerId, u32), Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future as _;
    use std::task::{Context as Looking, Poll, Waker};

    #[test]
    fn what_a_request_follows_from_is_durable_before_it_leaves() {
        let (told, recorded) = watch::channel(0);
        let after = After { sequence: 7, recorded };
        let mut looking = Looking::from_waker(Waker::noop());
        let mut waiting = Box::pin(after.is_recorded());
        assert_eq!(waiting.as_mut().poll(&mut looking), Poll::Pending);
        told.send_replace(6);
        assert_eq!(waiting.as_mut().poll(&mut looking), Poll::Pending);
        told.send_replace(7);
        assert_eq!(waiting.as_mut().poll(&mut looking), Poll::Ready(true));
        let later = After { sequence: 8, ..after.clone() };
        let mut waiting = Box::pin(later.is_recorded());
        assert_eq!(waiting.as_mut().poll(&mut looking), Poll::Pending);
        drop(told);
        assert_eq!(waiting.as_mut().poll(&mut looking), Poll::Ready(false), "its worker is gone");
    }

    #[test]
    fn an_end_that_no_frame_holds_is_told_to_be_too_long() {
        let failed =
            |detail: String| ModelEnd::Failed { failure: ModelFailure::Invalid, detail, window: None, route: None };
        let fits = told(&failed("\u{1}".repeat(1 << 20)));
        assert_eq!(fits, serde_json::to_vec(&failed("\u{1}".repeat(1 << 20))).expect("JSON"));
        let short: ModelEnd = serde_json::from_slice(&told(&failed("\u{1}".repeat(2 << 20)))).expect("JSON");
        assert!(matches!(short, ModelEnd::Failed { failure: ModelFailure::TooLarge, .. }));
    }
}
