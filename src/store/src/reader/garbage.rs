//! What may go: settled tasks past their time, bodies that nobody names, files without a row.

use super::Reader;
use crate::apply;
use crate::content::hashes_in;
use crate::error::{CommitError, ReadError};
use crate::meta;
use ouroboros_proto::kind::{AttemptId, TaskId, UtcMicros};
use rusqlite::Connection;
use std::collections::{BTreeSet, HashSet};

/// Rows read in one transaction while all are passed.
const STEP: i64 = 4_096;

/// Settled tasks that may be forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Removable {
    /// Their ids, oldest first.
    pub tasks: Vec<TaskId>,
    /// Whether more would be found after these are gone.
    pub more: bool,
}

/// Bodies that no task named when they were looked for. Consumed by [`Job::Contents`](crate::Job::Contents), which looks again
/// at the tasks that came since.
#[derive(Debug, Clone, Default)]
pub struct Unreferenced {
    hashes: Vec<[u8; 32]>,
    /// Specifications up to this number were looked at.
    through: i64,
}

/// What one step of deleting bodies did.
pub struct Deleted {
    /// Hashes whose rows are gone once the transaction is committed.
    pub hashes: Vec<[u8; 32]>,
    /// How many rows that were.
    pub rows: u64,
    /// Whether nothing is left to do.
    pub complete: bool,
}

impl Reader {
    /// Settled tasks that settled before `before`, or are more than the newest `keep`; at most `limit`, oldest first, beginning
    /// behind `after`.
    ///
    /// # Errors
    /// The read failed.
    pub fn removable(
        &self,
        before: UtcMicros,
        keep: u64,
        after: Option<TaskId>,
        limit: usize,
    ) -> Result<Removable, ReadError> {
        self.read(|conn| {
            let surplus = meta::count(conn, meta::SETTLED)?.saturating_sub(keep);
            let mut found = Removable::default();
            let mut seen = 0_u64;
            // Ids sort by the time they were made, which is close to the order of arrival.
            let mut prepared = conn.prepare_cached(
                "SELECT id, submitted_at, settled_at FROM tasks INDEXED BY tasks_id WHERE live = 0 ORDER BY id",
            )?;
            let mut rows = prepared.query(())?;
            while let Some(row) = rows.next()? {
                let id = TaskId::from_bytes(row.get(0)?);
                let (submitted_at, settled_at): (i64, i64) = (row.get(1)?, row.get(2)?);
                if seen >= surplus && submitted_at >= before.get() {
                    break;
                }
                if (seen < surplus || settled_at < before.get()) && after.is_none_or(|after| after < id) {
                    if found.tasks.len() >= limit {
                        found.more = true;
                        break;
                    }
                    found.tasks.push(id);
                }
                seen = seen.saturating_add(1);
            }
            Ok(found)
        })
    }

    /// Bodies that no task names. Passes all specifications, in many short reads.
    ///
    /// # Errors
    /// A read failed.
    pub fn unreferenced(&self) -> Result<Unreferenced, ReadError> {
        // Bodies first: one that is stored later cannot be among them.
        let mut candidates = HashSet::new();
        let mut last = 0_i64;
        loop {
            let step: Vec<(i64, [u8; 32])> = self.read(|conn| {
                super::collect(
                    conn,
                    "SELECT rowid, hash FROM contents WHERE rowid > ?1 ORDER BY rowid LIMIT ?2",
                    (last, STEP),
                    |row| Ok::<_, ReadError>((row.get(0)?, row.get(1)?)),
                )
            })?;
            let Some((highest, _)) = step.last() else { break };
            last = *highest;
            candidates.extend(step.into_iter().map(|(_, hash)| hash));
        }
        let mut through = 0_i64;
        while !candidates.is_empty() {
            let passed = self.read(|conn| {
                pass_specs(conn, through, STEP, |hash| {
                    candidates.remove(&hash);
                })
                .map_err(ReadError::from)
            })?;
            let Some(highest) = passed else { break };
            through = highest;
        }
        let mut hashes: Vec<_> = candidates.into_iter().collect();
        hashes.sort_unstable();
        Ok(Unreferenced { hashes, through })
    }

