//! Loads what is live.

use crate::apply;
use crate::error::OpenError;
use crate::failpoint::{self, Fault};
use crate::layout::Layout;
use crate::meta;
use crate::quarantine::{self, SetAside};
use crate::rows::{BadRow, attempt, key, message, process, request, rule, task, usage};
use crate::spent;
use ouroboros_domain::Loaded;
use ouroboros_domain::row::{AttemptRow, MessageRow, TaskRow};
use ouroboros_proto::kind::{EventSeq, RuleId, TaskId, TaskNumber, clock};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row};
use std::collections::{BTreeMap, HashSet};

/// What a store was opened with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoadedRows {
    /// Everything that the core needs to go on.
    pub live: Loaded,
    /// Rows that mean nothing and were set aside by this load.
    pub bad: Vec<SetAside>,
}

/// Loads from `conn`, which must be able to write: what cannot be read is moved aside first.
pub fn load(conn: &Connection, layout: &Layout) -> Result<LoadedRows, OpenError> {
    if let Some(Fault::Full | Fault::Io | Fault::Visible) = failpoint::hit("store.before_load") {
        return Err(OpenError::Io { path: layout.database(), source: std::io::Error::other("injected") });
    }
    read(conn).map_err(|error| OpenError::from_sql(layout.database(), error))
}

fn read(conn: &Connection) -> rusqlite::Result<LoadedRows> {
    let mut bad = Vec::new();
    let tasks = table(
        conn,
        concat!("SELECT number, ", task::columns!(), " FROM tasks INDEXED BY tasks_id WHERE live = 1"),
        task::read,
    )?;
    let attempts = table(
        conn,
        concat!(
            "SELECT json_array(hex(task), ordinal), ",
            attempt::columns!(),
            " FROM attempts WHERE ended_at IS NULL"
        ),
        attempt::read,
    )?;
    let processes = table(conn, concat!("SELECT id, ", process::columns!(), " FROM processes"), process::read)?;
    let keys = table(conn, concat!("SELECT number, ", key::columns!(), " FROM keys"), key::read)?;
    let sends = table(
        conn,
        concat!(
            "SELECT id, ",
            usage::columns!(),
            " FROM usage_attempts INDEXED BY usage_attempts_open WHERE state < 2"
        ),
        usage::read,
    )?;
    let requests = table(
        conn,
        concat!(
            "SELECT json_array(hex(task), number), ",
            request::columns!(),
            " FROM requests WHERE task IN (SELECT id FROM tasks INDEXED BY tasks_id WHERE live = 1)"
        ),
        request::read,
    )?;
    let rules = table(conn, concat!("SELECT id, ", rule::columns!(), " FROM rules"), rule::read)?;
    for (of, delete) in [
        (&requests.bad, "DELETE FROM requests WHERE json_array(hex(task), number) = ?1"),
        (&rules.bad, "DELETE FROM rules WHERE id = ?1"),
    ] {
        if !of.is_empty() {
            let transaction = conn.unchecked_transaction()?;
            set_aside(conn, of, delete)?;
            transaction.commit()?;
        }
    }
    if !(tasks.bad.is_empty() && attempts.bad.is_empty() && processes.bad.is_empty() && keys.bad.is_empty()) {
        let transaction = conn.unchecked_transaction()?;
        set_aside(conn, &tasks.bad, "DELETE FROM tasks WHERE number = ?1")?;
        for (number, _) in &tasks.bad {
            if let Value::Integer(number) = number {
                meta::raise(conn, meta::NUMBER_FLOOR, *number)?;
            }
        }
        set_aside(conn, &attempts.bad, "DELETE FROM attempts WHERE json_array(hex(task), ordinal) = ?1")?;
        set_aside(conn, &processes.bad, "DELETE FROM processes WHERE id = ?1")?;
        set_aside(conn, &keys.bad, "DELETE FROM keys WHERE number = ?1")?;
        transaction.commit()?;
        for (_, aside) in tasks.bad.into_iter().chain(attempts.bad).chain(processes.bad).chain(keys.bad) {
            bad.push(aside);
        }
    }
    bad.extend(requests.bad.into_iter().chain(rules.bad).map(|(_, aside)| aside));
    let (messages, unread) = messages(conn, &tasks.rows)?;
    bad.extend(unread);
    // Nothing leaves the usage ledger, not even what cannot be read.
    bad.extend(sends.bad.into_iter().map(|(_, aside)| aside));
    let mut tasks = tasks.rows;
    tasks.sort_unstable_by_key(|row| row.number);
    let (attempts, orphans) = attempts_of(conn, attempts.rows, &tasks)?;
    bad.extend(orphans);
    let live = Loaded {
        generation: meta::generation(conn)?,
        next_number: TaskNumber::new(highest(conn, "SELECT max(number) FROM tasks", meta::NUMBER_FLOOR)?).next(),
        next_event: EventSeq::new(highest(conn, "SELECT max(seq) FROM events", meta::EVENT_HIGH)?).next(),
        queue_hold: meta::queue_hold(conn)?,
        dependencies: dependencies(conn, &tasks)?,
        spent: spent::load(conn, &sends.rows, clock::wall())?,
        unknown: spent::unknown(conn, &attempts)?,
        sends: sends.rows,
        attempts,
        processes: processes.rows,
        requests: requests.rows,
        next_rule: RuleId::new(highest(conn, "SELECT max(id) FROM rules", meta::RULE_FLOOR)?).next(),
        rules: rules.rows.iter().map(|row| (row.id, row.task())).collect(),
        keys: keys.rows,
        messages,
        tasks,
    };
    Ok(LoadedRows { live, bad })
}

