//! Who keeps a task from the folder that it acts in.

use super::Reader;
use crate::error::ReadError;
use crate::rows::task;
use ouroboros_domain::row::{Park, TaskRow, TaskState};
use ouroboros_domain::{outer_folders, overlap};
use ouroboros_proto::kind::{TaskId, TaskNumber, UtcMicros};
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::BTreeMap;

/// Tasks in one larger folder that are looked at for one that came before.
const LOOKED_AT: u32 = 64;

/// A folder that an attempt holds.
struct Held {
    path: String,
    task: TaskId,
}

impl Reader {
    /// Of those among `tasks` that wait for nothing but their folder at `now`, the number of the task that they wait for. It is at work
    /// there, or it came before and waits for a larger folder.
    ///
    /// # Errors
    /// The read failed.
    pub fn waits_for_workspace(
        &self,
        tasks: &[&TaskRow],
        now: UtcMicros,
    ) -> Result<BTreeMap<TaskId, TaskNumber>, ReadError> {
        let mut waits = BTreeMap::new();
        if tasks.iter().all(|row| row.workspace.is_none() || row.state != TaskState::Queued) {
            return Ok(waits);
        }
        self.read(|conn| {
            let held = held(conn)?;
            for row in tasks.iter().filter(|_| !held.is_empty()) {
                let Some(path) = row.workspace.as_deref() else { continue };
                if !is_ready(conn, row, now)? {
                    continue;
                }
                let found = match held.iter().find(|it| overlap(&it.path, path)) {
                    Some(it) => crate::apply::number_of(conn, it.task)?,
                    None => ahead(conn, row, path, &held, now)?,
                };
                waits.extend(found.map(|number| (row.id, number)));
            }
            Ok(waits)
        })
    }
}

fn held(conn: &Connection) -> rusqlite::Result<Vec<Held>> {
    let select = "SELECT workspace, task FROM attempts INDEXED BY attempts_open WHERE ended_at IS NULL AND workspace IS NOT NULL";
    let mut prepared = conn.prepare_cached(select)?;
    let rows = prepared.query_map((), |row| Ok(Held { path: row.get(0)?, task: TaskId::from_bytes(row.get(1)?) }))?;
    rows.collect()
}

/// The first task that came before `row` and waits for a folder that `path` lies in. Who waits there for a held folder beneath it waits for
/// nothing that `row` waits for.
fn ahead(
    conn: &Connection,
    row: &TaskRow,
    path: &str,
    held: &[Held],
    now: UtcMicros,
) -> Result<Option<TaskNumber>, ReadError> {
    let mut prepared = conn.prepare_cached(concat!(
        "SELECT ",
        task::columns!(),
        " FROM tasks INDEXED BY tasks_workspace WHERE live = 1 AND workspace IS NOT NULL AND workspace = ?1 \
         ORDER BY priority DESC, number LIMIT ?2"
    ))?;
    for outer in outer_folders(path).filter(|outer| held.iter().any(|it| overlap(&it.path, outer))) {
        let mut rows = prepared.query((outer, LOOKED_AT))?;
        while let Some(found) = rows.next()? {
            let Ok(other) = task::read(found, 0) else { continue };
            if (other.priority, row.number) < (row.priority, other.number) {
                break;
            }
            if is_ready(conn, &other, now)? {
                return Ok(Some(other.number));
            }
        }
    }
    Ok(None)
}

/// Whether a task would start now if its turn came.
fn is_ready(conn: &Connection, row: &TaskRow, now: UtcMicros) -> Result<bool, ReadError> {
    let parked = match row.park.as_deref() {
        Some(Park::Pausing(_) | Park::Paused(_)) => true,
        Some(Park::Waiting(wait)) => wait.until > now,
        Some(Park::Granted(_)) | None => false,
    };
    let stays = row.state != TaskState::Queued
        || row.hold.is_some()
        || row.cancel.is_some()
        || row.not_before.is_some_and(|due| due > now)
        || parked;
    if stays {
        return Ok(false);
    }
    let mut live = conn.prepare_cached("SELECT 1 FROM tasks WHERE live = 1 AND id = ?1")?;
    for dependency in &row.after {
        if live.query_row((dependency.as_bytes(),), |_| Ok(())).optional()?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}
