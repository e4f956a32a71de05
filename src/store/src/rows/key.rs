//! Rows of idempotency keys.

use super::{BadRow, Columns, integer};
use crate::error::CommitError;
use ouroboros_domain::row::KeyRow;
use ouroboros_proto::kind::{TaskId, TaskNumber};
use rusqlite::{Connection, Row, params};

/// The columns that [`read`] takes, in order.
macro_rules! columns {
    () => {
        "number, key, request, task, at"
    };
}
pub(crate) use columns;

const INSERT: &str = concat!("INSERT INTO keys (", columns!(), ") VALUES (?1, ?2, ?3, ?4, ?5)");

/// Writes a row.
pub fn insert(conn: &Connection, row: &KeyRow) -> Result<(), CommitError> {
    const STATEMENT: &str = "key";
    let number = integer(STATEMENT, row.number.get())?;
    conn.prepare_cached(INSERT)
        .and_then(|mut prepared| {
            prepared.execute(params![number, row.key, row.request, row.task.as_bytes(), row.at.get()])
        })
        .map(drop)
        .map_err(|error| CommitError::from_sql(STATEMENT, &error))
}

/// Reads a row whose [`columns!`] begin at column `first`.
pub fn read(row: &Row<'_>, first: usize) -> Result<KeyRow, BadRow> {
    let mut columns = Columns::new("keys", row, first);
    Ok(KeyRow {
        number: TaskNumber::new(columns.unsigned("number")?),
        key: columns.get("key")?,
        request: columns.get("request")?,
        task: TaskId::from_bytes(columns.get("task")?),
        at: columns.time("at")?,
    })
}
