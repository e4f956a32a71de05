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
    let none = |why: String| CommitError::contradiction(STATEMENT, format!("an entry is not JSON: {why}"));
    let text = std::str::from_utf8(entry).map_err(|error| none(error.to_string()))?;
    serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|error| none(error.to_string()))?;
    conn.prepare_cached(
        "INSERT INTO transcripts (task, place, attempt, entry) \
         SELECT ?1, coalesce(max(place), 0) + 1, ?2, ?3 FROM transcripts WHERE task = ?1",
    )
    .and_then(|mut prepared| prepared.execute((task.as_bytes(), attempt.as_bytes(), text)))
    .map(drop)
    .map_err(|error| CommitError::from_sql(STATEMENT, &error))
}

/// Begins a task's transcript with the first entries of another one's.
///
/// # Errors
/// A contradiction when there are fewer, or what SQLite said.
pub fn inherit(conn: &Connection, task: TaskId, from: TaskId, entries: u32) -> Result<(), CommitError> {
    let written = conn
        .prepare_cached(
            "INSERT INTO transcripts (task, place, attempt, entry) \
             SELECT ?1, place, attempt, entry FROM transcripts WHERE task = ?2 AND place <= ?3",
        )
        .and_then(|mut prepared| prepared.execute((task.as_bytes(), from.as_bytes(), entries)))
        .map_err(|error| CommitError::from_sql(STATEMENT, &error))?;
    if u32::try_from(written) == Ok(entries) {
        Ok(())
    } else {
        Err(CommitError::contradiction(STATEMENT, format!("{written} of {entries} entries are there to be taken over")))
    }
}
