//! Nothing to do and nobody connected.

use crate::process::{self, counters};
use crate::run::Bench;
use crate::sample::{micros, seconds_since};
use crate::site::Site;
use crate::table::Row;
use std::time::Duration;

pub fn measure(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let mut site = Site::new(bench, 2, 1)?;
    site.up()?;
    let launcher = site.launcher()?;
    let mut api = site.api()?;
    api.submit_many(&["true"], 10)?;
    api.until_settled(10)?;
    api.until_idle(1)?;
    drop(api);
    // What follows the last task: pages written back, threads that were only kept for a while.
    std::thread::sleep(Duration::from_secs(bench.count(15, 5) as u64));
    let tree = process::tree(launcher)?;
    let before = counters(&tree)?;
    let start = micros();
    std::thread::sleep(Duration::from_secs(10));
    let span = seconds_since(start);
    let after = counters(&tree)?;
    let percent = after.run_nanos.saturating_sub(before.run_nanos) as f64 / 1e9 / span * 100.0;
    let written = after.written.saturating_sub(before.written);
    let wakeups = after.wakeups.saturating_sub(before.wakeups);
    Ok(vec![
        Row::new("idle 10 s: processor", format!("{percent:.4} % of a core")).at_most(
            percent,
            0.05,
            "0.05 % of a core",
        ),
        Row::new("idle 10 s: bytes written", written.to_string()).judged(written == 0, "0"),
        Row::new("idle 10 s: wake-ups of all threads", wakeups.to_string()).judged(wakeups == 0, "0 (no timers)"),
    ])
}