    /// Those of `tasks` that do not exist any more.
    ///
    /// # Errors
    /// A read failed.
    pub fn forgotten(&self, tasks: &[TaskId]) -> Result<Vec<TaskId>, ReadError> {
        self.read(|conn| {
            let mut forgotten = Vec::new();
            for task in tasks {
                if apply::number_of(conn, *task)?.is_none() {
                    forgotten.push(*task);
                }
            }
            Ok(forgotten)
        })
    }

    /// Those of `tasks` that are over, or do not exist any more.
    ///
    /// # Errors
    /// A read failed.
    pub fn over(&self, tasks: &[TaskId]) -> Result<Vec<TaskId>, ReadError> {
        self.read(|conn| {
            let mut live = conn.prepare_cached("SELECT 1 FROM tasks WHERE live = 1 AND id = ?1")?;
            let mut over = Vec::new();
            for task in tasks {
                if !live.exists((task.as_bytes(),))? {
                    over.push(*task);
                }
            }
            Ok(over)
        })
    }

    /// Those of `attempts` that have no row. Passes all attempts, in many short reads.
    ///
    /// # Errors
    /// A read failed.
    pub fn without_row(&self, mut attempts: BTreeSet<AttemptId>) -> Result<BTreeSet<AttemptId>, ReadError> {
        let mut after: ([u8; 16], i64) = ([0; 16], 0);
        while !attempts.is_empty() {
            let step: Vec<([u8; 16], i64, [u8; 16])> = self.read(|conn| {
                super::collect(
                    conn,
                    "SELECT task, ordinal, id FROM attempts WHERE (task, ordinal) > (?1, ?2) ORDER BY task, ordinal LIMIT ?3",
                    (after.0, after.1, STEP),
                    |row| Ok::<_, ReadError>((row.get(0)?, row.get(1)?, row.get(2)?)),
                )
            })?;
            let Some((task, ordinal, _)) = step.last() else { break };
            after = (*task, *ordinal);
            for (_, _, id) in &step {
                attempts.remove(&AttemptId::from_bytes(*id));
            }
        }
        Ok(attempts)
    }
}

impl Unreferenced {
    /// How many bodies these are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Deletes at most `rows` of them, after another look at the tasks that came since.
    pub(crate) fn delete_some(&mut self, conn: &Connection, rows: i64) -> Result<Deleted, CommitError> {
        let failed = |error| CommitError::from_sql("content removal", &error);
        let mut wanted = HashSet::new();
        let mut looked_at = 0_i64;
        while let Some(highest) = pass_specs(conn, self.through, rows, |hash| {
            wanted.insert(hash);
        })
        .map_err(failed)?
        {
            self.through = highest;
            looked_at = looked_at.saturating_add(rows);
            if looked_at > STEP {
                break;
            }
        }
        self.hashes.retain(|hash| !wanted.contains(hash));
        if looked_at > STEP {
            return Ok(Deleted { hashes: Vec::new(), rows: 0, complete: self.hashes.is_empty() });
        }
        let count = usize::try_from(rows).unwrap_or(0);
        let hashes = self.hashes.split_off(self.hashes.len().saturating_sub(count));
        let mut deleted = 0_usize;
        for hash in &hashes {
            deleted = deleted.saturating_add(
                conn.prepare_cached("DELETE FROM contents WHERE hash = ?1")
                    .and_then(|mut prepared| prepared.execute((hash,)))
                    .map_err(failed)?,
            );
        }
        Ok(Deleted { hashes, rows: u64::try_from(deleted).unwrap_or(0), complete: self.hashes.is_empty() })
    }
}

/// Shows every hash in the next `step` specifications after number `after`; returns the last number, `None` at the end.
fn pass_specs(
    conn: &Connection,
    after: i64,
    step: i64,
    mut see: impl FnMut([u8; 32]),
) -> rusqlite::Result<Option<i64>> {
    let mut prepared =
        conn.prepare_cached("SELECT number, spec FROM task_specs WHERE number > ?1 ORDER BY number LIMIT ?2")?;
    let mut rows = prepared.query((after, step))?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        last = Some(row.get(0)?);
        hashes_in(row.get_ref(1)?.as_blob()?).for_each(&mut see);
    }
    Ok(last)
}
