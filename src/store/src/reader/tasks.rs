//! Tasks: one, or a page of them.

use super::{Reader, attempts_of};
use crate::apply;
use crate::code::State;
use crate::error::ReadError;
use crate::rows::{BadRow, task};
use ouroboros_domain::row::{AttemptRow, TaskRow, TaskState};
use ouroboros_proto::kind::{TaskId, TaskNumber, UtcMicros};
use rusqlite::{Connection, OptionalExtension as _};
use std::str::FromStr;

/// Rows that one page looks at before it is given out short, with a cursor to go on.
const EXAMINED: usize = 20_000;

/// How people name a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskRef {
    /// By its small number.
    Number(TaskNumber),
    /// By its id.
    Id(TaskId),
    /// The newest one.
    Last,
}

impl FromStr for TaskRef {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "last" => Ok(Self::Last),
            text if text.len() < 20 && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                text.parse().map(Self::Number).map_err(drop)
            }
            text => text.parse().map(Self::Id).map_err(drop),
        }
    }
}

/// A task with everything that is stored about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskDetail {
    /// Its row.
    pub row: TaskRow,
    /// Its specification; `None` when it is missing.
    pub spec: Option<Vec<u8>>,
    /// Its attempts, oldest first.
    pub attempts: Vec<AttemptRow>,
}

/// Where a task stands, as far as an index tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Not settled.
    Live,
    /// Settled: exit code 0.
    Completed,
    /// Settled: anything else that was not a cancel.
    Failed,
    /// Settled: cancelled.
    Cancelled,
}

impl Standing {
    const fn of(state: &TaskState) -> Self {
        match state {
            TaskState::Queued | TaskState::Running { .. } => Self::Live,
            TaskState::Settled { outcome, .. } => match task::settled(outcome) {
                State::Completed => Self::Completed,
                State::Cancelled => Self::Cancelled,
                State::Failed | State::Queued | State::Running => Self::Failed,
            },
        }
    }
}

/// Accepts or refuses a task, given its row and its specification (empty when that is missing).
pub type Accept<'a> = &'a dyn Fn(&TaskRow, &[u8]) -> bool;

/// Which tasks to list.
#[derive(Default, Clone, Copy)]
pub struct TaskFilter<'a> {
    /// Only tasks with a lower number.
    pub before: Option<TaskNumber>,
    /// Only tasks that stand like one of these; all when empty.
    pub standing: &'a [Standing],
    /// Only tasks that this accepts.
    pub accept: Option<Accept<'a>>,
}

/// A task in a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its row.
    pub row: TaskRow,
    /// Its specification; empty when it is missing.
    pub spec: Vec<u8>,
    /// When its last attempt started.
    pub started_at: Option<UtcMicros>,
}

/// A page of tasks, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskPage {
    /// The tasks. May be fewer than asked for, even none, though more follow.
    pub tasks: Vec<Listed>,
    /// Go on with `before` set to this; `None` at the end.
    pub next: Option<TaskNumber>,
    /// Tasks that were passed over because their row cannot be read.
    pub unreadable: u64,
}

impl Reader {
    /// The id and number of the task that people mean; `None` when there is no such task.
    ///
    /// # Errors
    /// The read failed.
    pub fn resolve(&self, name: TaskRef) -> Result<Option<(TaskId, TaskNumber)>, ReadError> {
        self.read(|conn| {
            let number = match name {
                TaskRef::Id(id) => return Ok(apply::number_of(conn, id)?.map(|number| (id, number))),
                TaskRef::Number(number) => i64::try_from(number.get()).ok(),
                TaskRef::Last => {
                    conn.prepare_cached("SELECT max(number) FROM tasks")?.query_row((), |row| row.get(0))?
                }
            };
            let Some(number) = number else { return Ok(None) };
            let found: Option<[u8; 16]> = conn
                .prepare_cached("SELECT id FROM tasks WHERE number = ?1")?
                .query_row((number,), |row| row.get(0))
                .optional()?;
            Ok(found.and_then(|id| Some((TaskId::from_bytes(id), TaskNumber::new(u64::try_from(number).ok()?)))))
        })
    }

    /// A task with everything that is stored about it; `None` when there is no such task.
    ///
    /// # Errors
    /// The read failed, or its row cannot be understood.
    pub fn task(&self, id: TaskId) -> Result<Option<TaskDetail>, ReadError> {
        self.read(|conn| {
            let row = conn
                .prepare_cached(concat!("SELECT ", task::columns!(), " FROM tasks WHERE live IN (0, 1) AND id = ?1"))?
                .query_row((id.as_bytes(),), |row| Ok(task::read(row, 0)))
                .optional()?;
            let Some(row) = row else { return Ok(None) };
            let row = row?;
            let spec = spec_of(conn, row.number)?;
            Ok(Some(TaskDetail { spec, attempts: attempts_of(conn, id)?, row }))
        })
    }

