//! The command line, from its start to its end.

use crate::run::Bench;
use crate::sample::{Samples, micros};
use crate::site::Site;
use crate::table::Row;
use anyhow::ensure;
use ouroboros_process::Status;

pub fn measure(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let mut site = Site::new(bench, 2, 1)?;
    site.up()?;
    site.api()?.until_idle(1)?;
    let row = |name: &str, words: &[&str], limit: f64| -> anyhow::Result<Row> {
        let mut samples = Samples::default();
        for _ in 0..50 {
            let command = site.command(words);
            let start = micros();
            let exit = bench.spawner.spawn(command)?.wait()?;
            samples.since(start);
            ensure!(exit.status == Status::Exited(0), "{name} failed: {exit:?}");
        }
        Ok(Row::new(name, samples.shown()).at_most(samples.p50(), limit, format!("{limit} ms")))
    };
    Ok(vec![row("`status` on a live server", &["status"], 10.0)?, row("`--version`", &["--version"], 4.0)?])
}

/// Not measured from inside: it would build this very program.
pub fn build(_: &Bench) -> anyhow::Result<Vec<Row>> {
    let name = "clean build + all tests (bar ≤ 20 minutes)";
    Ok(vec![Row::skipped(name, "by hand: CARGO_TARGET_DIR=$(mktemp -d) bash -c 'time ./scripts/test'")])
}
