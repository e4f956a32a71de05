//! Sums over the usage ledger.
//!
//! The sum over everything is kept beside the rows, in the transaction that writes them: a start must not read a ledger of years. All
//! other sums are queries. [`checked`] compares the two.

use crate::meta;
use crate::rows::usage;
use ouroboros_domain::row::{AttemptRow, SendRow};
use ouroboros_domain::{Spent, Tally};
use ouroboros_proto::kind::{AttemptId, NanoDollars, SendId, TaskId, UtcMicros};
use rusqlite::{Connection, OptionalExtension as _, Row};
use std::collections::{BTreeMap, BTreeSet};

/// A sum in two columns, its high and its low half: one whole sum would be an error when it does not fit, and two absurd amounts
/// must not keep a server from starting.
macro_rules! sum {
    ($value:literal) => {
        concat!("coalesce(sum((", $value, ") >> 32), 0), coalesce(sum((", $value, ") & 4294967295), 0)")
    };
}
pub(crate) use sum;

/// What a group of rows counts, for [`tally`].
macro_rules! sums {
    () => {
        concat!(
            crate::spent::sum!("cost"),
            ", ",
            crate::spent::sum!("CASE WHEN state < 2 THEN bound END"),
            ", ",
            crate::spent::sum!("CASE WHEN state = 3 OR (state = 2 AND cost IS NULL) THEN bound END")
        )
    };
}
pub(crate) use sums;

/// Columns of [`sums!`].
pub const SUMS: usize = 6;

/// Reads a [`sum!`] from column `first` on; the largest number when it is more than that.
pub fn summed(row: &Row<'_>, first: usize) -> rusqlite::Result<u64> {
    let (high, low): (i64, i64) = (row.get(first)?, row.get(first.saturating_add(1))?);
    let whole = i128::from(high).saturating_mul(1 << 32).saturating_add(i128::from(low));
    Ok(u64::try_from(whole.max(0)).unwrap_or(u64::MAX))
}

/// Reads [`sums!`] from column `first` on.
pub fn tally(row: &Row<'_>, first: usize) -> rusqlite::Result<Tally> {
    let amount = |column: usize| summed(row, first.saturating_add(column)).map(NanoDollars::new);
    Ok(Tally { settled: amount(0)?, open: amount(2)?, unresolved: amount(4)? })
}

/// By how much the sum over everything changes with a row's new image.
#[derive(Debug, Default, Clone, Copy)]
pub struct Delta {
    settled: i64,
    unresolved: i64,
}

impl Delta {
    /// Takes a row in that has just become over, or was corrected.
    pub fn take(&mut self, row: &SendRow, was: Option<&SendRow>) {
        let (is, was) = (Tally::of(row), was.map(Tally::of).unwrap_or_default());
        self.settled = self.settled.saturating_add(signed(is.settled)).saturating_sub(signed(was.settled));
        self.unresolved = self.unresolved.saturating_add(signed(is.unresolved)).saturating_sub(signed(was.unresolved));
    }

    /// Writes what was taken in.
    pub fn write(self, conn: &Connection) -> rusqlite::Result<()> {
        for (key, delta) in [(meta::SPENT_SETTLED, self.settled), (meta::SPENT_UNRESOLVED, self.unresolved)] {
            if delta != 0 {
                let kept = signed(NanoDollars::new(meta::count(conn, key)?));
                meta::put(conn, key, kept.saturating_add(delta))?;
            }
        }
        Ok(())
    }
}

fn signed(amount: NanoDollars) -> i64 {
    i64::try_from(amount.get()).unwrap_or(i64::MAX)
}

/// The sums that decisions need. `open` are the rows that are not over.
pub fn load(conn: &Connection, open: &[SendRow], now: UtcMicros) -> rusqlite::Result<Spent> {
    let last: Option<i64> = conn.query_row("SELECT max(reserved_at) FROM usage_attempts", (), |row| row.get(0))?;
    let Some(last) = last else { return Ok(Spent::default()) };
    let total = Tally {
        open: open.iter().map(|row| row.bound).fold(NanoDollars::default(), NanoDollars::saturating_add),
        ..kept(conn)?
    };
    let (trees, tasks) = (by_task(conn, TREES)?, by_task(conn, TASKS)?);
    Ok(Spent { total, trees, tasks, minutes: minutes(conn, now.get().min(last))? }.nonzero())
}

/// Sums of the trees in which a task lives.
const TREES: &str = concat!(
    "SELECT root, ",
    sums!(),
    " FROM usage_attempts INDEXED BY usage_attempts_root \
     WHERE root IN (SELECT coalesce(root, id) FROM tasks INDEXED BY tasks_id WHERE live = 1) GROUP BY root"
);

/// Sums of live tasks.
const TASKS: &str = concat!(
    "SELECT task, ",
    sums!(),
    " FROM usage_attempts INDEXED BY usage_attempts_task \
     WHERE task IN (SELECT id FROM tasks INDEXED BY tasks_id WHERE live = 1) GROUP BY task"
);

fn by_task(conn: &Connection, select: &str) -> rusqlite::Result<BTreeMap<TaskId, Tally>> {
    let mut prepared = conn.prepare(select)?;
    let rows = prepared.query_map((), |row| Ok((TaskId::from_bytes(row.get(0)?), tally(row, 1)?)))?;
    rows.collect()
}

