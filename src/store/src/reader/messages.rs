//! What was said to tasks in words.

use super::{Reader, collect};
use crate::error::ReadError;
use crate::rows::message;
use ouroboros_domain::row::{KeyHash, MessageRow};
use ouroboros_proto::kind::{TaskId, UtcMicros};
use rusqlite::OptionalExtension as _;

/// A message with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Counted from 1 within the task.
    pub number: u32,
    /// When it was accepted.
    pub at: UtcMicros,
    /// What was said.
    pub text: String,
    /// Its place in the transcript; `None` while the task has not taken it.
    pub place: Option<u64>,
}

impl Reader {
    /// What was said to a task, oldest first; `waiting` only what it has not taken.
    ///
    /// # Errors
    /// The read failed.
    pub fn messages(&self, task: TaskId, waiting: bool) -> Result<Vec<Message>, ReadError> {
        const ALL: &str = "SELECT number, at, text, place FROM messages WHERE task = ?1 ORDER BY number";
        const WAITING: &str =
            "SELECT number, at, text, place FROM messages WHERE task = ?1 AND place IS NULL ORDER BY number";
        self.read(|conn| {
            collect(conn, if waiting { WAITING } else { ALL }, (task.as_bytes(),), |row| -> Result<_, ReadError> {
                let place: Option<i64> = row.get(3)?;
                Ok(Message {
                    number: row.get(0)?,
                    at: UtcMicros::new(row.get(1)?),
                    text: row.get(2)?,
                    place: place.and_then(|place| u64::try_from(place).ok()),
                })
            })
        })
    }

    /// The message to a task that was accepted with this key.
    ///
    /// # Errors
    /// The read failed, or its row cannot be understood.
    pub fn message_by_key(&self, task: TaskId, key: &KeyHash) -> Result<Option<MessageRow>, ReadError> {
        self.read(|conn| {
            let found = conn
                .prepare_cached(concat!(
                    "SELECT ",
                    message::columns!(),
                    " FROM messages WHERE task = ?1 AND key = ?2 ORDER BY number LIMIT 1"
                ))?
                .query_row((task.as_bytes(), key), |row| Ok(message::read(row, 0)))
                .optional()?;
            Ok(found.transpose()?)
        })
    }
}
