//! Bounded reads of committed facts. Each method is one read transaction of at most a second.

mod costs;
mod events;
mod garbage;
mod messages;
mod requests;
mod tasks;
mod workspaces;

pub use crate::spent::SpentCheck;
pub use costs::{CostBy, CostFilter, CostGroup, CostKey, CostOf, Costs, SendCounts, TokenSums};
pub use events::EventPage;
pub use garbage::{Removable, Unreferenced};
pub use messages::Message;
pub use requests::RequestDetail;
pub use tasks::{Accept, Listed, Standing, TaskDetail, TaskFilter, TaskPage, TaskRef};

use crate::content;
use crate::error::ReadError;
use crate::load;
use crate::pool::Pool;
use crate::rows::{attempt, process};
use crate::shared::Shared;
use crate::{apply, meta, spent};
use ouroboros_domain::Tally;
use ouroboros_domain::row::{AttemptRow, ProcessRow, SendRow, TaskRow};
use ouroboros_proto::kind::{SendId, TaskId};
use rusqlite::{Connection, OptionalExtension as _, Row};
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

/// Reads; a clone shares the connections.
#[derive(Clone)]
pub struct Reader {
    shared: Arc<Shared>,
    pool: Arc<Pool>,
}

impl Reader {
    pub(crate) fn new(shared: Arc<Shared>, connections: usize) -> Self {
        let pool = shared.pool(connections);
        Self { shared, pool }
    }

