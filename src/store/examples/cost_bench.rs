//! How long sums over a large usage ledger take: `cargo run -p ouroboros-store --example cost_bench [rows]`.
//!
//! A million sends in a hundred days, fifty to a tree. Each line is the slowest of five reads.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement: it tells what it finds, and ends where it cannot go on"
)]

use ouroboros_proto::kind::{TaskId, UtcMicros, clock};
use ouroboros_store::reader::{CostBy, CostFilter, CostOf};
use ouroboros_store::{Options, Reader, open};
use rusqlite::Connection;

const DAY: i64 = 86_400_000_000;
const FILL: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) \
    INSERT INTO usage_attempts (id, task, number, root, attempt, call, ordinal, route, generation, state, bound, basis, reserved_at, \
    ended_at, answer, cost, cost_source, input, cached, output, model, provider_request, late) \
    SELECT unhex(printf('%032x', i)), unhex(printf('%032x', i / 10 + 1)), i / 10 + 1, unhex(printf('%032x', i / 50 + 1)), \
    unhex(printf('%032x', i / 10 + 1)), i % 10 + 1, 1, 'route-' || (i % 4), 1, CASE WHEN i % 50 = 0 THEN 3 ELSE 2 END, 20000000, 0, \
    i * (?2 / ?1), i * (?2 / ?1) + 5, iif(i % 50 = 0, NULL, 0), iif(i % 50 = 0, NULL, 1000000 + i), iif(i % 50 = 0, NULL, 0), \
    5000, 4000, 600, iif(i % 50 = 0, NULL, 'model-' || (i % 4)), iif(i % 50 = 0, NULL, 'req_' || i), 0 FROM n";

fn slowest(name: &str, read: impl Fn()) {
    let took = (0..5).map(|_| {
        let begun = clock::boot();
        read();
        clock::boot().get().saturating_sub(begun.get())
    });
    println!("{:>9} µs  {name}", took.max().unwrap_or(0));
}

fn measure(reader: &Reader) {
    let day = |day: i64| UtcMicros::new(day * DAY);
    let task = TaskId::from_bytes(50_000_u128.to_be_bytes());
    let one_day = CostFilter { since: Some(day(50)), until: Some(day(51)), ..CostFilter::default() };
    let costs = |filter: CostFilter<'_>, by| match reader.costs(filter, by, 100) {
        Ok(groups) => drop(groups),
        Err(error) => println!("           {error}"),
    };
    for by in [CostBy::Whole, CostBy::Task] {
        let of = CostOf::Task(task);
        slowest(&format!("one task, {by:?}"), || costs(CostFilter { of, ..CostFilter::default() }, by));
    }
    slowest("sends of a task", || drop(reader.sends_of(task, 100).unwrap()));
    for by in [CostBy::Whole, CostBy::Task, CostBy::Tree, CostBy::Model, CostBy::Day] {
        slowest(&format!("one day, {by:?}"), || costs(one_day, by));
    }
    for by in [CostBy::Whole, CostBy::Model, CostBy::Day, CostBy::Tree, CostBy::Task] {
        slowest(&format!("everything, {by:?}"), || costs(CostFilter::default(), by));
    }
    slowest("the check", || match reader.spent_check() {
        Ok(_) => {}
        Err(error) => println!("           {error}"),
    });
}

fn main() {
    let rows: i64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let dir = tempfile::tempdir().unwrap();
    let options = Options { reserve_bytes: 0, ..Options::new(dir.path()) };
    drop(open(&options).unwrap());
    let conn = Connection::open(dir.path().join("store.db")).unwrap();
    conn.execute(FILL, (rows, 100 * DAY)).unwrap();
    conn.close().unwrap();
    let begun = clock::boot();
    let opened = open(&options).unwrap();
    println!("{:>9} µs  opening", clock::boot().get().saturating_sub(begun.get()));
    measure(&opened.store.reader());
}
