//! The floors that other rows stand on.

use crate::run::Bench;
use crate::sample::per_second;
use crate::table::Row;

pub fn measure(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    bench.sync_millis()?;
    let mut rows = vec![Row::new("S: append 4 KiB + fdatasync", bench.syncs().shown())];
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
