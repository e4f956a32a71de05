//! Group commit: whatever waits goes into one transaction.

use super::Batch;
use super::thread::Thread;
use crate::apply;
use crate::error::CommitError;
use crate::failpoint::{self, Fault};
use crate::shared::lock;
use ouroboros_proto::limits;
use rusqlite::{Connection, ffi};
use std::sync::Arc;

/// Changes in one transaction from which no further batch is added: about a tenth of a second of work.
const CHANGES: usize = 8_192;

impl Thread {
    /// `first` and the batches that wait behind it.
    pub(super) fn gather(&mut self, first: Batch) -> Vec<Batch> {
        let most = usize::try_from(limits::DECISIONS_PER_COMMIT.max).unwrap_or(256);
        let mut changes = first.changes.len();
        let mut group = vec![first];
        while group.len() < most && changes < CHANGES {
            let Some(batch) = self.waiting() else { break };
            changes = changes.saturating_add(batch.changes.len());
            group.push(batch);
        }
        group
    }

    /// Commits a group in one transaction; a group without changes needs none.
    pub(super) fn commit(&mut self, conn: &Connection, group: &[Batch]) -> Result<(), CommitError> {
        if group.iter().all(|batch| batch.changes.is_empty()) {
            return Ok(());
        }
        self.transact(conn, group.iter().any(|batch| batch.sync), |conn, thread| {
            for batch in group {
                for change in &batch.changes {
                    apply::apply(conn, change, &mut thread.tally)
                        .map_err(|error| CommitError { decision: Some(batch.decision), ..error })?;
                }
            }
            thread.tally.finish(conn)
        })
    }

    /// Runs `work` in a transaction. With `sync`, it is on the disk when this returns.
    pub(super) fn transact<T>(
        &mut self,
        conn: &Connection,
        sync: bool,
        work: impl FnOnce(&Connection, &mut Self) -> Result<T, CommitError>,
    ) -> Result<T, CommitError> {
        let shared = Arc::clone(&self.shared);
        let _gate = lock(&shared.gate);
        self.set_syncing(conn, sync)?;
        execute(conn, "BEGIN IMMEDIATE")?;
        let result = work(conn, self).and_then(|value| commit(conn).map(|()| value));
        if result.is_err() && !conn.is_autocommit() {
            // What this says does not matter: the connection is closed before anything else is written.
            let _ = conn.execute_batch("ROLLBACK");
        }
        result
    }

    /// Without syncing a commit is in the log, and a checkpoint still syncs the log before the database.
    fn set_syncing(&mut self, conn: &Connection, sync: bool) -> Result<(), CommitError> {
        if self.syncing != sync {
            let pragma = if sync { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" };
            conn.execute_batch(pragma).map_err(|error| CommitError::from_sql("synchronous", &error))?;
            self.syncing = sync;
        }
        Ok(())
    }
}

fn commit(conn: &Connection) -> Result<(), CommitError> {
    let before = failpoint::hit("store.before_commit");
    match before {
        Some(Fault::Full) => return Err(injected(ffi::SQLITE_FULL)),
        Some(Fault::Io) => return Err(injected(ffi::SQLITE_IOERR_WRITE)),
        Some(Fault::Visible) | None => execute(conn, "COMMIT")?,
    }
    if before.is_some() || failpoint::hit("store.after_commit").is_some() {
        return Err(injected(ffi::SQLITE_IOERR_FSYNC));
    }
    Ok(())
}

fn execute(conn: &Connection, statement: &'static str) -> Result<(), CommitError> {
    conn.prepare_cached(statement)
        .and_then(|mut prepared| prepared.execute(()))
        .map(drop)
        .map_err(|error| CommitError::from_sql(statement, &error))
}

fn injected(code: i32) -> CommitError {
    CommitError::from_sql("COMMIT", &rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
}
