//! How rows are written to columns and read back. Reading checks everything: a row that means nothing is an error that
//! names the column, never a guess.

pub mod attempt;
pub mod event;
pub mod key;
pub mod message;
pub mod park;
pub mod process;
pub mod request;
pub mod rule;
pub mod task;
pub mod transcript;
pub mod usage;

use crate::code::Coded;
use crate::error::{CommitError, ReadError};
use ouroboros_proto::kind::{Millis, UtcMicros};
use rusqlite::Row;
use rusqlite::types::{FromSql, ValueRef};
use serde::de::DeserializeOwned;

/// A row cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{table}.{column}: {why}")]
pub struct BadRow {
    /// Its table.
    pub table: &'static str,
    /// The column that means nothing.
    pub column: &'static str,
    /// Why.
    pub why: String,
}

impl From<BadRow> for ReadError {
    fn from(bad: BadRow) -> Self {
        Self::Unreadable { table: bad.table, why: format!("{}: {}", bad.column, bad.why) }
    }
}

/// Reads the columns of one row from left to right.
pub struct Columns<'a> {
    table: &'static str,
    row: &'a Row<'a>,
    next: usize,
}

impl<'a> Columns<'a> {
    /// The columns of `row` from column `first` on; `table` is for errors.
    pub const fn new(table: &'static str, row: &'a Row<'a>, first: usize) -> Self {
        Self { table, row, next: first }
    }

    /// The error for `column`.
    pub fn bad(&self, column: &'static str, why: impl ToString) -> BadRow {
        BadRow { table: self.table, column, why: why.to_string() }
    }

    /// The next value.
    pub fn get<T: FromSql>(&mut self, column: &'static str) -> Result<T, BadRow> {
        let value = self.row.get(self.next).map_err(|error| self.bad(column, error));
        self.next = self.next.saturating_add(1);
        value
    }

    /// The next value, an integer that is not negative.
    pub fn unsigned<T: TryFrom<i64>>(&mut self, column: &'static str) -> Result<T, BadRow> {
        let value: i64 = self.get(column)?;
        T::try_from(value).map_err(|_| self.bad(column, format!("{value} is out of range")))
    }

    /// The next value, an integer that is not negative, or nothing.
    pub fn opt_unsigned<T: TryFrom<i64>>(&mut self, column: &'static str) -> Result<Option<T>, BadRow> {
        let value: Option<i64> = self.get(column)?;
        value
            .map(|value| T::try_from(value).map_err(|_| self.bad(column, format!("{value} is out of range"))))
            .transpose()
    }

    /// The next value, a truth value.
    pub fn flag(&mut self, column: &'static str) -> Result<bool, BadRow> {
        match self.get::<i64>(column)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.bad(column, format!("{other} is neither 0 nor 1"))),
        }
    }

    /// The next value, a number that stands for a word.
    pub fn coded<T: Coded>(&mut self, column: &'static str) -> Result<T, BadRow> {
        let code: i64 = self.get(column)?;
        T::decode(code).ok_or_else(|| self.bad(column, format!("{code} stands for nothing")))
    }

    /// The next value, a number that stands for a word, or nothing.
    pub fn opt_coded<T: Coded>(&mut self, column: &'static str) -> Result<Option<T>, BadRow> {
        match self.get::<Option<i64>>(column)? {
            None => Ok(None),
            Some(code) => {
                T::decode(code).map(Some).ok_or_else(|| self.bad(column, format!("{code} stands for nothing")))
            }
        }
    }

    /// The next value, a time.
    pub fn time(&mut self, column: &'static str) -> Result<UtcMicros, BadRow> {
        self.get(column).map(UtcMicros::new)
    }

    /// The next value, a time or nothing.
    pub fn opt_time(&mut self, column: &'static str) -> Result<Option<UtcMicros>, BadRow> {
        Ok(self.get::<Option<i64>>(column)?.map(UtcMicros::new))
    }

    /// The next value, a duration or nothing.
    pub fn opt_millis(&mut self, column: &'static str) -> Result<Option<Millis>, BadRow> {
        match self.get::<Option<i64>>(column)? {
            None => Ok(None),
            Some(value) => u64::try_from(value)
                .map(|value| Some(Millis::new(value)))
                .map_err(|_| self.bad(column, format!("{value} is out of range"))),
        }
    }

    /// The next value, JSON or nothing.
    pub fn opt_json<T: DeserializeOwned>(&mut self, column: &'static str) -> Result<Option<T>, BadRow> {
        let value = match self.row.get_ref(self.next) {
            Ok(ValueRef::Null) => Ok(None),
            Ok(ValueRef::Text(text)) => serde_json::from_slice(text).map(Some).map_err(|error| self.bad(column, error)),
            Ok(other) => Err(self.bad(column, format!("{} is not text", other.data_type()))),
            Err(error) => Err(self.bad(column, error)),
        };
        self.next = self.next.saturating_add(1);
        value
    }
}

/// `value` as SQLite stores it.
///
/// # Errors
/// A contradiction when it does not fit, naming `statement`.
pub fn integer(statement: &'static str, value: u64) -> Result<i64, CommitError> {
    i64::try_from(value).map_err(|_| CommitError::contradiction(statement, format!("{value} does not fit a column")))
}

/// `value` as JSON.
///
/// # Errors
/// A contradiction when it cannot be written as JSON, naming `statement`.
pub fn json<T: serde::Serialize>(statement: &'static str, value: &T) -> Result<String, CommitError> {
    serde_json::to_string(value).map_err(|error| CommitError::contradiction(statement, error.to_string()))
}