    /// The rows of the tasks among `ids` that exist, live or settled.
    ///
    /// # Errors
    /// The read failed, or a row cannot be understood.
    pub fn tasks_by_id(&self, ids: &[TaskId]) -> Result<Vec<TaskRow>, ReadError> {
        self.read(|conn| {
            let mut prepared = conn.prepare_cached(concat!(
                "SELECT ",
                task::columns!(),
                " FROM tasks WHERE live IN (0, 1) AND id = ?1"
            ))?;
            let mut found = Vec::new();
            for id in ids {
                if let Some(row) = prepared.query_row((id.as_bytes(),), |row| Ok(task::read(row, 0))).optional()? {
                    found.push(row?);
                }
            }
            Ok(found)
        })
    }

    /// A page of at most `limit` tasks, newest first.
    ///
    /// # Errors
    /// The read failed.
    pub fn tasks(&self, filter: TaskFilter<'_>, limit: usize) -> Result<TaskPage, ReadError> {
        self.read(|conn| page(conn, filter, limit))
    }
}

/// What is stored as the specification of the task with this number.
pub fn spec_of(conn: &Connection, number: TaskNumber) -> Result<Option<Vec<u8>>, ReadError> {
    let number = i64::try_from(number.get()).unwrap_or(i64::MAX);
    Ok(conn
        .prepare_cached("SELECT spec FROM task_specs WHERE number = ?1")?
        .query_row((number,), |row| row.get(0))
        .optional()?)
}

fn page(conn: &Connection, filter: TaskFilter<'_>, limit: usize) -> Result<TaskPage, ReadError> {
    let mut page = TaskPage::default();
    let before = filter.before.and_then(|number| i64::try_from(number.get()).ok()).unwrap_or(i64::MAX);
    // Live tasks alone are found by their index, wherever they stand among settled ones.
    let select = if filter.standing == [Standing::Live] {
        concat!(
            "SELECT ",
            task::columns!(),
            " FROM tasks WHERE number IN (SELECT number FROM tasks INDEXED BY tasks_id WHERE live = 1 AND number < ?1 \
             ORDER BY number DESC LIMIT ?2) ORDER BY number DESC"
        )
    } else {
        concat!("SELECT ", task::columns!(), " FROM tasks WHERE number < ?1 ORDER BY number DESC LIMIT ?2")
    };
    let mut prepared = conn.prepare_cached(select)?;
    let mut rows = prepared.query((before, i64::try_from(EXAMINED).unwrap_or(i64::MAX)))?;
    let mut examined = 0_usize;
    while let Some(row) = rows.next()? {
        examined = examined.saturating_add(1);
        let number: i64 = row.get(0)?;
        let number = TaskNumber::new(u64::try_from(number).unwrap_or(0));
        if page.tasks.len() >= limit {
            return Ok(page);
        }
        page.next = Some(number);
        match listed(conn, task::read(row, 0), filter)? {
            Ok(found) => page.tasks.extend(found),
            Err(_) => page.unreadable = page.unreadable.saturating_add(1),
        }
    }
    if examined < EXAMINED {
        page.next = None;
    }
    Ok(page)
}

fn listed(
    conn: &Connection,
    row: Result<TaskRow, BadRow>,
    filter: TaskFilter<'_>,
) -> Result<Result<Option<Listed>, BadRow>, ReadError> {
    let row = match row {
        Ok(row) => row,
        Err(bad) => return Ok(Err(bad)),
    };
    if !filter.standing.is_empty() && !filter.standing.contains(&Standing::of(&row.state)) {
        return Ok(Ok(None));
    }
    let spec = spec_of(conn, row.number)?.unwrap_or_default();
    if filter.accept.is_some_and(|accept| !accept(&row, &spec)) {
        return Ok(Ok(None));
    }
    let started_at: Option<i64> = if row.attempts == 0 {
        None
    } else {
        conn.prepare_cached("SELECT started_at FROM attempts WHERE task = ?1 ORDER BY ordinal DESC LIMIT 1")?
            .query_row((row.id.as_bytes(),), |row| row.get(0))
            .optional()?
    };
    Ok(Ok(Some(Listed { row, spec, started_at: started_at.map(UtcMicros::new) })))
}
