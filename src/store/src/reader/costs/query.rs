//! The queries behind sums over the usage ledger.

use super::{CostBy, CostFilter, CostKey, CostOf, Costs, SendCounts, TokenSums};
use crate::error::ReadError;
use crate::rows::usage;
use crate::spent::{self, SUMS, sums};
use ouroboros_proto::kind::{TaskId, TaskNumber, UtcMicros};
use rusqlite::{Connection, OptionalExtension as _, Row};
use std::collections::BTreeMap;

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// A span of time: from the first up to the second, which does not belong to it.
#[derive(Debug, Clone, Copy)]
pub struct Edges(i64, i64);

impl Edges {
    /// Those of a filter.
    pub fn of(filter: CostFilter<'_>) -> Self {
        Self(filter.since.map_or(i64::MIN, UtcMicros::get), filter.until.map_or(i64::MAX, UtcMicros::get))
    }
}

/// Counts about `most` of the rows between `edges`; what remains, when anything does.
pub fn slice(
    conn: &Connection,
    filter: CostFilter<'_>,
    by: CostBy,
    (edges, most): (Edges, u32),
    groups: &mut BTreeMap<CostKey, Costs>,
) -> Result<Option<Edges>, ReadError> {
    let next: Option<i64> =
        conn.prepare_cached(NEXT_SLICE)?.query_row((edges.0, edges.1, most), |row| row.get(0)).optional()?;
    // However many there are at one time, they are counted together.
    let edge = next.map_or(edges.1, |next| next.max(edges.0.saturating_add(1)));
    add(conn, filter, by, Edges(edges.0, edge), groups)?;
    Ok(next.map(|_| Edges(edge, edges.1)))
}

const NEXT_SLICE: &str = "SELECT reserved_at FROM usage_attempts INDEXED BY usage_attempts_time \
    WHERE reserved_at >= ?1 AND reserved_at < ?2 ORDER BY reserved_at LIMIT 1 OFFSET ?3";

/// The sends of a task, newest first.
pub const OF_TASK: &str = concat!(
    "SELECT ",
    usage::columns!(),
    " FROM usage_attempts INDEXED BY usage_attempts_task WHERE task = ?1 ORDER BY reserved_at DESC, id DESC LIMIT ?2"
);

/// A sum of tokens. No prompt has more than a million million; what says so is taken for that, so that no sum is too large.
macro_rules! tokens {
    ($column:literal) => {
        concat!("sum(min(", $column, ", 1000000000000))")
    };
}

/// What [`costs`] reads: sums, counts, tokens.
const COLUMNS: &str = concat!(
    sums!(),
    ", count(cost), sum(state = 2 AND cost IS NULL), sum(state < 2), sum(state = 3), sum(state = 4), ",
    tokens!("input"),
    ", ",
    tokens!("cached"),
    ", ",
    tokens!("cache_write"),
    ", ",
    tokens!("cache_write_long"),
    ", ",
    tokens!("output"),
    ", ",
    tokens!("reasoning")
);

/// The statement for these groups. `?1` and `?2` are the time's edges, `?3` is a route or nothing, `?4` a task or nothing.
fn statement(of: CostOf, by: CostBy) -> String {
    let (key, group) = match by {
        CostBy::Whole => ("", ""),
        CostBy::Task => ("task, number, ", "GROUP BY task, number"),
        CostBy::Tree => ("root, ", "GROUP BY root"),
        CostBy::Model => ("route, model, ", "GROUP BY route, model"),
        CostBy::Day => ("reserved_at / 86400000000 - (reserved_at % 86400000000 < 0), ", "GROUP BY 1"),
    };
    let source = match of {
        CostOf::Task(_) => "usage_attempts_task WHERE task = ?4",
        CostOf::All => "usage_attempts_time WHERE ?4 IS NULL",
    };
    format!(
        "SELECT {key}{COLUMNS} FROM usage_attempts INDEXED BY {source} AND reserved_at >= ?1 AND reserved_at < ?2 \
         AND (?3 IS NULL OR route = ?3) {group}"
    )
}

/// Counts the rows between `edges`.
pub fn add(
    conn: &Connection,
    filter: CostFilter<'_>,
    by: CostBy,
    edges: Edges,
    groups: &mut BTreeMap<CostKey, Costs>,
) -> Result<(), ReadError> {
    let of = match filter.of {
        CostOf::All => None,
        CostOf::Task(task) => Some(*task.as_bytes()),
    };
    let mut prepared = conn.prepare_cached(&statement(filter.of, by))?;
    let mut rows = prepared.query((edges.0, edges.1, filter.route, of))?;
    while let Some(row) = rows.next()? {
        let (key, first) = match by {
            CostBy::Whole => (CostKey::Whole, 0),
            CostBy::Task => {
                let number: i64 = row.get(1)?;
                let number = TaskNumber::new(u64::try_from(number).unwrap_or(0));
                (CostKey::Task(TaskId::from_bytes(row.get(0)?), number), 2)
            }
            CostBy::Tree => (CostKey::Tree(TaskId::from_bytes(row.get(0)?)), 1),
            CostBy::Model => (CostKey::Model(row.get(0)?, row.get(1)?), 2),
            CostBy::Day => (CostKey::Day(UtcMicros::new(row.get::<_, i64>(0)?.saturating_mul(DAY))), 1),
        };
        let more = costs(row, first)?;
        let sum = groups.entry(key).or_default();
        *sum = sum.plus(more);
    }
    Ok(())
}

