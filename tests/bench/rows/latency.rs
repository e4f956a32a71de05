//! One task on an idle system, from before it is sent to the event that it has settled.

use crate::api::{Api, task};
use crate::run::Bench;
use crate::sample::{Samples, micros, ms};
use crate::site::Site;
use crate::table::Row;
use std::time::Duration;

pub fn measure(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let mut site = Site::new(bench, 2, 1)?;
    site.up()?;
    let mut api = site.api()?;
    let count = bench.count(300, 50);
    submit_to_settled(&mut api, count / 10)?;
    let mut floor = bench.with_floor(|floor| floor.latency(count / 2))?;
    let ours = submit_to_settled(&mut api, count)?;
    floor.merge(&bench.with_floor(|floor| floor.latency(count / 2))?);
    let row = |name: &str, ours: f64, floor: f64, limit: f64| {
        Row::new(name, ms(ours)).against(format!("{} floor-task", ms(floor)), ours / floor).at_most(
            ours / floor,
            limit,
            format!("{limit} × floor-task"),
        )
    };
    Ok(vec![
        row("`true` on an idle system, submit to settled, p50", ours.p50(), floor.p50(), 2.0),
        row("the same, p99", ours.p99(), floor.p99(), 3.0),
    ])
}

fn submit_to_settled(api: &mut Api<'_>, count: usize) -> anyhow::Result<Samples> {
    let mut events = api.events()?;
    let task = task(&["true"]);
    let mut samples = Samples::default();
    for _ in 0..count {
        api.until_idle(1)?;
        std::thread::sleep(Duration::from_millis(5));
        let start = micros();
        let number = api.submit(&task)?;
        events.settled(number)?;
        samples.since(start);
    }
    Ok(samples)
}
