//! Housekeeping on the writer's thread, in slices: events beyond their number, keys past their time, bodies nobody names.

use super::thread::Thread;
use crate::content;
use crate::error::CommitError;
use crate::meta;
use crate::reader::Unreferenced;
use crossbeam_channel::Sender;
use ouroboros_proto::kind::{BootMicros, Millis, UtcMicros, clock};
use rusqlite::Connection;

/// The longest that one slice holds up commits.
const SLICE: Millis = Millis::new(10);
/// Rows deleted between two looks at the clock.
const ROWS: i64 = 128;

/// A piece of housekeeping.
#[derive(Debug, Clone)]
pub enum Job {
    /// Keep only the newest events; the newest one always stays.
    Events {
        /// How many to keep.
        keep: u64,
    },
    /// Forget old idempotency keys.
    Keys {
        /// Forget those used before this.
        before: UtcMicros,
        /// Keep at most this many, the newest.
        keep: u64,
    },
    /// Delete bodies that no task names any more; found by [`Reader::unreferenced`](crate::Reader::unreferenced).
    Contents(Unreferenced),
}

/// What housekeeping did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Rows deleted.
    pub rows: u64,
    /// Bytes of content files deleted.
    pub file_bytes: u64,
}

/// A job under way.
pub struct Sweep {
    job: Job,
    done: Sender<Result<Swept, CommitError>>,
    swept: Swept,
    /// The highest row that goes, once it is known. What is added meanwhile is for the next time.
    left: Option<u64>,
}

impl Sweep {
    pub(super) fn new(job: Job, done: Sender<Result<Swept, CommitError>>) -> Self {
        Self { job, done, swept: Swept::default(), left: None }
    }

    pub(super) fn finish(self) {
        let _ = self.done.send(Ok(self.swept));
    }

    pub(super) fn fail(self, error: CommitError) {
        let _ = self.done.send(Err(error));
    }
}

impl Thread {
    /// Does one slice of a job; true when it is complete.
    pub(super) fn sweep_slice(&mut self, conn: &Connection, sweep: &mut Sweep) -> Result<bool, CommitError> {
        let until = clock::boot().plus(SLICE);
        match &mut sweep.job {
            Job::Events { keep } => {
                let keep = (*keep).max(1);
                let floor = match sweep.left {
                    Some(floor) => floor,
                    None => newest(conn)?.saturating_sub(keep),
                };
                sweep.left = Some(floor);
                let floor = i64::try_from(floor).unwrap_or(i64::MAX);
                let deleted = self.transact(conn, false, |conn, _| {
                    let deleted = delete_while(until, || {
                        conn.prepare_cached(
                            "DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE seq <= ?1 ORDER BY seq LIMIT ?2)",
                        )?
                        .execute((floor, ROWS))
                    })?;
                    if deleted.complete && floor > 0 {
                        meta::raise(conn, meta::EVENT_FLOOR, floor).map_err(failed)?;
                    }
                    Ok(deleted)
                })?;
                sweep.swept.rows = sweep.swept.rows.saturating_add(deleted.rows);
                Ok(deleted.complete)
            }
            Job::Keys { before, keep } => {
                let before = before.get();
                let keep = i64::try_from(*keep).unwrap_or(i64::MAX);
                let cutoff = match sweep.left {
                    Some(cutoff) => cutoff,
                    None => newest_beyond(conn, keep)?,
                };
                sweep.left = Some(cutoff);
                let cutoff = i64::try_from(cutoff).unwrap_or(i64::MAX);
                // Oldest first, and no further than the first that stays: keys are numbered in the order of their time.
                let deleted = self.transact(conn, false, |conn, _| {
                    delete_while(until, || {
                        conn.prepare_cached(
                            "DELETE FROM keys WHERE number IN (SELECT number FROM keys ORDER BY number LIMIT ?3) \
                             AND (at < ?1 OR number <= ?2)",
                        )?
                        .execute((before, cutoff, ROWS))
                    })
                })?;
                sweep.swept.rows = sweep.swept.rows.saturating_add(deleted.rows);
                Ok(deleted.complete)
            }
            Job::Contents(unreferenced) => {
                self.tally.forget();
                let layout = self.shared.layout.clone();
                let gone = self.transact(conn, false, |conn, _| unreferenced.delete_some(conn, ROWS))?;
                for hash in &gone.hashes {
                    sweep.swept.file_bytes = sweep.swept.file_bytes.saturating_add(content::remove_old(&layout, hash));
                }
                sweep.swept.rows = sweep.swept.rows.saturating_add(gone.rows);
                Ok(gone.complete)
            }
        }
    }
}

struct Deleted {
    rows: u64,
    complete: bool,
}

/// Repeats `delete` until it finds nothing more, or the time is over.
fn delete_while(
    until: BootMicros,
    mut delete: impl FnMut() -> rusqlite::Result<usize>,
) -> Result<Deleted, CommitError> {
    let mut rows = 0_u64;
    loop {
        let deleted = delete().map_err(failed)?;
        rows = rows.saturating_add(u64::try_from(deleted).unwrap_or(0));
        if i64::try_from(deleted).unwrap_or(i64::MAX) < ROWS {
            return Ok(Deleted { rows, complete: true });
        }
        if clock::boot() >= until {
            return Ok(Deleted { rows, complete: false });
        }
    }
}

fn newest(conn: &Connection) -> Result<u64, CommitError> {
    let newest: Option<i64> = conn.query_row("SELECT max(seq) FROM events", (), |row| row.get(0)).map_err(failed)?;
    Ok(newest.and_then(|newest| u64::try_from(newest).ok()).unwrap_or(0))
}

/// The newest key that is not among the newest `keep`; 0 when there are not so many.
fn newest_beyond(conn: &Connection, keep: i64) -> Result<u64, CommitError> {
    let number: Option<i64> = conn
        .query_row(
            "SELECT max(number) FROM (SELECT number FROM keys ORDER BY number DESC LIMIT 1 OFFSET ?1)",
            (keep,),
            |row| row.get(0),
        )
        .map_err(failed)?;
    Ok(number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0))
}

fn failed(error: rusqlite::Error) -> CommitError {
    CommitError::from_sql("housekeeping", &error)
}
