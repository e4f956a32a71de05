//! A worker that is killed from outside.

use crate::api::{self, Api, Events};
use crate::run::Bench;
use crate::sample::{Samples, micros, seconds_since};
use crate::site::Site;
use crate::table::Row;
use anyhow::{Context as _, ensure};
use ouroboros_process::{PidFd, Signal, census};
use std::time::Duration;

pub fn measure(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let mut site = Site::new(bench, 2, 1)?;
    site.up()?;
    let server = site.server()?;
    let mut api = site.api()?;
    let mut events = api.events()?;
    let (mut spare, mut busy) = (Samples::default(), Samples::default());
    for _ in 0..bench.count(100, 20) {
        spare.add(kill(&mut api, &mut events, server, false)?);
        busy.add(kill(&mut api, &mut events, server, true)?);
    }
    let row =
        |name: &str, samples: &Samples| Row::new(name, samples.shown()).at_most(samples.p99(), 20.0, "20 ms (p99)");
    Ok(vec![
        row("worker kill -9 to slot ready, a spare", &spare),
        row("worker kill -9 to slot ready, one with a running task", &busy),
    ])
}

/// Kills the spare, or the worker of a running task. Until all slots are free and a spare stands ready, microseconds.
fn kill(api: &mut Api<'_>, events: &mut Events<'_>, server: i32, with_task: bool) -> anyhow::Result<u64> {
    // Work that ends well: the next death is the first one again.
    api.until_idle(1)?;
    let before = settled(api)?;
    api.submit(&api::task(&["true"]))?;
    api.until_settled(before + 1)?;
    api.until_idle(1)?;
    let mut victims = census::children_of(server)?;
    ensure!(victims.len() == 1, "{} workers where one was expected", victims.len());
    let mut task = None;
    if with_task {
        task = Some(api.submit(&api::task(&["sleep", "1000"]))?);
        api.until("it runs beside a spare", Duration::from_millis(1), |state| {
            state["queue"]["running"] == 1 && state["slots"]["spares"] == 1
        })?;
        let start = micros();
        // Behind its barrier it would be started again elsewhere.
        while !runs(victims[0], "sleep")? {
            ensure!(seconds_since(start) < 30.0, "the task does not run");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let victim = PidFd::open(victims.remove(0))?.context("it is gone")?;
    let known = census::children_of(server)?;
    let start = micros();
    victim.signal(Signal::KILL)?;
    // No look is closer than this to the one before: looking takes a processor from what is looked at.
    let pause = Duration::from_micros(300);
    match task {
        Some(number) => events.settled(number)?,
        None => {
            while census::children_of(server)?.iter().all(|pid| known.contains(pid)) {
                ensure!(seconds_since(start) < 60.0, "no new worker is started");
                std::thread::sleep(pause);
            }
        }
    }
    api.until("all slots are free and a spare stands ready", pause, |state| {
        let slots = &state["slots"];
        slots["busy"] == 0 && slots["spares"] == 1 && slots["assignable"] == 2
    })?;
    Ok(micros().saturating_sub(start))
}

/// Whether a process with this name is below `pid`.
fn runs(pid: i32, name: &str) -> anyhow::Result<bool> {
    let below = census::descendants(pid)?;
    let is_it = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name);
    Ok(below.into_iter().any(|(pid, _)| is_it(pid)))
}

fn settled(api: &mut Api<'_>) -> anyhow::Result<u64> {
    api.state()?["queue"]["settled"].as_u64().context("no count")
}
