//! Writes changes. One call a change, inside the transaction of its caller.

use crate::error::CommitError;
use crate::meta;
use crate::rows::{attempt, event, integer, key, message, process, request, rule, task, transcript, usage};
use crate::spent;
use ouroboros_domain::change::{Change, Content, Spec};
use ouroboros_domain::row::{TaskRow, TaskState};
use ouroboros_proto::kind::{TaskId, TaskNumber};
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::HashSet;

/// How many hashes of stored bodies are remembered.
const KNOWN: usize = 256;

/// What a transaction counts while it is written.
#[derive(Debug, Default)]
pub struct Tally {
    /// By how much the number of settled tasks grows.
    settled: i64,
    /// By how much the sums over the usage ledger grow.
    spent: spent::Delta,
    /// Bodies known to be stored, so that the environment most tasks share is not looked up for each. Only valid as long as
    /// every transaction since succeeded and no body was removed.
    known: HashSet<[u8; 32]>,
}

impl Tally {
    /// Forgets which bodies are stored.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Writes what was counted. Last act of a transaction.
    pub fn finish(&mut self, conn: &Connection) -> Result<(), CommitError> {
        sql("spent", std::mem::take(&mut self.spent).write(conn))?;
        match std::mem::take(&mut self.settled) {
            0 => Ok(()),
            delta => sql("settled count", meta::add(conn, meta::SETTLED, delta)),
        }
    }
}

/// Writes one change.
///
/// # Errors
/// What SQLite said, or a contradiction with what is stored.
pub fn apply(conn: &Connection, change: &Change, tally: &mut Tally) -> Result<(), CommitError> {
    match change {
        Change::TaskAdded { row, spec, contents, spent: _ } => add_task(conn, row, spec, contents, tally),
        Change::Task(row) => {
            task::update(conn, row)?;
            count_settled(row, tally);
            Ok(())
        }
        Change::TaskRemoved(id) => remove_task(conn, *id, tally),
        Change::Attempt(row) => attempt::put(conn, row),
        Change::Process(row) => process::put(conn, row),
        Change::ProcessGone(id) => process::remove(conn, *id),
        Change::Send(row) => {
            usage::put(conn, row)?;
            tally.spent.take(row, None);
            Ok(())
        }
        Change::SendCorrected { row, was } => {
            usage::correct(conn, row)?;
            tally.spent.take(row, Some(was));
            Ok(())
        }
        Change::Key(row) => key::insert(conn, row),
        Change::Transcript { task, attempt, entry } => transcript::append(conn, *task, *attempt, entry),
        Change::Requested { row, content } => request::insert(conn, row, content),
        Change::Request { row, answer } => request::update(conn, row, answer.as_deref()),
        Change::RuleAdded(row) => rule::insert(conn, row),
        Change::RuleRemoved(id) => rule::remove(conn, *id),
        Change::Inherited { task, from, entries } => transcript::inherit(conn, *task, *from, *entries),
        Change::Message { row, text } => message::insert(conn, row, text),
        Change::MessageTaken { task, number } => message::take(conn, *task, *number),
        Change::Event(row) => event::insert(conn, row),
        Change::QueueHold(reason) => sql("queue hold", meta::set_queue_hold(conn, *reason)),
        Change::Generation(generation) => {
            let number = integer("generation", generation.get())?;
            sql("generation", meta::put(conn, meta::GENERATION, number))?;
            // The new life has dealt with what it means to be a copy, in this same transaction.
            sql("generation", meta::remove(conn, meta::COPIED))
        }
    }
}

