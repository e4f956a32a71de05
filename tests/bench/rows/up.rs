//! From the start of `up` to a health that says ready.

use crate::run::Bench;
use crate::sample::{Samples, ms};
use crate::seed;
use crate::site::Site;
use crate::table::Row;

pub fn measure(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let sync = bench.sync_millis()?;
    let mut first = Samples::default();
    for _ in 0..bench.count(10, 3) {
        first.add(Site::new(bench, 2, 1)?.up()?);
    }
    let mut existing = Samples::default();
    let mut site = Site::new(bench, 2, 1)?;
    site.up()?;
    for _ in 0..bench.count(20, 3) {
        site.down()?;
        existing.add(site.up()?);
    }
    drop(site);
    let (clean, killed) = full(bench)?;
    let row = |name: &str, samples: &Samples, limit: f64, bar: &str| {
        Row::new(name, samples.shown()).at_most(samples.p50(), limit, bar)
    };
    Ok(vec![
        row("up to ready, existing store", &existing, 80.0, "80 ms"),
        row("up to ready, first creation", &first, 80.0 + 12.0 * sync, "80 ms + 12 S").beside(format!(
            "S {}: bar {}",
            ms(sync),
            ms(80.0 + 12.0 * sync)
        )),
        row("up to ready, 100,000 queued + 100,000 settled", &clean, 500.0, "500 ms"),
        row("the same after kill -9", &killed, 500.0, "500 ms"),
    ])
}

fn full(bench: &Bench) -> anyhow::Result<(Samples, Samples)> {
    let mut site = Site::new(bench, 2, 1)?;
    let each = bench.count(100_000, 20_000) as u64;
    seed::fill(site.data(), each, each)?;
    site.up()?;
    let (mut clean, mut killed) = (Samples::default(), Samples::default());
    for _ in 0..bench.count(7, 2) {
        site.down()?;
        clean.add(site.up()?);
        site.kill()?;
        killed.add(site.up()?);
    }
    Ok((clean, killed))
}
