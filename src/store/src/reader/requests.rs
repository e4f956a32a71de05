//! What tasks asked their owner, and the owner's rules.

use super::{Reader, collect};
use crate::error::ReadError;
use crate::rows::{request, rule};
use ouroboros_domain::{RequestRow, RuleRow};
use ouroboros_proto::kind::{RuleScope, TaskId, TaskNumber};
use rusqlite::Row;

/// A request with what was asked and answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestDetail {
    /// Its row.
    pub row: RequestRow,
    /// Its task's number.
    pub number: TaskNumber,
    /// What was asked, as JSON.
    pub content: String,
    /// What the owner answered, as JSON.
    pub answer: Option<String>,
}

/// What is read of a request, in the order of [`detail`].
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT ",
            request::columns!(),
            ", content, answer, (SELECT tasks.number FROM tasks WHERE live IN (0, 1) AND id = task) FROM requests ",
            $rest
        )
    };
}

/// The column after those of the row.
const CONTENT: usize = 9;

impl Reader {
    /// The newest requests, newest first, at most `limit`: of one task or all, only open ones or all.
    ///
    /// # Errors
    /// The read failed, or a row cannot be understood.
    pub fn requests(&self, task: Option<TaskId>, open: bool, limit: u32) -> Result<Vec<RequestDetail>, ReadError> {
        let task = task.as_ref().map(TaskId::as_bytes);
        self.read(|conn| match (open, task) {
            (true, None) => {
                collect(conn, select!("WHERE state = 0 ORDER BY asked_at DESC, number DESC LIMIT ?1"), (limit,), detail)
            }
            (false, None) => collect(conn, select!("ORDER BY asked_at DESC, number DESC LIMIT ?1"), (limit,), detail),
            (open, Some(task)) => collect(
                conn,
                select!("WHERE task = ?1 AND (?2 = 0 OR state = 0) ORDER BY asked_at DESC, number DESC LIMIT ?3"),
                (task, open, limit),
                detail,
            ),
        })
    }

    /// A request; `None` when there is none of this number.
    ///
    /// # Errors
    /// The read failed, or its row cannot be understood.
    pub fn request(&self, task: TaskId, number: u32) -> Result<Option<RequestDetail>, ReadError> {
        let values = (task.as_bytes(), number);
        self.read(|conn| Ok(collect(conn, select!("WHERE task = ?1 AND number = ?2"), values, detail)?.pop()))
    }

    /// The rules, oldest first: all of them, or those that a task may go by.
    ///
    /// # Errors
    /// The read failed, or a row cannot be understood.
    pub fn rules(&self, task: Option<TaskId>) -> Result<Vec<RuleRow>, ReadError> {
        let select = concat!("SELECT ", rule::columns!(), " FROM rules ORDER BY id");
        let rules = self.read(|conn| collect(conn, select, (), |row| rule::read(row, 0)))?;
        let holds = |row: &RuleRow| match (&row.rule.scope, task) {
            (RuleScope::Task, Some(task)) => row.from.0 == task,
            (RuleScope::Task | RuleScope::Installation | RuleScope::Folder { .. }, _) => true,
        };
        Ok(rules.into_iter().filter(holds).collect())
    }
}

fn detail(row: &Row<'_>) -> Result<RequestDetail, ReadError> {
    let number: Option<i64> = row.get(CONTENT.saturating_add(2))?;
    Ok(RequestDetail {
        row: request::read(row, 0)?,
        content: row.get(CONTENT)?,
        answer: row.get(CONTENT.saturating_add(1))?,
        number: TaskNumber::new(number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0)),
    })
}
