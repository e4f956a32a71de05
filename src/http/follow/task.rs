//! One task: its events, and between them the output of its attempts.
//!
//! A reader gets every kept byte exactly once and in the order of its stream, and all output of an attempt before the event
//! that ends it. The streams of one attempt have no order between them.

use super::feed::{Feed, Start, Step};
use super::output::{Current, PIECE, Piece, Wanted};
use crate::http::blocking::Blocking;
use crate::http::view::{AttemptRecord, Chunk, EventQuery, View, ViewError};
use crate::supervisor::{Handle, Progress};
use ouroboros_domain::{EventRow, TaskState};
use ouroboros_proto::api::{ApiError, Code};
use ouroboros_proto::kind::{Event, EventSeq, Stream, TaskId};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::watch;

/// What a reader of a task gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// Something was recorded.
    Event(EventRow),
    /// Something was written.
    Output(Piece),
    /// An entry of the transcript, JSON, and its place.
    Entry(u64, String),
    /// A piece of the text that the model is writing.
    Heard(HeardPiece),
    /// Everything recorded so far was given.
    CaughtUp,
}

/// A piece of a text that is being written, ending where a word does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeardPiece {
    /// Which attempt, counted from 1.
    pub ordinal: u32,
    /// Which call of it.
    pub call: u32,
    /// Where it stands.
    pub offset: usize,
    /// The text.
    pub text: String,
}

/// A transcript on its way to a reader.
#[derive(Debug, Default)]
struct Words {
    /// The place that is read next.
    next: u64,
    /// Up to where the attempt's records were looked at.
    looked_at: Option<u64>,
    ready: VecDeque<(u64, String)>,
    /// Up to where the text of which call was given.
    heard: (u32, usize),
}

/// With this begins what can be a key of several lines (RFC 7468).
const BLOCK: &str = "-----BEGIN";
/// A word that is longer is given in pieces.
const LONGEST_WORD: usize = 1 << 10;

/// Follows one task until it has settled.
pub struct TaskFollower {
    task: TaskId,
    view: Arc<dyn View>,
    blocking: Blocking,
    handle: Handle,
    feed: Feed,
    cursor: EventSeq,
    crossed: bool,
    wanted: Option<Wanted>,
    resume_used: bool,
    current: Option<Current>,
    progress: Option<watch::Receiver<Progress>>,
    pump: Pump,
    words: Option<Words>,
    settled_seen: bool,
    done: bool,
}

/// Output that is to be read before anything else.
#[derive(Debug, Default)]
struct Pump {
    words: bool,
    streams: Vec<Stream>,
    then: Option<EventRow>,
}

impl TaskFollower {
    /// Gives events after `after`, or all that are kept, with output when it is wanted.
    ///
    /// # Errors
    /// `events_expired`: events after `after` are no longer kept, or the task settled so long ago that its end is not.
    pub async fn open(
        view: Arc<dyn View>,
        blocking: Blocking,
        handle: Handle,
        task: TaskId,
        after: Option<EventSeq>,
        wanted: Option<Wanted>,
    ) -> Result<Self, ApiError> {
        if let Some(after) = after {
            // Only for its check of what is still kept.
            Feed::open(Arc::clone(&view), blocking.clone(), &handle, Some(task), Start::After(after)).await?;
        }
        // Read from the beginning even when less is given: which attempt is under way follows from earlier events.
        let feed = Feed::open(Arc::clone(&view), blocking.clone(), &handle, Some(task), Start::Oldest).await?;
        let follower = Self {
            task,
            view,
            blocking,
            handle,
            feed,
            cursor: after.unwrap_or_default(),
            crossed: after.is_none(),
            wanted,
            resume_used: false,
            current: None,
            progress: None,
            pump: Pump::default(),
            words: None,
            settled_seen: false,
            done: false,
        };
        if after.is_none() && follower.is_settled().await? && !follower.end_is_recorded().await? {
            return Err(ApiError::new(Code::EventsExpired, "The task has ended, and its events are no longer kept.")
                .remedy("Read the task itself: it tells how it ended."));
        }
        Ok(follower)
    }

