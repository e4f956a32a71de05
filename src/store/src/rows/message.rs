//! What was said to tasks in words.

use super::{BadRow, Columns};
use crate::error::CommitError;
use ouroboros_domain::row::{KeyHash, MessageRow};
use ouroboros_proto::kind::TaskId;
use rusqlite::{Connection, Row, params};

const STATEMENT: &str = "message";

/// The columns that [`read`] takes, in order.
macro_rules! columns {
    () => {
        "task, number, at, key, request, place"
    };
}
pub(crate) use columns;

/// Adds a message.
///
/// # Errors
/// What SQLite said.
pub fn insert(conn: &Connection, row: &MessageRow, text: &str) -> Result<(), CommitError> {
    let (key, request) = row.key.unzip();
    conn.prepare_cached("INSERT INTO messages (task, number, at, key, request, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
        .and_then(|mut prepared| {
            prepared.execute(params![row.task.as_bytes(), row.number, row.at.get(), key, request, text])
        })
        .map(drop)
        .map_err(|error| CommitError::from_sql(STATEMENT, &error))
}

/// Notes that the newest entry of its task's transcript is this message.
///
/// # Errors
/// A contradiction when there is none that was not taken.
pub fn take(conn: &Connection, task: TaskId, number: u32) -> Result<(), CommitError> {
    let written = conn
        .prepare_cached(
            "UPDATE messages SET place = (SELECT max(place) FROM transcripts WHERE task = ?1) \
             WHERE task = ?1 AND number = ?2 AND place IS NULL",
        )
        .and_then(|mut prepared| prepared.execute(params![task.as_bytes(), number]))
        .map_err(|error| CommitError::from_sql(STATEMENT, &error))?;
    match written {
        1 => Ok(()),
        _ => Err(CommitError::contradiction(STATEMENT, format!("message {number} of {task} does not wait"))),
    }
}

/// Reads a row whose [`columns!`] begin at column `first`.
pub fn read(row: &Row<'_>, first: usize) -> Result<MessageRow, BadRow> {
    let mut columns = Columns::new("messages", row, first);
    let task = TaskId::from_bytes(columns.get("task")?);
    let number = columns.unsigned("number")?;
    let at = columns.time("at")?;
    let (key, request): (Option<KeyHash>, Option<KeyHash>) = (columns.get("key")?, columns.get("request")?);
    let place: Option<i64> = columns.get("place")?;
    Ok(MessageRow { task, number, key: key.zip(request), at, taken: place.is_some() })
}