/// What was said to live tasks. What cannot be read stays where it is, and is told to nobody.
fn messages(conn: &Connection, tasks: &[TaskRow]) -> rusqlite::Result<(Vec<MessageRow>, Vec<SetAside>)> {
    let mut prepared = conn.prepare(concat!("SELECT ", message::columns!(), " FROM messages WHERE task = ?1"))?;
    let (mut found, mut bad) = (Vec::new(), Vec::new());
    for task in tasks.iter().filter(|row| row.kind.continues()) {
        let mut rows = prepared.query((task.id.as_bytes(),))?;
        while let Some(row) = rows.next()? {
            match message::read(row, 0) {
                Ok(row) => found.push(row),
                Err(why) => bad.push(SetAside::new(&why, row)),
            }
        }
    }
    Ok((found, bad))
}

struct Table<T> {
    rows: Vec<T>,
    bad: Vec<(Value, SetAside)>,
}

/// Reads all rows of `select`, whose first column is the key and whose others are those of `decode`.
fn table<T>(
    conn: &Connection,
    select: &str,
    decode: impl Fn(&Row<'_>, usize) -> Result<T, BadRow>,
) -> rusqlite::Result<Table<T>> {
    let mut table = Table { rows: Vec::new(), bad: Vec::new() };
    let mut prepared = conn.prepare(select)?;
    let mut rows = prepared.query(())?;
    while let Some(row) = rows.next()? {
        match decode(row, 1) {
            Ok(decoded) => table.rows.push(decoded),
            Err(why) => table.bad.push((row.get(0)?, SetAside::new(&why, row))),
        }
    }
    Ok(table)
}

fn set_aside(conn: &Connection, rows: &[(Value, SetAside)], delete: &str) -> rusqlite::Result<()> {
    quarantine::keep(conn, rows, |conn, key| conn.prepare_cached(delete)?.execute((key,)).map(drop))
}

/// Attempts whose task is there. An attempt of a task that was set aside goes with it; its processes stay in the ledger.
fn attempts_of(
    conn: &Connection,
    attempts: Vec<AttemptRow>,
    tasks: &[TaskRow],
) -> rusqlite::Result<(Vec<AttemptRow>, Vec<SetAside>)> {
    let live: HashSet<TaskId> =
        if attempts.is_empty() { HashSet::new() } else { tasks.iter().map(|row| row.id).collect() };
    let mut kept = Vec::with_capacity(attempts.len());
    let mut orphans = Vec::new();
    for row in attempts {
        if live.contains(&row.task) || apply::number_of(conn, row.task)?.is_some() {
            kept.push(row);
        } else {
            let aside = SetAside {
                table: "attempts",
                reason: "its task is not stored".to_owned(),
                row: serde_json::json!({ "task": row.task, "ordinal": row.ordinal, "id": row.id }).to_string(),
            };
            orphans.push(((row.task, row.ordinal), aside));
        }
    }
    if !orphans.is_empty() {
        let transaction = conn.unchecked_transaction()?;
        quarantine::keep(conn, &orphans, |conn, (task, ordinal)| {
            conn.prepare_cached("DELETE FROM attempts WHERE task = ?1 AND ordinal = ?2")?
                .execute((task.as_bytes(), ordinal))
                .map(drop)
        })?;
        transaction.commit()?;
    }
    Ok((kept, orphans.into_iter().map(|(_, aside)| aside).collect()))
}

fn dependencies(conn: &Connection, tasks: &[TaskRow]) -> rusqlite::Result<BTreeMap<TaskId, TaskRow>> {
    if tasks.iter().all(|row| row.after.is_empty()) {
        return Ok(BTreeMap::new());
    }
    let live: HashSet<TaskId> = tasks.iter().map(|row| row.id).collect();
    let wanted: HashSet<TaskId> =
        tasks.iter().flat_map(|row| row.after.iter().copied()).filter(|id| !live.contains(id)).collect();
    let mut found = BTreeMap::new();
    for id in wanted {
        if let Some(row) = settled(conn, id)? {
            found.insert(id, row);
        }
    }
    Ok(found)
}

/// The settled task with this id. One that cannot be read counts as missing: nothing can depend on it.
pub fn settled(conn: &Connection, id: TaskId) -> rusqlite::Result<Option<TaskRow>> {
    let row = conn
        .prepare_cached(concat!("SELECT ", task::columns!(), " FROM tasks WHERE live = 0 AND id = ?1"))?
        .query_row((id.as_bytes(),), |row| Ok(task::read(row, 0)))
        .optional()?;
    Ok(row.and_then(|row| {
        row.inspect_err(|bad| tracing::error!(task = %id, reason = %bad, "a stored row cannot be read")).ok()
    }))
}

fn highest(conn: &Connection, select: &str, floor: &str) -> rusqlite::Result<u64> {
    let highest: Option<i64> = conn.query_row(select, (), |row| row.get(0))?;
    let highest = highest.and_then(|value| u64::try_from(value).ok()).unwrap_or(0);
    Ok(highest.max(meta::count(conn, floor)?))
}
