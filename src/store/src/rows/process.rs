//! Rows of the process ledger.

use super::{BadRow, Columns, integer};
use crate::code::Coded;
use crate::error::CommitError;
use ouroboros_domain::row::ProcessRow;
use ouroboros_proto::kind::{AttemptId, Generation, Identity, ProcessId, WorkerId};
use rusqlite::{Connection, Row, params};

/// The columns that [`read`] takes, in order.
macro_rules! columns {
    () => {
        "id, boot_id, namespace, pid, start_ticks, pidfd_inode, role, generation, worker, attempt, command, recorded_at"
    };
}
pub(crate) use columns;

const UPSERT: &str = concat!(
    "INSERT OR REPLACE INTO processes (",
    columns!(),
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
);

/// Writes a row's new image.
pub fn put(conn: &Connection, row: &ProcessRow) -> Result<(), CommitError> {
    const STATEMENT: &str = "process";
    let generation = integer(STATEMENT, row.generation.get())?;
    let worker = integer(STATEMENT, row.worker.get())?;
    conn.prepare_cached(UPSERT)
        .and_then(|mut prepared| {
            prepared.execute(params![
                row.id.as_bytes(),
                row.identity.boot_id,
                // Inodes and ticks are only ever compared, so all 64 bits go into the signed column.
                row.identity.namespace.cast_signed(),
                row.identity.pid,
                row.identity.start_ticks.cast_signed(),
                row.identity.pidfd_inode.map(u64::cast_signed),
                row.role.code(),
                generation,
                worker,
                row.attempt.as_ref().map(AttemptId::as_bytes),
                &*row.command,
                row.recorded_at.get(),
            ])
        })
        .map(drop)
        .map_err(|error| CommitError::from_sql(STATEMENT, &error))
}

/// Removes a row; nothing happens when there is none.
pub fn remove(conn: &Connection, id: ProcessId) -> Result<(), CommitError> {
    conn.prepare_cached("DELETE FROM processes WHERE id = ?1")
        .and_then(|mut prepared| prepared.execute((id.as_bytes(),)))
        .map(drop)
        .map_err(|error| CommitError::from_sql("process removal", &error))
}

/// Reads a row whose [`columns!`] begin at column `first`.
pub fn read(row: &Row<'_>, first: usize) -> Result<ProcessRow, BadRow> {
    let mut columns = Columns::new("processes", row, first);
    Ok(ProcessRow {
        id: ProcessId::from_bytes(columns.get("id")?),
        identity: Identity {
            boot_id: columns.get("boot_id")?,
            namespace: columns.get::<i64>("namespace")?.cast_unsigned(),
            pid: columns.get("pid")?,
            start_ticks: columns.get::<i64>("start_ticks")?.cast_unsigned(),
            pidfd_inode: columns.get::<Option<i64>>("pidfd_inode")?.map(i64::cast_unsigned),
        },
        role: columns.coded("role")?,
        generation: Generation::new(columns.unsigned("generation")?),
        worker: WorkerId::new(columns.unsigned("worker")?),
        attempt: columns.get::<Option<[u8; 16]>>("attempt")?.map(AttemptId::from_bytes),
        command: columns.get("command")?,
        recorded_at: columns.time("recorded_at")?,
    })
}
