//! Requests to the owner. What was asked and answered is written here and read by who looks, not by decisions.

use super::{BadRow, Columns};
use crate::code::Coded;
use crate::error::CommitError;
use ouroboros_domain::RequestRow;
use ouroboros_proto::kind::{AttemptId, RequestState, TaskId, UtcMicros};
use rusqlite::{Connection, Row, params};

/// The columns that [`read`] takes, in order.
macro_rules! columns {
    () => {
        "task, number, attempt, kind, digest, state, asked_at, expires_at, closed_at"
    };
}
pub(crate) use columns;

const STATEMENT: &str = "request";

const INSERT: &str = concat!(
    "INSERT INTO requests (",
    columns!(),
    ", content) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO UPDATE SET attempt = ?3, kind = ?4, digest = ?5, \
     state = ?6, asked_at = ?7, expires_at = ?8, closed_at = ?9, content = ?10, answer = NULL"
);

/// An open request goes on to any state, a closed one only to another attempt: it is answered once.
const UPDATE: &str = "UPDATE requests SET attempt = ?3, state = ?4, closed_at = ?5, answer = coalesce(?6, answer) \
    WHERE task = ?1 AND number = ?2 AND (state = 0 OR (state = ?4 AND ?6 IS NULL))";

/// Writes a request that is asked, in place of what stood under its number.
///
/// # Errors
/// What is asked is not JSON, or what SQLite said.
pub fn insert(conn: &Connection, row: &RequestRow, content: &[u8]) -> Result<(), CommitError> {
    let content = text(content)?;
    let values = params![
        row.task.as_bytes(),
        row.number,
        row.attempt.as_bytes(),
        row.kind.code(),
        row.digest,
        row.state.code(),
        row.asked_at.get(),
        row.expires_at.map(UtcMicros::get),
        row.closed_at.map(UtcMicros::get),
        content,
    ];
    conn.prepare_cached(INSERT)
        .and_then(|mut prepared| prepared.execute(values))
        .map(drop)
        .map_err(|error| CommitError::from_sql(STATEMENT, &error))
}

/// Writes a request's new image.
///
/// # Errors
/// A contradiction when there is none, or it is closed already; otherwise what SQLite said.
pub fn update(conn: &Connection, row: &RequestRow, answer: Option<&[u8]>) -> Result<(), CommitError> {
    let answer = answer.map(text).transpose()?;
    let values = params![
        row.task.as_bytes(),
        row.number,
        row.attempt.as_bytes(),
        row.state.code(),
        row.closed_at.map(UtcMicros::get),
        answer
    ];
    let written = conn
        .prepare_cached(UPDATE)
        .and_then(|mut prepared| prepared.execute(values))
        .map_err(|error| CommitError::from_sql(STATEMENT, &error))?;
    match written {
        1 => Ok(()),
        _ => {
            let what = format!("request {} of task {} cannot become {}", row.number, row.task, row.state.as_str());
            Err(CommitError::contradiction(STATEMENT, what))
        }
    }
}

fn text(json: &[u8]) -> Result<&str, CommitError> {
    std::str::from_utf8(json).map_err(|_| CommitError::contradiction(STATEMENT, "it is not text".to_owned()))
}

/// Reads a row whose [`columns!`] begin at column `first`.
pub fn read(row: &Row<'_>, first: usize) -> Result<RequestRow, BadRow> {
    let mut columns = Columns::new("requests", row, first);
    let found = RequestRow {
        task: TaskId::from_bytes(columns.get("task")?),
        number: columns.unsigned("number")?,
        attempt: AttemptId::from_bytes(columns.get("attempt")?),
        kind: columns.coded("kind")?,
        digest: columns.get("digest")?,
        state: columns.coded("state")?,
        asked_at: columns.time("asked_at")?,
        expires_at: columns.opt_time("expires_at")?,
        closed_at: columns.opt_time("closed_at")?,
    };
    match (found.state, found.closed_at) {
        (RequestState::Open, None) => Ok(found),
        (RequestState::Answered | RequestState::Expired | RequestState::Withdrawn, Some(_)) => Ok(found),
        (_, _) => Err(columns.bad("closed_at", "does not go with state")),
    }
}
