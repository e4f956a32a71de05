//! Entries of transcripts. They are added at the end and never changed.

use crate::error::CommitError;
use ouroboros_proto::kind::{AttemptId, TaskId};
use rusqlite::Connection;

const STATEMENT: &str = "transcript";

/// Adds an entry at the end of a task's transcript.
///
/// # Errors
/// It is not JSON, or what SQLite said.
pub fn append(conn: &Connection, task: TaskId, attempt: AttemptId, entry: &[u8]) -> Result<(), CommitError> {
    let text = std::str::from_utf8(entry)
        .map_err(|_| CommitError::contradiction(STATEMENT, "an entry is not text".to_owned()))?;
    conn.prepare_cached(
        "INSERT INTO transcripts (task, place, attempt, entry) \
         SELECT ?1, coalesce(max(place), 0) + 1, ?2, ?3 FROM transcripts WHERE task = ?1",
    )
    .and_then(|mut prepared| prepared.execute((task.as_bytes(), attempt.as_bytes(), text)))
    .map(drop)
    .map_err(|error| CommitError::from_sql(STATEMENT, &error))
}
