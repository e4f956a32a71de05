//! The floors that other rows stand on.

use crate::disk;
use crate::run::Bench;
use crate::sample::per_second;
use crate::table::Row;

pub fn measure(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let syncs = bench.syncs(bench.count(2_000, 200))?;
    let mut rows = vec![Row::new("S: append 4 KiB + fdatasync", syncs.shown())];
    let over = disk::overwrite_and_sync(bench.count(2_000, 200))?;
    rows.push(Row::new("overwrite 4 KiB + fdatasync", over.shown()).beside("what a log of constant size pays"));
    bench.with_floor(|floor| {
        let latency = floor.latency(bench.count(300, 50))?;
        let isolation = format!("isolation: {:?}", floor.isolation());
        rows.push(Row::new("floor-task, latency", latency.shown()).beside(isolation));
        for slots in [1, 2, 5] {
            let rate = floor.rate(bench.count(1_000, 200), slots)?;
            rows.push(Row::new(format!("floor-task, rate with {slots} slot(s)"), per_second(rate)));
        }
        Ok(())
    })?;
    Ok(rows)
}