    /// A reader with one connection of its own, so that its reads never wait for others'.
    #[must_use]
    pub fn single(&self) -> Self {
        Self::new(Arc::clone(&self.shared), 1)
    }

    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, ReadError>) -> Result<T, ReadError> {
        self.pool.read(read)
    }

    /// The settled tasks among `ids`. The live ones are in memory and not looked for.
    ///
    /// # Errors
    /// The read failed.
    pub fn lookup(&self, ids: &[TaskId]) -> Result<BTreeMap<TaskId, TaskRow>, ReadError> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        self.read(|conn| {
            let mut found = BTreeMap::new();
            for id in ids {
                if let Some(row) = load::settled(conn, *id)? {
                    found.insert(*id, row);
                }
            }
            Ok(found)
        })
    }

    /// The sends among `ids` that are stored.
    ///
    /// # Errors
    /// The read failed.
    pub fn sends(&self, ids: &[SendId]) -> Result<BTreeMap<SendId, SendRow>, ReadError> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        self.read(|conn| {
            let mut found = BTreeMap::new();
            for id in ids {
                if let Some(row) = spent::send(conn, *id)? {
                    found.insert(*id, row);
                }
            }
            Ok(found)
        })
    }

    /// What the tree of a task has spent, without these sends; nothing when there is no such task.
    ///
    /// # Errors
    /// The read failed.
    pub fn tree(&self, task: TaskId, without: &[SendId]) -> Result<Tally, ReadError> {
        self.read(|conn| Ok(spent::tree(conn, task, without)?))
    }

    /// The attempts of a task, oldest first.
    ///
    /// # Errors
    /// The read failed.
    pub fn attempts(&self, task: TaskId) -> Result<Vec<AttemptRow>, ReadError> {
        self.read(|conn| attempts_of(conn, task))
    }

    /// What a task did and heard, a JSON text each; no more than fit in `most` bytes, from place `from` on, counted from 1.
    ///
    /// # Errors
    /// The read failed.
    pub fn transcript(&self, task: TaskId, from: u64, most: usize) -> Result<Vec<String>, ReadError> {
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        self.read(|conn| {
            let mut prepared =
                conn.prepare_cached("SELECT entry FROM transcripts WHERE task = ?1 AND place >= ?2 ORDER BY place")?;
            let mut rows = prepared.query((task.as_bytes(), from))?;
            let (mut entries, mut bytes) = (Vec::new(), 0_usize);
            while let Some(row) = rows.next()? {
                let entry: String = row.get(0)?;
                bytes = bytes.saturating_add(entry.len());
                if bytes > most && !entries.is_empty() {
                    break;
                }
                entries.push(entry);
            }
            Ok(entries)
        })
    }

    /// The newest entry of a transcript whose `type`, which an entry begins with, is this word.
    ///
    /// # Errors
    /// The read failed.
    pub fn newest_entry(&self, task: TaskId, kind: &str) -> Result<Option<String>, ReadError> {
        let begin = format!("{{\"type\":\"{kind}\"");
        let letters = i64::try_from(begin.chars().count()).unwrap_or(i64::MAX);
        self.read(|conn| {
            let mut prepared = conn.prepare_cached(
                "SELECT entry FROM transcripts WHERE task = ?1 AND substr(entry, 1, ?2) = ?3 ORDER BY place DESC LIMIT 1",
            )?;
            let mut rows = prepared.query((task.as_bytes(), letters, &begin))?;
            Ok(rows.next()?.map(|row| row.get(0)).transpose()?)
        })
    }

    /// What the last entry of a task's transcript says of the objective, the JSON of a word; `None` when it says nothing.
    ///
    /// # Errors
    /// The read failed.
    pub fn objective(&self, task: TaskId) -> Result<Option<String>, ReadError> {
        self.read(|conn| {
            let mut prepared = conn.prepare_cached(
                "SELECT entry -> '$.objective' FROM transcripts WHERE task = ?1 ORDER BY place DESC LIMIT 1",
            )?;
            let mut rows = prepared.query((task.as_bytes(),))?;
            Ok(rows.next()?.and_then(|row| row.get(0).transpose()).transpose()?)
        })
    }

    /// The process ledger.
    ///
    /// # Errors
    /// The read failed.
    pub fn processes(&self) -> Result<Vec<ProcessRow>, ReadError> {
        self.read(|conn| {
            collect(conn, concat!("SELECT ", process::columns!(), " FROM processes"), (), |row| process::read(row, 0))
        })
    }

    /// How many settled tasks are kept.
    ///
    /// # Errors
    /// The read failed.
    pub fn settled_count(&self) -> Result<u64, ReadError> {
        self.read(|conn| Ok(meta::count(conn, meta::SETTLED)?))
    }

    /// What is stored as the specification of a task; `None` when there is no such task.
    ///
    /// # Errors
    /// The read failed.
    pub fn spec(&self, task: TaskId) -> Result<Option<Vec<u8>>, ReadError> {
        self.read(|conn| match apply::number_of(conn, task)? {
            None => Ok(None),
            Some(number) => tasks::spec_of(conn, number),
        })
    }

    /// Whether the body with this hash is stored.
    ///
    /// # Errors
    /// The read failed.
    pub fn has_content(&self, hash: &[u8; 32]) -> Result<bool, ReadError> {
        self.read(|conn| {
            let found = conn
                .prepare_cached("SELECT 1 FROM contents WHERE hash = ?1")?
                .query_row((hash,), |_| Ok(()))
                .optional()?;
            Ok(found.is_some())
        })
    }

    /// The body with this hash; `None` when it is not stored.
    ///
    /// # Errors
    /// The read failed, or what was read is not what was stored.
    pub fn content(&self, hash: &[u8; 32]) -> Result<Option<Vec<u8>>, ReadError> {
        let stored: Option<Option<Vec<u8>>> = self.read(|conn| {
            Ok(conn
                .prepare_cached("SELECT bytes FROM contents WHERE hash = ?1")?
                .query_row((hash,), |row| row.get(0))
                .optional()?)
        })?;
        let path = self.shared.layout.content(hash);
        let bytes = match stored {
            None => return Ok(None),
            Some(Some(bytes)) => bytes,
            Some(None) => fs::read(&path).map_err(|source| ReadError::Io { path: path.clone(), source })?,
        };
        if content::digest(&bytes) == *hash { Ok(Some(bytes)) } else { Err(ReadError::Damaged { path }) }
    }
}

fn attempts_of(conn: &Connection, task: TaskId) -> Result<Vec<AttemptRow>, ReadError> {
    collect(
        conn,
        concat!("SELECT ", attempt::columns!(), " FROM attempts WHERE task = ?1 ORDER BY ordinal"),
        (task.as_bytes(),),
        |row| attempt::read(row, 0),
    )
}

/// All rows of a statement.
fn collect<T, E: Into<ReadError>>(
    conn: &Connection,
    select: &str,
    params: impl rusqlite::Params,
    decode: impl Fn(&Row<'_>) -> Result<T, E>,
) -> Result<Vec<T>, ReadError> {
    let mut prepared = conn.prepare_cached(select)?;
    let mut rows = prepared.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(decode(row).map_err(Into::into)?);
    }
    Ok(found)
}