    /// Gives the transcript too, from this place on; from the first entry of its own when that is 0.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn with_words(mut self, from: u64) -> Result<Self, ApiError> {
        let (view, task) = (Arc::clone(&self.view), self.task);
        let record = self.blocking.read(move || view.task(task)).await?;
        // What another task did and heard is not of this one.
        let own = record.map_or(0, |record| u64::from(record.row.inherited)).saturating_add(1);
        self.words = Some(Words { next: if from == 0 { own } else { from }, ..Words::default() });
        Ok(self)
    }

    /// The next item; `None` when the task has settled and everything was given, or the server is leaving. Dropping the
    /// future loses nothing.
    ///
    /// # Errors
    /// The reader was slower than retention, or the store cannot be read.
    pub async fn next(&mut self) -> Result<Option<Item>, ApiError> {
        loop {
            if self.pump.words {
                if let Some(item) = self.next_words().await? {
                    return Ok(Some(item));
                }
                self.pump.words = false;
            }
            if let Some(stream) = self.pump.streams.last().copied() {
                if let Some(piece) = self.read(stream).await? {
                    return Ok(Some(Item::Output(piece)));
                }
                self.pump.streams.pop();
                continue;
            }
            if let Some(row) = self.pump.then.take() {
                return Ok(Some(self.give(row)));
            }
            if self.done {
                return Ok(None);
            }
            tokio::select! {
                step = self.feed.next() => match step? {
                    Step::Event(row) => {
                        if let Some(item) = self.take(*row) {
                            return Ok(Some(item));
                        }
                    }
                    Step::CaughtUp => {
                        self.caught_up().await?;
                        if !self.done {
                            return Ok(Some(Item::CaughtUp));
                        }
                    }
                    Step::Closed => self.done = true,
                },
                grown = grown(&mut self.progress) => self.grew(grown),
            }
        }
    }

    /// Whether the reason for the end was the task's, not the server's.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.settled_seen
    }

    fn take(&mut self, row: EventRow) -> Option<Item> {
        if row.seq > self.cursor {
            self.cross();
        }
        match &row.event {
            // An attempt that was taken up before its start came along keeps its place.
            Event::Started { attempt, ordinal } if self.current.is_none_or(|known| known.attempt != *attempt) => {
                let mut current = Current { attempt: *attempt, ordinal: *ordinal, given: Default::default() };
                if self.crossed && self.wanted_ordinal(*ordinal) {
                    self.resume(&mut current);
                }
                self.current = Some(current);
                self.progress = None;
            }
            Event::AttemptEnded { .. } | Event::Settled { .. } if row.seq > self.cursor && self.current.is_some() => {
                self.pump = Pump {
                    words: self.words.is_some(),
                    streams: vec![Stream::Stderr, Stream::Stdout],
                    then: Some(row),
                };
                self.look_at_words();
                return None;
            }
            Event::ProcessStarted { .. } => self.watch(),
            _ => {}
        }
        let given = row.seq > self.cursor;
        let item = self.give(row);
        given.then_some(item)
    }

    /// Hands an event out, and what follows from it for this follower.
    fn give(&mut self, row: EventRow) -> Item {
        match &row.event {
            Event::AttemptEnded { .. } => self.leave_attempt(),
            Event::Settled { .. } => {
                self.leave_attempt();
                self.settled_seen = true;
                self.done = true;
            }
            _ => {}
        }
        Item::Event(row)
    }

    fn leave_attempt(&mut self) {
        if let Some(words) = &mut self.words {
            words.heard = (0, 0);
        }
        self.current = None;
        self.progress = None;
    }

    async fn caught_up(&mut self) -> Result<(), ApiError> {
        self.cross();
        if self.current.is_none() {
            self.adopt().await?;
        }
        self.watch();
        self.look_at_words();
        self.pump.words = self.words.is_some();
        if self.is_settled().await? {
            // Either its end was recorded a moment ago and is in the log, or it lies before what the reader asked for.
            if self.end_is_recorded().await? && !self.settled_seen {
                self.feed.look_again();
            } else {
                self.settled_seen = true;
                self.done = true;
            }
        }
        Ok(())
    }

    /// Takes up an attempt whose start is no longer in the log.
    async fn adopt(&mut self) -> Result<(), ApiError> {
        let view = Arc::clone(&self.view);
        let task = self.task;
        let attempts: Vec<AttemptRecord> = self.blocking.read(move || view.attempts(task)).await?;
        if let Some(running) = attempts.last().filter(|attempt| attempt.row.ended_at.is_none()) {
            let mut current =
                Current { attempt: running.row.id, ordinal: running.row.ordinal, given: Default::default() };
            if self.wanted_ordinal(current.ordinal) {
                self.resume(&mut current);
            }
            self.current = Some(current);
        }
        Ok(())
    }

    fn cross(&mut self) {
        if std::mem::replace(&mut self.crossed, true) {
            return;
        }
        if let Some(mut current) = self.current {
            if self.wanted_ordinal(current.ordinal) {
                self.resume(&mut current);
            }
            self.current = Some(current);
        }
    }

    fn resume(&mut self, current: &mut Current) {
        if let Some(wanted) = self.wanted.filter(|_| !self.resume_used) {
            current.given = wanted.from;
            self.resume_used = true;
        }
    }

    fn wanted_ordinal(&self, ordinal: u32) -> bool {
        self.wanted.is_some_and(|wanted| wanted.ordinal.is_none_or(|only| only == ordinal))
    }

    /// Reads the transcript again, whatever is known of it.
    fn look_at_words(&mut self) {
        if let Some(words) = &mut self.words {
            words.looked_at = None;
        }
    }

    /// What comes next of the transcript and of what the model is writing, in their order: an answer is given before the text of the
    /// next one.
    async fn next_words(&mut self) -> Result<Option<Item>, ApiError> {
        let Some(words) = &mut self.words else { return Ok(None) };
        if let Some((place, entry)) = words.ready.pop_front() {
            return Ok(Some(Item::Entry(place, entry)));
        }
        // Looked at before the transcript: what is recorded of earlier answers is found there then.
        let heard = self.current.and_then(|current| {
            let heard = self.handle.answer(self.task, current.attempt, words.heard)?;
            Some((current.ordinal, heard))
        });
        let recorded = self.progress.as_ref().map(|progress| progress.borrow().recorded);
        if words.looked_at.is_none() || words.looked_at != recorded {
            let (view, task, from) = (Arc::clone(&self.view), self.task, words.next);
            let entries = self.blocking.read(move || view.transcript(task, from)).await?;
            let Some(words) = &mut self.words else { return Ok(None) };
            if entries.is_empty() {
                words.looked_at = Some(recorded.unwrap_or(0));
            }
            words.ready.extend((words.next..).zip(entries));
            words.next = words.ready.back().map_or(words.next, |(place, _)| place.saturating_add(1));
            if let Some((place, entry)) = words.ready.pop_front() {
                return Ok(Some(Item::Entry(place, entry)));
            }
        }
        let Some(words) = &mut self.words else { return Ok(None) };
        let Some((ordinal, (offset, heard))) = heard else { return Ok(None) };
        // Up to the end of a word: keys are hidden in whole ones.
        let end = heard.text.char_indices().rev().find(|(_, letter)| letter.is_whitespace());
        let end = end.map_or(0, |(at, letter)| at.saturating_add(letter.len_utf8()));
        let end = if end == 0 && heard.text.len() > LONGEST_WORD { heard.text.len() } else { end };
        // A key of several lines is hidden in the whole answer only.
        let end = heard.text.find(BLOCK).map_or(end, |at| at.min(end));
        let Some(text) = heard.text.get(..end).filter(|text| !text.is_empty()) else { return Ok(None) };
        words.heard = (heard.call, offset.saturating_add(end));
        Ok(Some(Item::Heard(HeardPiece { ordinal, call: heard.call, offset, text: text.to_owned() })))
    }

    fn watch(&mut self) {
        if (self.wanted.is_none() && self.words.is_none()) || self.progress.is_some() || !self.crossed {
            return;
        }
        let Some(current) = self.current else { return };
        if let Some(mut progress) = self.handle.progress(self.task) {
            let now = *progress.borrow_and_update();
            if now.attempt == current.attempt {
                self.progress = Some(progress);
                self.grew(Some(now));
            }
        }
    }

    fn grew(&mut self, progress: Option<Progress>) {
        let (Some(progress), Some(current)) = (progress, self.current) else {
            self.progress = None;
            return;
        };
        self.pump.words = self.words.is_some();
        if self.wanted.is_some() && progress.stderr > current.given.stderr {
            self.pump.streams.push(Stream::Stderr);
        }
        if self.wanted.is_some() && progress.stdout > current.given.stdout {
            self.pump.streams.push(Stream::Stdout);
        }
    }

    async fn read(&mut self, stream: Stream) -> Result<Option<Piece>, ApiError> {
        let (Some(current), Some(wanted)) = (self.current, self.wanted) else { return Ok(None) };
        if !wanted.takes(current.ordinal, stream) {
            return Ok(None);
        }
        let from = current.given.of(stream);
        let view = Arc::clone(&self.view);
        let read = self
            .blocking
            .read(move || match view.output(current.attempt, stream, from, PIECE) {
                Err(ViewError::Expired) => Ok(Chunk { offset: from, ..Chunk::default() }),
                other => other,
            })
            .await?;
        if read.bytes.is_empty() {
            return Ok(None);
        }
        let length = u64::try_from(read.bytes.len()).unwrap_or(u64::MAX);
        if let Some(current) = &mut self.current {
            current.given.set(stream, read.offset.saturating_add(length));
        }
        Ok(Some(Piece {
            ordinal: current.ordinal,
            stream,
            offset: read.offset,
            gap: read.offset.saturating_sub(from),
            bytes: read.bytes,
        }))
    }

    async fn is_settled(&self) -> Result<bool, ApiError> {
        let view = Arc::clone(&self.view);
        let task = self.task;
        let record = self.blocking.read(move || view.task(task)).await?;
        Ok(record.is_none_or(|record| matches!(record.row.state, TaskState::Settled { .. })))
    }

    async fn end_is_recorded(&self) -> Result<bool, ApiError> {
        let view = Arc::clone(&self.view);
        let (task, cursor) = (self.task, self.cursor);
        self.blocking
            .read(move || {
                let mut query = EventQuery { after: cursor, task: Some(task), limit: 500 };
                loop {
                    let rows = view.events(&query)?.rows;
                    if rows.iter().any(|row| matches!(row.event, Event::Settled { .. })) {
                        return Ok::<_, ViewError>(true);
                    }
                    let Some(last) = rows.last() else { return Ok(false) };
                    query.after = last.seq;
                }
            })
            .await
    }
}

/// Waits for output to grow; `None` when the attempt is over. Without an attempt it waits for ever.
async fn grown(progress: &mut Option<watch::Receiver<Progress>>) -> Option<Progress> {
    match progress {
        None => std::future::pending().await,
        Some(receiver) => match receiver.changed().await {
            Ok(()) => Some(*receiver.borrow_and_update()),
            Err(_) => None,
        },
    }
}