/// The minutes up to an hour away from `around`: the newest row, or now when rows are from a time that is still to come.
fn minutes(conn: &Connection, around: i64) -> rusqlite::Result<BTreeMap<i64, NanoDollars>> {
    let around = Spent::minute(UtcMicros::new(around));
    let edge = |minutes: i64| around.saturating_add(minutes).saturating_mul(60_000_000);
    let mut prepared = conn.prepare(concat!(
        "SELECT reserved_at / 60000000, ",
        sums!(),
        " FROM usage_attempts INDEXED BY usage_attempts_time WHERE reserved_at >= ?1 AND reserved_at < ?2 GROUP BY 1"
    ))?;
    let rows =
        prepared.query_map((edge(-60), edge(61)), |row| Ok((row.get::<_, i64>(0)?, tally(row, 1)?.accounted())))?;
    rows.collect()
}

/// Attempts of these that sent something of which it is not known what came of it.
pub fn unknown(conn: &Connection, attempts: &[AttemptRow]) -> rusqlite::Result<BTreeSet<AttemptId>> {
    let mut prepared = conn.prepare_cached(UNKNOWN)?;
    let mut unknown = BTreeSet::new();
    for row in attempts.iter().filter(|row| row.released) {
        if prepared.exists((row.task.as_bytes(), row.id.as_bytes()))? {
            unknown.insert(row.id);
        }
    }
    Ok(unknown)
}

/// Whether an attempt of a task has a send that is unresolved, or was until a receipt came late.
const UNKNOWN: &str = "SELECT 1 FROM usage_attempts INDEXED BY usage_attempts_task \
    WHERE task = ?1 AND attempt = ?2 AND (state = 3 OR late = 1)";

/// What the tree of a task has spent, without these sends.
pub fn tree(conn: &Connection, task: TaskId, without: &[SendId]) -> rusqlite::Result<Tally> {
    let root: Option<[u8; 16]> = conn
        .prepare_cached("SELECT coalesce(root, id) FROM tasks WHERE live IN (0, 1) AND id = ?1")?
        .query_row((task.as_bytes(),), |row| row.get(0))
        .optional()?;
    let Some(root) = root.map(TaskId::from_bytes) else { return Ok(Tally::default()) };
    let mut sum = conn.prepare_cached(TREE)?.query_row((root.as_bytes(),), |row| tally(row, 0))?;
    for id in without {
        if let Some(row) = send(conn, *id)?.filter(|row| row.root == root) {
            sum = sum.minus(Tally::of(&row));
        }
    }
    Ok(sum)
}

/// The sum of a tree.
const TREE: &str = concat!("SELECT ", sums!(), " FROM usage_attempts INDEXED BY usage_attempts_root WHERE root = ?1");

/// The sum over everything, as the rows say it and as it is kept beside them. They differ only when the database was changed by
/// another hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpentCheck {
    /// Counted anew.
    pub rows: Tally,
    /// Kept. What is open is not kept, so it is the same here.
    pub kept: Tally,
}

/// What is kept of the sum over everything.
pub fn kept(conn: &Connection) -> rusqlite::Result<Tally> {
    Ok(Tally {
        settled: NanoDollars::new(meta::count(conn, meta::SPENT_SETTLED)?),
        unresolved: NanoDollars::new(meta::count(conn, meta::SPENT_UNRESOLVED)?),
        open: NanoDollars::default(),
    })
}

/// The sum over at most `most` rows that lie behind `from`, and the last of them; `None` when none is left.
pub fn count_after(conn: &Connection, from: Option<SendId>, most: u32) -> rusqlite::Result<(Tally, Option<SendId>)> {
    let from = from.map_or(Vec::new(), |id| id.as_bytes().to_vec());
    conn.prepare_cached(concat!(
        "SELECT ",
        sums!(),
        ", max(id) FROM (SELECT id, state, bound, cost FROM usage_attempts WHERE id > ?1 ORDER BY id LIMIT ?2)"
    ))?
    .query_row((from, most), |row| {
        let last: Option<[u8; 16]> = row.get(SUMS)?;
        Ok((tally(row, 0)?, last.map(SendId::from_bytes)))
    })
}

/// The stored send with this id.
pub fn send(conn: &Connection, id: SendId) -> rusqlite::Result<Option<SendRow>> {
    let row = conn
        .prepare_cached(concat!("SELECT ", usage::columns!(), " FROM usage_attempts WHERE id = ?1"))?
        .query_row((id.as_bytes(),), |row| Ok(usage::read(row, 0)))
        .optional()?;
    Ok(row.and_then(|row| {
        row.inspect_err(|bad| tracing::error!(send = %id, reason = %bad, "a stored row cannot be read")).ok()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;

    #[test]
    fn a_start_reads_the_rows_of_what_lives_and_of_an_hour_and_no_others() {
        let conn = Connection::open_in_memory().unwrap();
        schema::create(&conn).unwrap();
        for (sql, index) in [
            (TREES, "USING INDEX usage_attempts_root (root=?)"),
            (TREE, "USING INDEX usage_attempts_root (root=?)"),
            (TASKS, "USING INDEX usage_attempts_task (task=?)"),
            (UNKNOWN, "USING INDEX usage_attempts_task (task=?)"),
        ] {
            let mut prepared = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let steps: Vec<String> = prepared.raw_query().mapped(|row| row.get(3)).map(Result::unwrap).collect();
            assert!(steps.iter().any(|step| step.contains(index)), "{steps:?}");
            assert!(!steps.iter().any(|step| step.starts_with("SCAN usage_attempts")), "{steps:?}");
        }
    }
}
