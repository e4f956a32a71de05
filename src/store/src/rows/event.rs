//! Event rows.

use super::{BadRow, Columns, integer, json};
use crate::error::CommitError;
use ouroboros_domain::row::EventRow;
use ouroboros_proto::kind::{EventSeq, TaskId, TaskNumber};
use rusqlite::{Connection, Row, params};

/// The columns that [`read`] takes, in order.
macro_rules! columns {
    () => {
        "seq, at, number, task, body"
    };
}
pub(crate) use columns;

const INSERT: &str = concat!("INSERT INTO events (", columns!(), ") VALUES (?1, ?2, ?3, ?4, ?5)");

/// Writes a row.
pub fn insert(conn: &Connection, row: &EventRow) -> Result<(), CommitError> {
    const STATEMENT: &str = "event";
    let seq = integer(STATEMENT, row.seq.get())?;
    let number = row.task.map(|(_, number)| integer(STATEMENT, number.get())).transpose()?;
    let task = row.task.as_ref().map(|(id, _)| id.as_bytes());
    let body = json(STATEMENT, &row.event)?;
    conn.prepare_cached(INSERT)
        .and_then(|mut prepared| prepared.execute(params![seq, row.at.get(), number, task, body]))
        .map(drop)
        .map_err(|error| CommitError::from_sql(STATEMENT, &error))
}

/// Reads a row whose [`columns!`] begin at column `first`.
pub fn read(row: &Row<'_>, first: usize) -> Result<EventRow, BadRow> {
    let mut columns = Columns::new("events", row, first);
    let seq = EventSeq::new(columns.unsigned("seq")?);
    let at = columns.time("at")?;
    let number: Option<i64> = columns.get("number")?;
    let task: Option<[u8; 16]> = columns.get("task")?;
    let task = match (task, number.map(u64::try_from)) {
        (None, None) => None,
        (Some(task), Some(Ok(number))) => Some((TaskId::from_bytes(task), TaskNumber::new(number))),
        _ => return Err(columns.bad("task", "does not go with number")),
    };
    match columns.opt_json("body")? {
        Some(event) => Ok(EventRow { seq, at, task, event }),
        None => Err(columns.bad("body", "is missing")),
    }
}
