//! Events of the log, then live ones.

use crate::http::blocking::Blocking;
use crate::http::view::{EventBatch, EventQuery, View};
use crate::supervisor::Handle;
use ouroboros_domain::EventRow;
use ouroboros_proto::api::{ApiError, Code};
use ouroboros_proto::kind::{EventSeq, TaskId};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// Events read from the store at once.
const BATCH: usize = 500;

/// Where to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// After this event; refused when later ones are no longer kept.
    After(EventSeq),
    /// At the oldest event kept.
    Oldest,
    /// With this many of the newest.
    Newest(u64),
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// An event.
    Event(Box<EventRow>),
    /// Everything recorded so far was given; what follows is live. Comes again after a reader was too slow.
    CaughtUp,
    /// The server is leaving.
    Closed,
}

/// A place in the log of events.
pub struct Feed {
    view: Arc<dyn View>,
    blocking: Blocking,
    live: broadcast::Receiver<Arc<[EventRow]>>,
    task: Option<TaskId>,
    /// Everything up to here was looked at; later live events are new.
    seen: EventSeq,
    ready: VecDeque<EventRow>,
    replaying: bool,
}

impl Feed {
    /// Begins at `start`, with the events of `task` only when one is given.
    ///
    /// # Errors
    /// `events_expired`, or the store cannot be read.
    pub async fn open(
        view: Arc<dyn View>,
        blocking: Blocking,
        handle: &Handle,
        task: Option<TaskId>,
        start: Start,
    ) -> Result<Self, ApiError> {
        // Live events are collected before the log is read: what is in neither does not exist yet.
        let live = handle.events();
        let mut feed =
            Self { view, blocking, live, task, seen: EventSeq::default(), ready: VecDeque::new(), replaying: true };
        if let Start::After(after) = start {
            feed.seen = after;
        }
        let mut batch = feed.read().await?;
        match start {
            Start::After(after) => check(after, &batch)?,
            Start::Oldest => feed.seen = EventSeq::new(batch.oldest.get().saturating_sub(1)),
            Start::Newest(count) => {
                let first = batch.newest.get().saturating_sub(count).max(batch.oldest.get().saturating_sub(1));
                feed.seen = EventSeq::new(first);
                batch = feed.read().await?;
            }
        }
        feed.queue(batch);
        Ok(feed)
    }

    /// The next step. Dropping the future loses nothing.
    ///
    /// # Errors
    /// `events_expired` when the reader was slower than retention, or the store cannot be read.
    pub async fn next(&mut self) -> Result<Step, ApiError> {
        loop {
            if let Some(row) = self.ready.pop_front() {
                return Ok(Step::Event(Box::new(row)));
            }
            if self.replaying {
                let batch = self.read().await?;
                check(self.seen, &batch)?;
                self.queue(batch);
                if self.ready.is_empty() {
                    self.replaying = false;
                    return Ok(Step::CaughtUp);
                }
                continue;
            }
            match self.live.recv().await {
                Ok(rows) => {
                    let wanted: Vec<EventRow> = rows.iter().filter(|row| self.wants(row)).cloned().collect();
                    self.ready.extend(wanted);
                    self.seen = rows.last().map_or(self.seen, |row| self.seen.max(row.seq));
                }
                Err(RecvError::Lagged(_)) => self.replaying = true,
                Err(RecvError::Closed) => return Ok(Step::Closed),
            }
        }
    }

    /// Reads the log again before going on, because something is known to be in it.
    pub fn look_again(&mut self) {
        self.replaying = true;
    }

    fn queue(&mut self, batch: EventBatch) {
        let upto = batch.rows.last().map_or(batch.newest, |row| row.seq);
        self.seen = self.seen.max(upto);
        self.ready.extend(batch.rows);
    }

    fn wants(&self, row: &EventRow) -> bool {
        row.seq > self.seen && self.task.is_none_or(|task| row.task.is_some_and(|(id, _)| id == task))
    }

    async fn read(&self) -> Result<EventBatch, ApiError> {
        let view = Arc::clone(&self.view);
        let query = EventQuery { after: self.seen, task: self.task, limit: BATCH };
        self.blocking.read(move || view.events(&query)).await
    }
}

fn check(after: EventSeq, batch: &EventBatch) -> Result<(), ApiError> {
    if after.next() >= batch.oldest {
        return Ok(());
    }
    Err(expired(batch.oldest))
}

/// The refusal for events that are no longer kept.
pub fn expired(oldest: EventSeq) -> ApiError {
    ApiError::new(Code::EventsExpired, format!("Events before {} are no longer kept.", oldest.get()))
        .remedy("Read the tasks as they stand now, then follow from there.")
        .detail(serde_json::json!({ "oldest": oldest }))
}
