//! A usage ledger of a million sends: what a start and sums cost.

use crate::models::UNBOUND;
use crate::run::Bench;
use crate::sample::{Samples, micros};
use crate::seed_ledger::{self, DAYS, OF_TREE, TASKS};
use crate::site::Site;
use crate::table::Row;
use ouroboros_proto::api::Timestamp;
use ouroboros_store::reader::{CostBy, CostFilter};
use ouroboros_store::{Options, open};

pub fn measure(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let mut site = Site::new(bench, 2, 1)?.with_settings(UNBOUND)?;
    site.up()?;
    let mut empty = Samples::default();
    for _ in 0..bench.count(10, 3) {
        site.down()?;
        empty.add(site.up()?);
    }
    drop(site);
    let mut site = Site::new(bench, 2, 1)?.with_settings(UNBOUND)?;
    let sends = bench.count(1_000_000, 100_000) as u64;
    let ledger = seed_ledger::fill(site.data(), sends)?;
    let mut up = Samples::default();
    site.up()?;
    for _ in 0..bench.count(10, 3) {
        site.down()?;
        up.add(site.up()?);
    }
    let mut api = site.api()?;
    let count = bench.count(50, 10);
    let mut ask = |path: &str| -> anyhow::Result<Samples> {
        api.get(path)?;
        timed(count, || api.get(path).map(drop))
    };
    let (since, until) = (Timestamp(ledger.since), Timestamp(ledger.until));
    let task = ask(&format!("/api/cost-breakdown?by=task&task={}", ledger.number))?;
    let day = ask(&format!("/api/cost-breakdown?by=model&since={since}&until={until}"))?;
    site.down()?;
    let opened = open(&Options::new(site.data()))?;
    let reader = opened.store.reader();
    let sum = |filter: CostFilter<'_>| timed(count, || Ok(reader.costs(filter, CostBy::Task, 1_000).map(drop)?));
    let tree = timed(count, || Ok(reader.tree(ledger.tree, &[]).map(drop)?))?;
    let read = sum(CostFilter { since: Some(ledger.since), until: Some(ledger.until), ..CostFilter::default() })?;
    let row = |name: String, samples: &Samples, limit: f64| {
        Row::new(name, samples.shown()).at_most(samples.p50(), limit, format!("{limit} ms"))
    };
    let (of_task, of_day) = (OF_TREE / TASKS, sends / DAYS.unsigned_abs());
    Ok(vec![
        row(format!("up to ready, {sends} sends in the ledger"), &up, 80.0)
            .beside(format!("{} with none", empty.shown())),
        row(format!("sum of a tree of {OF_TREE} sends, from the store"), &tree, 20.0),
        row(format!("sum of a task of {of_task} sends, by the API"), &task, 20.0),
        row(format!("sum of a day of {of_day} sends, from the store"), &read, 200.0),
        row(format!("sum and models of a day of {of_day} sends, by the API"), &day, 200.0),
    ])
}

fn timed(count: usize, mut act: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<Samples> {
    let mut samples = Samples::default();
    for _ in 0..count {
        let start = micros();
        act()?;
        samples.since(start);
    }
    Ok(samples)
}
