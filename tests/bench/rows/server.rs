//! A server that is killed under its launcher, with running and queued tasks.

use crate::api::{Api, task};
use crate::process;
use crate::run::Bench;
use crate::sample::{Samples, micros, seconds_since};
use crate::site::Site;
use crate::table::Row;
use anyhow::{Context as _, ensure};
use ouroboros_process::{PidFd, Signal};
use std::time::Duration;

const QUEUED: u64 = 20;
const RUNNING: u64 = 2;

struct Death {
    gone: u64,
    ready: u64,
    lost: u64,
}

pub fn measure(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let (mut gone, mut ready, mut lost) = (Samples::default(), Samples::default(), 0);
    for _ in 0..bench.count(20, 4) {
        let death = one(bench)?;
        gone.add(death.gone);
        ready.add(death.ready);
        lost += death.lost;
    }
    let accepted = (QUEUED + RUNNING) * gone.count() as u64;
    Ok(vec![
        Row::new("server kill -9 to none of its processes alive", gone.shown()).at_most(
            gone.p99(),
            100.0,
            "100 ms (p99)",
        ),
        Row::new("server kill -9 to the next one ready", ready.shown()),
        Row::new("accepted tasks lost; the queue goes on by itself", format!("{lost} of {accepted}"))
            .judged(lost == 0, "0, by itself"),
    ])
}

fn one(bench: &Bench) -> anyhow::Result<Death> {
    let mut site = Site::new(bench, 2, 1)?;
    site.up()?;
    let mut api = site.api()?;
    for _ in 0..RUNNING {
        api.submit(&task(&["sh", "-c", "sleep 1000 & setsid sleep 1000 & sleep 1000"]))?;
    }
    api.until("both run", Duration::from_millis(2), |state| state["queue"]["running"] == RUNNING)?;
    let server = site.server()?;
    let start = micros();
    // The server, two workers and a spare, two shells with three sleeps each.
    while process::tree(server)?.len() < 12 {
        ensure!(seconds_since(start) < 30.0, "the tasks do not run");
        std::thread::sleep(Duration::from_millis(2));
    }
    api.submit_many(&["true"], QUEUED as usize)?;
    let all: Vec<PidFd> =
        process::tree(server)?.into_iter().filter_map(|pid| PidFd::open(pid).ok().flatten()).collect();
    let server = PidFd::open(server)?.context("it is gone")?;
    let start = micros();
    server.signal(Signal::KILL)?;
    for process in &all {
        ensure!(process.wait_dead(Duration::from_secs(30)), "a process outlives its server");
    }
    let gone = micros().saturating_sub(start);
    while !site.is_ready() {
        ensure!(seconds_since(start) < 60.0, "no server comes back");
        std::thread::sleep(Duration::from_micros(500));
    }
    let ready = micros().saturating_sub(start);
    Ok(Death { gone, ready, lost: lost(&mut site.api()?)? })
}

/// Accepted tasks that are not there, or have not run to the end they should have.
fn lost(api: &mut Api<'_>) -> anyhow::Result<u64> {
    api.until_settled(QUEUED + RUNNING)?;
    let page = api.get("/api/tasks?limit=1000")?;
    let tasks = page["tasks"].as_array().context("no tasks")?;
    let completed = tasks.iter().filter(|task| task["status"] == "completed").count() as u64;
    let interrupted = tasks.iter().filter(|task| task["status"] == "failed").count() as u64;
    Ok(QUEUED.saturating_sub(completed) + RUNNING.saturating_sub(interrupted))
}
