//! Rules that the owner made with answers.

use super::{BadRow, Columns, integer};
use crate::code::Coded;
use crate::error::CommitError;
use crate::meta;
use ouroboros_domain::{NewRule, RuleRow};
use ouroboros_proto::kind::{RuleId, RuleScope, TaskId};
use rusqlite::{Connection, Row, params};

/// The columns that [`read`] takes, in order.
macro_rules! columns {
    () => {
        "id, scope, folder, tool, pattern, effect, created_at, from_task, from_number"
    };
}
pub(crate) use columns;

const INSERT: &str = concat!("INSERT INTO rules (", columns!(), ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");

const STATEMENT: &str = "rule";

/// Writes a rule.
///
/// # Errors
/// Its pattern is not JSON, or what SQLite said.
pub fn insert(conn: &Connection, row: &RuleRow) -> Result<(), CommitError> {
    let NewRule { scope, tool, pattern, effect } = &row.rule;
    let pattern = std::str::from_utf8(pattern)
        .map_err(|_| CommitError::contradiction(STATEMENT, "its pattern is not text".to_owned()))?;
    let (scope, folder) = match scope {
        RuleScope::Installation => (0, None),
        RuleScope::Folder { path } => (1, Some(path)),
        RuleScope::Task => (2, None),
    };
    let values = params![
        integer(STATEMENT, row.id.get())?,
        scope,
        folder,
        &**tool,
        pattern,
        effect.code(),
        row.created_at.get(),
        row.from.0.as_bytes(),
        row.from.1
    ];
    conn.prepare_cached(INSERT)
        .and_then(|mut prepared| prepared.execute(values))
        .map(drop)
        .map_err(|error| CommitError::from_sql(STATEMENT, &error))
}

/// Removes a rule. Its number is not given again.
///
/// # Errors
/// What SQLite said.
pub fn remove(conn: &Connection, id: RuleId) -> Result<(), CommitError> {
    let id = integer(STATEMENT, id.get())?;
    meta::raise(conn, meta::RULE_FLOOR, id)
        .and_then(|()| conn.prepare_cached("DELETE FROM rules WHERE id = ?1")?.execute((id,)))
        .map(drop)
        .map_err(|error| CommitError::from_sql(STATEMENT, &error))
}

/// Reads a row whose [`columns!`] begin at column `first`.
pub fn read(row: &Row<'_>, first: usize) -> Result<RuleRow, BadRow> {
    let mut columns = Columns::new("rules", row, first);
    let id = RuleId::new(columns.unsigned("id")?);
    let scope: i64 = columns.get("scope")?;
    let folder: Option<String> = columns.get("folder")?;
    let scope = match (scope, folder) {
        (0, None) => RuleScope::Installation,
        (1, Some(path)) => RuleScope::Folder { path },
        (2, None) => RuleScope::Task,
        _ => return Err(columns.bad("scope", "does not go with folder")),
    };
    let tool: String = columns.get("tool")?;
    let pattern: String = columns.get("pattern")?;
    let effect = columns.coded("effect")?;
    let created_at = columns.time("created_at")?;
    let from = (TaskId::from_bytes(columns.get("from_task")?), columns.unsigned("from_number")?);
    let rule = NewRule { scope, tool: tool.into(), pattern: pattern.into_bytes().into(), effect };
    Ok(RuleRow { id, rule, created_at, from })
}
