//! Attempt rows.

use super::{BadRow, Columns, integer, json};
use crate::code::Coded;
use crate::error::CommitError;
use ouroboros_domain::row::AttemptRow;
use ouroboros_proto::kind::{AttemptId, Generation, TaskId, UtcMicros, WorkerId};
use rusqlite::{Connection, Row, params};

/// The columns that [`read`] takes, in order.
macro_rules! columns {
    () => {
        "task, ordinal, id, generation, worker, started_at, isolation, released, sequence, report, ended_at, delivered, \
         workspace"
    };
}
pub(crate) use columns;

const UPSERT: &str = concat!(
    "INSERT INTO attempts (",
    columns!(),
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT DO UPDATE SET generation = excluded.generation, \
     worker = excluded.worker, started_at = excluded.started_at, isolation = excluded.isolation, \
     released = excluded.released, sequence = excluded.sequence, report = excluded.report, ended_at = excluded.ended_at, \
     delivered = excluded.delivered \
     WHERE id = excluded.id"
);

/// Writes a row's new image.
///
/// # Errors
/// A contradiction when another attempt has this task's ordinal.
pub fn put(conn: &Connection, row: &AttemptRow) -> Result<(), CommitError> {
    const STATEMENT: &str = "attempt";
    let report = row.report.as_ref().map(|report| json(STATEMENT, report)).transpose()?;
    let generation = integer(STATEMENT, row.generation.get())?;
    let worker = integer(STATEMENT, row.worker.get())?;
    let sequence = integer(STATEMENT, row.sequence)?;
    let written = conn
        .prepare_cached(UPSERT)
        .and_then(|mut prepared| {
            prepared.execute(params![
                row.task.as_bytes(),
                row.ordinal,
                row.id.as_bytes(),
                generation,
                worker,
                row.started_at.get(),
                row.isolation.code(),
                row.released,
                sequence,
                report,
                row.ended_at.map(UtcMicros::get),
                row.delivered,
                row.workspace.as_deref(),
            ])
        })
        .map_err(|error| CommitError::from_sql(STATEMENT, &error))?;
    if written == 1 {
        Ok(())
    } else {
        Err(CommitError::contradiction(STATEMENT, format!("attempt {} of the task is another one", row.ordinal)))
    }
}

/// Reads a row whose [`columns!`] begin at column `first`.
pub fn read(row: &Row<'_>, first: usize) -> Result<AttemptRow, BadRow> {
    let mut columns = Columns::new("attempts", row, first);
    Ok(AttemptRow {
        task: TaskId::from_bytes(columns.get("task")?),
        ordinal: columns.unsigned("ordinal")?,
        id: AttemptId::from_bytes(columns.get("id")?),
        generation: Generation::new(columns.unsigned("generation")?),
        worker: WorkerId::new(columns.unsigned("worker")?),
        started_at: columns.time("started_at")?,
        isolation: columns.coded("isolation")?,
        released: columns.flag("released")?,
        sequence: columns.unsigned("sequence")?,
        report: columns.opt_json("report")?,
        ended_at: columns.opt_time("ended_at")?,
        delivered: columns.flag("delivered")?,
        workspace: columns.get::<Option<String>>("workspace")?.map(Into::into),
    })
}
