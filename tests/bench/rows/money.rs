//! Whole questions, the last dollar, and models while nothing is asked.

use crate::api::Api;
use crate::caller::Round;
use crate::models;
use crate::process::{self, counters};
use crate::run::Bench;
use crate::sample::{Samples, micros, ms, seconds_since};
use crate::site::Site;
use crate::table::Row;
use anyhow::{Context as _, ensure};
use ouroboros_process::census;
use serde_json::{Value, json};
use std::time::Duration;

/// A question of its own, from before it is sent to the event that it has settled.
pub fn ask(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let provider = models::provider("[[rule]]\nsay = 'Not long.'\n");
    let mut site = models::site(bench, &provider, 2, models::UNBOUND)?;
    site.up()?;
    models::price(&site)?;
    let mut api = site.api()?;
    let (question, command) = (models::question(), crate::api::task(&["true"]));
    settled(&mut api, &question, 5)?;
    let (mut asked, mut ran) = (Samples::default(), Samples::default());
    let count = bench.count(100, 20);
    for _ in 0..4 {
        ran.merge(&settled(&mut api, &command, count / 4)?);
        asked.merge(&settled(&mut api, &question, count / 4)?);
    }
    Ok(vec![
        Row::new("a question that is answered at once, submit to settled", asked.shown())
            .against(format!("{} `true`", ms(ran.p50())), asked.p50() / ran.p50()),
    ])
}

/// Tasks one after the other on an idle system, each from before it is submitted to the event that it has settled.
pub(super) fn settled(api: &mut Api<'_>, task: &Value, count: usize) -> anyhow::Result<Samples> {
    let mut events = api.events()?;
    let mut samples = Samples::default();
    for _ in 0..count {
        api.until_idle(1)?;
        let start = micros();
        let number = api.submit(task)?;
        events.settled(number)?;
        samples.since(start);
    }
    Ok(samples)
}

/// Workers at once, each with a call whose bound is a tenth of what is left.
pub fn last_dollar(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    const WORKERS: u32 = 64;
    const ANSWER: u32 = 50_000;
    let (mut times, mut admitted) = (Samples::default(), Vec::new());
    let sync = bench.sync_millis()?;
    for _ in 0..bench.count(5, 2) {
        let provider = models::provider(&format!("[[rule]]\nsay = 'Bought.'\nusage = {{ output = {ANSWER} }}\n"));
        let limits =
            "limits.total = '1.00'\nlimits.task = 'none'\nmodels.concurrency = 1024\nmodels.default = 'openai/m'\n";
        let mut question = models::question();
        question["ask"]["max_output_tokens"] = json!(ANSWER);
        let (_site, mut callers) = models::callers(bench, &provider, WORKERS, limits, &question)?;
        let heard = callers.round(Round { calls: 1, at_once: 1 })?;
        ensure!(heard.calls.len() == WORKERS as usize, "a worker was not answered");
        ensure!(provider.billed() <= 1_000_000_000, "more than the last dollar was spent");
        times.add(heard.end.saturating_sub(heard.begin));
        admitted.push(heard.answers);
    }
    Ok(vec![
        Row::new(format!("{WORKERS} workers at the last dollar, until all are answered"), times.shown())
            .beside(format!("{admitted:?} bought something; S {}", ms(sync))),
    ])
}

/// A gateway that was used, and a local model that is not needed any more.
pub fn idle(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let provider = models::provider("");
    let mut site = models::site(bench, &provider, 2, models::UNBOUND)?;
    site.up()?;
    models::price(&site)?;
    let mut api = site.api()?;
    settled(&mut api, &models::question(), 5)?;
    api.until_idle(1)?;
    drop(api);
    // What follows the last question: connections that are kept for a while, pages written back.
    std::thread::sleep(Duration::from_secs(bench.count(45, 20) as u64));
    let tree = process::tree(site.launcher()?)?;
    let before = counters(&tree)?;
    std::thread::sleep(Duration::from_secs(10));
    let after = counters(&tree)?;
    let (written, wakeups) =
        (after.written.saturating_sub(before.written), after.wakeups.saturating_sub(before.wakeups));
    let local = local(bench)?;
    Ok(vec![
        Row::new("idle gateway with routes and a key, 10 s: bytes written", written.to_string())
            .judged(written == 0, "0"),
        Row::new("idle gateway with routes and a key, 10 s: wake-ups", wakeups.to_string()).judged(wakeups == 0, "0"),
        local,
    ])
}

fn local(bench: &Bench) -> anyhow::Result<Row> {
    let program = support::program("provider");
    let settings = format!(
        "models.discover = false\nmodels.local_command = '{} --listen 127.0.0.1:{{port}}'\nmodels.local_idle = '1s'\n",
        program.display()
    );
    let mut site = Site::new(bench, 2, 1)?.with_settings(&settings)?;
    site.up()?;
    let mut api = site.api()?;
    settled(&mut api, &models::question(), 1)?;
    let answered = micros();
    let launcher = site.launcher()?;
    ensure!(servers(launcher)? == 1, "no inference server runs");
    while servers(launcher)? > 0 {
        ensure!(seconds_since(answered) < 60.0, "the inference server is not ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    let took = seconds_since(answered);
    Ok(Row::new("a local model after its idle stop of 1 s: processes of it", format!("0, after {took:.1} s"))
        .judged(took < 3.0, "0"))
}

/// Inference servers below the launcher.
fn servers(launcher: i32) -> anyhow::Result<usize> {
    let below = census::descendants(launcher).context("look below the launcher")?;
    let is_it =
        |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == "provider");
    Ok(below.into_iter().filter(|(pid, _)| is_it(*pid)).count())
}