fn add_task(
    conn: &Connection,
    row: &TaskRow,
    spec: &Spec,
    contents: &[Content],
    tally: &mut Tally,
) -> Result<(), CommitError> {
    for content in contents {
        add_content(conn, content, tally)?;
    }
    task::insert(conn, row)?;
    count_settled(row, tally);
    let number = integer("task spec", row.number.get())?;
    let written = sql(
        "task spec",
        match spec {
            Spec::New(bytes) => conn
                .prepare_cached("INSERT INTO task_specs (number, spec) VALUES (?1, ?2)")
                .and_then(|mut prepared| prepared.execute((number, &**bytes))),
            Spec::CopyOf(other) => conn
                .prepare_cached(
                    "INSERT INTO task_specs (number, spec) SELECT ?1, spec FROM task_specs \
                     WHERE number = (SELECT number FROM tasks WHERE live IN (0, 1) AND id = ?2)",
                )
                .and_then(|mut prepared| prepared.execute((number, other.as_bytes()))),
        },
    )?;
    match written {
        1 => Ok(()),
        _ => {
            Err(CommitError::contradiction("task spec", format!("task {} repeats one that is not stored", row.number)))
        }
    }
}

fn add_content(conn: &Connection, content: &Content, tally: &mut Tally) -> Result<(), CommitError> {
    if tally.known.contains(&content.hash) {
        return Ok(());
    }
    let bytes = (!content.in_file).then_some(&*content.bytes);
    sql(
        "content",
        conn.prepare_cached("INSERT INTO contents (hash, bytes) VALUES (?1, ?2) ON CONFLICT DO NOTHING")
            .and_then(|mut prepared| prepared.execute((content.hash, bytes))),
    )?;
    if tally.known.len() >= KNOWN {
        tally.known.clear();
    }
    tally.known.insert(content.hash);
    Ok(())
}

fn remove_task(conn: &Connection, id: TaskId, tally: &mut Tally) -> Result<(), CommitError> {
    const STATEMENT: &str = "task removal";
    let number: Option<i64> = sql(
        STATEMENT,
        conn.prepare_cached("SELECT number FROM tasks WHERE live = 0 AND id = ?1")
            .and_then(|mut prepared| prepared.query_row((id.as_bytes(),), |row| row.get(0)).optional()),
    )?;
    let Some(number) = number else { return Ok(()) };
    let newest: i64 = sql(
        STATEMENT,
        conn.prepare_cached("SELECT coalesce(max(seq), 0) FROM events")
            .and_then(|mut prepared| prepared.query_row((), |row| row.get(0))),
    )?;
    // Neither a number nor a place in the log is ever given twice.
    sql(STATEMENT, meta::raise(conn, meta::EVENT_HIGH, newest))?;
    sql(STATEMENT, meta::raise(conn, meta::NUMBER_FLOOR, number))?;
    for statement in [
        "DELETE FROM tasks WHERE number = ?1",
        "DELETE FROM task_specs WHERE number = ?1",
        "DELETE FROM events WHERE number = ?1",
    ] {
        sql(STATEMENT, conn.prepare_cached(statement).and_then(|mut prepared| prepared.execute((number,))))?;
    }
    for statement in [
        "DELETE FROM attempts WHERE task = ?1",
        "DELETE FROM transcripts WHERE task = ?1",
        "DELETE FROM requests WHERE task = ?1",
        "DELETE FROM messages WHERE task = ?1",
    ] {
        sql(STATEMENT, conn.prepare_cached(statement).and_then(|mut prepared| prepared.execute((id.as_bytes(),))))?;
    }
    tally.settled = tally.settled.saturating_sub(1);
    Ok(())
}

/// The number of the task with this id.
pub fn number_of(conn: &Connection, id: TaskId) -> rusqlite::Result<Option<TaskNumber>> {
    let number: Option<i64> = conn
        .prepare_cached("SELECT number FROM tasks WHERE live IN (0, 1) AND id = ?1")?
        .query_row((id.as_bytes(),), |row| row.get(0))
        .optional()?;
    Ok(number.and_then(|number| u64::try_from(number).ok()).map(TaskNumber::new))
}

fn count_settled(row: &TaskRow, tally: &mut Tally) {
    if let TaskState::Settled { .. } = row.state {
        tally.settled = tally.settled.saturating_add(1);
    }
}

fn sql<T>(statement: &'static str, result: rusqlite::Result<T>) -> Result<T, CommitError> {
    result.map_err(|error| CommitError::from_sql(statement, &error))
}
