//! What happens to one task that this server submitted itself.

use ouroboros_domain::EventRow;
use ouroboros_proto::kind::{EventSeq, TaskId, TaskNumber};
use ouroboros_store::{ReadError, Reader};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// Rows that are read at a time.
const ROWS: u32 = 256;

/// Follows a task from its submission. What a slow follower missed is read from the store.
pub struct Followed {
    live: broadcast::Receiver<Arc<[EventRow]>>,
    reader: Reader,
    id: TaskId,
    number: TaskNumber,
    seen: EventSeq,
    missed: bool,
    ready: VecDeque<EventRow>,
}

impl Followed {
    /// Follows this task by `live`, which was there before the task was submitted.
    pub const fn new(
        live: broadcast::Receiver<Arc<[EventRow]>>,
        reader: Reader,
        id: TaskId,
        number: TaskNumber,
    ) -> Self {
        Self { live, reader, id, number, seen: EventSeq::new(0), missed: false, ready: VecDeque::new() }
    }

    /// The task.
    pub const fn id(&self) -> TaskId {
        self.id
    }

    /// What happened next; `None` when the server leaves. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<EventRow> {
        loop {
            if let Some(row) = self.ready.pop_front() {
                return Some(row);
            }
            if self.missed {
                match self.read().await {
                    Ok(true) => continue,
                    Ok(false) => self.missed = false,
                    // With storage that works again something happens again, and it is read then.
                    Err(error) => tracing::warn!(task = %self.id, %error, "events cannot be read"),
                }
            }
            match self.live.recv().await {
                // What was missed comes before it, and is read with it.
                Ok(_) if self.missed => {}
                Ok(rows) => {
                    let of_it = |row: &&EventRow| row.task.is_some_and(|(id, _)| id == self.id);
                    let wanted: Vec<EventRow> = rows.iter().filter(of_it).cloned().collect();
                    wanted.into_iter().for_each(|row| self.take(row));
                }
                Err(RecvError::Lagged(_)) => self.missed = true,
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// Reads on; false when there was nothing more.
    async fn read(&mut self) -> Result<bool, ReadError> {
        let (reader, after, number) = (self.reader.clone(), self.seen, self.number);
        let reading = tokio::task::spawn_blocking(move || reader.events(after, Some(number), ROWS));
        // A thread that is not to be had is tried again like a read that failed: with the next event.
        let Ok(page) = reading.await else { return Ok(false) };
        let rows = page?.events;
        let some = !rows.is_empty();
        rows.into_iter().for_each(|row| self.take(row));
        Ok(some)
    }

    fn take(&mut self, row: EventRow) {
        if row.seq > self.seen {
            self.seen = row.seq;
            self.ready.push_back(row);
        }
    }
}
