//! Rows that mean nothing are set aside, with the reason, so that the rest can go on.

use crate::layout::hex;
use crate::rows::BadRow;
use ouroboros_proto::kind::clock;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde_json::{Map, Value};

/// A row that was set aside. It is kept in the table `quarantine`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// The table it was in.
    pub table: &'static str,
    /// Which column means nothing, and why.
    pub reason: String,
    /// Everything in the row, as JSON; bytes are written in hexadecimal.
    pub row: String,
}

impl SetAside {
    /// Describes a row that could not be read.
    pub fn new(bad: &BadRow, row: &Row<'_>) -> Self {
        Self { table: bad.table, reason: bad.to_string(), row: describe(row) }
    }
}

/// All columns of `row` as a JSON object.
fn describe(row: &Row<'_>) -> String {
    let statement: &rusqlite::Statement<'_> = row.as_ref();
    let mut object = Map::new();
    for (index, name) in statement.column_names().enumerate() {
        let value = match row.get_ref(index) {
            Ok(ValueRef::Null) | Err(_) => Value::Null,
            Ok(ValueRef::Integer(number)) => number.into(),
            Ok(ValueRef::Real(number)) => number.into(),
            Ok(ValueRef::Text(text)) => String::from_utf8_lossy(text).into(),
            Ok(ValueRef::Blob(bytes)) => hex(bytes).into(),
        };
        object.insert(name.to_owned(), value);
    }
    Value::Object(object).to_string()
}

/// Moves rows to `quarantine`. `remove` deletes each, given its key.
pub fn keep<K>(
    conn: &Connection,
    rows: &[(K, SetAside)],
    remove: impl Fn(&Connection, &K) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let at = clock::wall().get();
    for (key, aside) in rows {
        conn.prepare_cached("INSERT INTO quarantine (at, source, reason, row) VALUES (?1, ?2, ?3, ?4)")?.execute((
            at,
            aside.table,
            &aside.reason,
            &aside.row,
        ))?;
        remove(conn, key)?;
        tracing::error!(table = aside.table, reason = aside.reason, "a stored row cannot be read and was set aside");
    }
    Ok(())
}
