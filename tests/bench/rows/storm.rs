//! Every worker dies at its start, for a while.

use crate::api::{Api, task};
use crate::doomed::Doomed;
use crate::run::Bench;
use crate::sample::{micros, seconds_since};
use crate::site::Site;
use crate::table::Row;
use anyhow::{Context as _, ensure};
use ouroboros_process::{PidFd, Signal, census};
use std::time::Duration;

/// Deaths that are met without a pause.
const FREE: usize = 2;
/// The first pause, milliseconds; it doubles up to the longest.
const FIRST_PAUSE: f64 = 100.0;
const LONGEST_PAUSE: f64 = 30_000.0;
/// What jitter may take off a pause.
const LEAST: f64 = 0.8;

pub fn measure(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let mut site = Site::new(bench, 2, 1)?;
    let doomed = Doomed::new(&site.path().join("programs"))?;
    site = site.with_launcher(doomed.launcher());
    site.up()?;
    let server = site.server()?;
    let mut api = site.api()?;
    api.until_idle(1)?;
    let spare = census::children_of(server)?.first().copied().context("no worker")?;
    let spare = PidFd::open(spare)?.context("it is gone")?;

    doomed.die(true)?;
    let start = micros();
    spare.signal(Signal::KILL)?;
    let degraded = until_alarm(&mut api, true)?;
    let span = bench.count(30, 6) as f64;
    while seconds_since(start) < span {
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut deaths = vec![start];
    deaths.extend(doomed.deaths());
    let ratio = shortest(&deaths);
    let asked = api.submit(&task(&["true"]))?;
    doomed.die(false)?;
    let start = micros();
    let mut status = api.get(&format!("/api/tasks/{asked}"))?;
    while status["status"] != "completed" {
        ensure!(seconds_since(start) < 120.0, "it does not recover: {status}");
        std::thread::sleep(Duration::from_millis(20));
        status = api.get(&format!("/api/tasks/{asked}"))?;
    }
    until_alarm(&mut api, false)?;
    let recovered = seconds_since(start);
    Ok(vec![
        Row::new("every worker dies: `degraded` in health", format!("{:.0} ms", degraded * 1e3))
            .at_most(degraded, 5.0, "5 s"),
        Row::new(
            format!("worker starts in {span:.0} s"),
            format!("{} deaths, shortest pause {ratio:.2} of its turn", deaths.len()),
        )
        .beside("2 at once, then 100 ms doubled, less at most a fifth")
        .judged(ratio >= LEAST, "never faster"),
        Row::new("workers hold again: a waiting task done, alarm over", format!("{recovered:.1} s"))
            .judged(true, "alone"),
    ])
}

/// The shortest gap between two deaths, as part of the pause that the back-off sets at that point.
fn shortest(deaths: &[u64]) -> f64 {
    let gaps = deaths.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64 / 1e3);
    let turns = (0..).map(|doublings| (FIRST_PAUSE * f64::powi(2.0, doublings)).min(LONGEST_PAUSE));
    gaps.skip(FREE).zip(turns).map(|(gap, pause)| gap / pause).fold(f64::INFINITY, f64::min)
}

/// Until the alarm of dying workers is there or over, seconds.
fn until_alarm(api: &mut Api<'_>, there: bool) -> anyhow::Result<f64> {
    let start = micros();
    loop {
        let health = api.get("/api/health")?;
        let alarms = health["degraded"].as_array().context("no alarms")?;
        if alarms.iter().any(|alarm| alarm["code"] == "worker_storm") == there {
            return Ok(seconds_since(start));
        }
        ensure!(seconds_since(start) < 60.0, "the alarm does not change: {health}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