/// Reads [`COLUMNS`] from column `first` on.
fn costs(row: &Row<'_>, first: usize) -> rusqlite::Result<Costs> {
    let counts = first.saturating_add(SUMS);
    let count = |at: usize| -> rusqlite::Result<u64> {
        // Where nothing is counted a sum is nothing.
        let value: Option<i64> = row.get(counts.saturating_add(at))?;
        Ok(value.and_then(|value| u64::try_from(value).ok()).unwrap_or(0))
    };
    Ok(Costs {
        money: spent::tally(row, first)?,
        sends: SendCounts {
            known: count(0)?,
            unknown: count(1)?,
            open: count(2)?,
            unresolved: count(3)?,
            released: count(4)?,
        },
        tokens: TokenSums {
            input: count(5)?,
            cached: count(6)?,
            cache_write: count(7)?,
            cache_write_long: count(8)?,
            output: count(9)?,
            reasoning: count(10)?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;
    use ouroboros_domain::Tally;

    /// How SQLite would go about it.
    fn plan(sql: &str) -> String {
        let conn = Connection::open_in_memory().unwrap();
        schema::create(&conn).unwrap();
        let mut prepared = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = prepared.raw_query().mapped(|row| row.get::<_, String>(3)).collect::<Result<Vec<_>, _>>().unwrap();
        steps.join("; ")
    }

    #[test]
    fn a_task_and_a_time_are_found_by_an_index() {
        let id = TaskId::from_bytes([1; 16]);
        for (of, index) in [
            (CostOf::Task(id), "usage_attempts_task (task=?)"),
            (CostOf::All, "usage_attempts_time (reserved_at>? AND reserved_at<?)"),
        ] {
            for by in [CostBy::Whole, CostBy::Task, CostBy::Tree, CostBy::Model, CostBy::Day] {
                let plan = plan(&statement(of, by));
                assert!(plan.contains(&format!("SEARCH usage_attempts USING INDEX {index}")), "{by:?}: {plan}");
            }
        }
        let slices = plan(NEXT_SLICE);
        assert!(slices.contains("COVERING INDEX usage_attempts_time (reserved_at>?"), "no row is read: {slices}");
        let plan = plan(OF_TASK);
        assert!(plan.contains("USING INDEX usage_attempts_task (task=?)"), "{plan}");
    }

    #[test]
    fn slices_of_any_size_add_up_to_the_same() {
        let conn = Connection::open_in_memory().unwrap();
        schema::create(&conn).unwrap();
        // Twenty sends, four at a time.
        conn.execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) INSERT INTO usage_attempts (id, task, \
             number, root, attempt, call, ordinal, route, generation, state, bound, basis, reserved_at, late) \
             SELECT unhex(printf('%032x', i)), unhex(printf('%032x', i % 3)), 1, zeroblob(16), zeroblob(16), 1, 1, 'r', 1, 0, i, 0, \
             i / 4, 0 FROM n",
        )
        .unwrap();
        let filter = CostFilter { since: Some(UtcMicros::new(1)), ..CostFilter::default() };
        for by in [CostBy::Whole, CostBy::Task, CostBy::Day] {
            let mut whole = BTreeMap::new();
            add(&conn, filter, by, Edges::of(filter), &mut whole).unwrap();
            for most in 1..=21 {
                let (mut sum, mut edges, mut reads) = (BTreeMap::new(), Some(Edges::of(filter)), 0);
                while let Some(rest) = edges {
                    edges = slice(&conn, filter, by, (rest, most), &mut sum).unwrap();
                    reads += 1;
                }
                assert_eq!(sum, whole, "{by:?} in slices of {most}");
                assert!(reads > 1 || most >= 17, "{reads} reads of {most}");
            }
        }
        let mut checked = Tally::default();
        let mut from = None;
        loop {
            let (counted, last) = spent::count_after(&conn, from, 7).unwrap();
            checked = checked.plus(counted);
            from = last;
            if from.is_none() {
                break;
            }
        }
        assert_eq!(checked.open.get(), (1..=20).sum::<u64>());
    }
}
