//! Tasks in words: what one costs whose model answers at once, and what a round with a tool adds.

use super::money::settled;
use crate::models;
use crate::process;
use crate::run::Bench;
use crate::sample::{Samples, micros, ms, per_second, seconds_since};
use crate::site::Site;
use crate::table::Row;
use anyhow::Context as _;
use serde_json::{Value, json};
use std::fs;

/// Bytes of what is wanted.
const PROMPT: usize = 180 << 10;
/// Rounds with a tool of which the time of one is taken.
const ROUNDS: usize = 10;
/// Tasks at once.
const AT_ONCE: usize = 200;

/// A kind of round: what it is called, its tool, the arguments of each, and its bar in milliseconds and syncs.
type Kind<'a> = (&'a str, &'a str, &'a dyn Fn(usize) -> Value, (f64, f64));

/// Everything about them.
pub fn measure(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let mut rows = alone(bench)?;
    rows.extend([many(bench, 2)?, many(bench, 5)?]);
    rows.extend(added(bench)?);
    Ok(rows)
}

fn task(site: &Site<'_>, mode: &str) -> Value {
    json!({ "agent": { "prompt": "word ".repeat(PROMPT / 5), "folder": site.path(), "mode": mode } })
}

fn site<'a>(bench: &'a Bench, provider: &support::Provider, slots: u32) -> anyhow::Result<Site<'a>> {
    let mut site = models::site(bench, provider, slots, models::UNBOUND)?;
    site.up()?;
    models::price(&site)?;
    Ok(site)
}

/// One after the other on an idle system, from submit to the event that it has settled.
fn alone(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let provider = models::provider("[[rule]]\nsay = 'Done.'\n");
    let site = site(bench, &provider, 2)?;
    let (mut api, task) = (site.api()?, task(&site, "advanced"));
    settled(&mut api, &task, 5)?;
    let sync = bench.sync_millis()?;
    let count = bench.count(200, 40);
    let (before, times) = (spent(site.server()?)?, settled(&mut api, &task, count)?);
    let cpu = (spent(site.server()?)? - before) / count as f64;
    let limit = 6.0 + 5.0 * sync;
    Ok(vec![
        Row::new("a task in words of one round, 180 KB, submit to settled", times.shown())
            .beside(format!("S {}: bar {}", ms(sync), ms(limit)))
            .at_most(times.p50(), limit, "6 ms + 5 S"),
        Row::new("the same, p99", ms(times.p99())).at_most(times.p99(), 3.0 * limit, "3 × that"),
        Row::new("the same, processor time of server and worker", ms(cpu)).at_most(cpu, 8.0, "8 ms"),
    ])
}

/// Many at once. They only look, so that none waits for the folder.
fn many(bench: &Bench, slots: u32) -> anyhow::Result<Row> {
    let provider = models::provider("[[rule]]\nsay = 'Done.'\n");
    let site = site(bench, &provider, slots)?;
    let (mut api, task) = (site.api()?, task(&site, "observe"));
    settled(&mut api, &task, 5)?;
    let count = bench.count(AT_ONCE, 50);
    api.command(&json!({ "command": "hold_queue" }))?;
    let before = api.state()?["queue"]["settled"].as_u64().unwrap_or(0);
    for _ in 0..count {
        api.submit(&task)?;
    }
    let start = micros();
    api.command(&json!({ "command": "release_queue" }))?;
    api.until_settled(before + count as u64)?;
    let rate = count as f64 / seconds_since(start);
    Ok(Row::new(format!("{count} tasks in words of one round at once, {slots} slots"), per_second(rate)).at_least(
        rate,
        150.0,
        "150 a second",
    ))
}

/// What a round adds that reads a file, and one that runs a program.
fn added(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let provider = models::provider("[[rule]]\nsay = 'Done.'\n");
    let site = site(bench, &provider, 2)?;
    fs::write(site.path().join("file.txt"), "a line\n".repeat(100))?;
    let (mut api, task) = (site.api()?, task(&site, "advanced"));
    let count = bench.count(40, 10);
    settled(&mut api, &task, 5)?;
    let mut rows = Vec::new();
    let read = |round: usize| json!({ "path": "file.txt", "from": round + 1 });
    let ran = |round: usize| json!({ "argv": ["true", round.to_string()] });
    // No two calls are the same, or it would be told that it goes in circles.
    let kinds: [Kind<'_>; 2] = [
        ("a round with `read_file`", "read_file", &read, (2.0, 1.0)),
        ("a round with `run_command [\"true\"]`", "run_command", &ran, (4.0, 3.0)),
    ];
    for (name, tool, arguments, (fixed, syncs)) in kinds {
        let call = |round| {
            let arguments = arguments(round);
            format!("[[rule]]\ntimes = 1\ncall = [{{ tool = '{tool}', arguments = '{arguments}' }}]\n")
        };
        let calls: String = (0..ROUNDS).map(call).collect();
        let calls = models::script(&(calls + "[[rule]]\nsay = 'Done.'\n"));
        provider.script(&models::script("[[rule]]\nsay = 'Done.'\n"));
        let bare = settled(&mut api, &task, count)?;
        let mut with = Samples::default();
        for _ in 0..count {
            provider.script(&calls);
            with.merge(&settled(&mut api, &task, 1)?);
        }
        let sync = bench.sync_millis()?;
        let round = (with.p50() - bare.p50()) / ROUNDS as f64;
        let limit = fixed + syncs * sync;
        rows.push(
            Row::new(format!("{name}, added, p50"), ms(round))
                .beside(format!("the model's call in it; S {}: bar {}", ms(sync), ms(limit)))
                .at_most(round, limit, format!("{fixed} ms + {syncs} S")),
        );
    }
    Ok(rows)
}

/// Processor time of a process and of those it has waited for, milliseconds (proc(5), `/proc/PID/stat`).
fn spent(pid: i32) -> anyhow::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = stat.rsplit_once(')').context("no stat")?.1.split_whitespace().collect();
    let ticks: f64 = fields.iter().skip(11).take(4).filter_map(|field| field.parse::<f64>().ok()).sum();
    Ok(ticks * 1_000.0 / process::TICKS)
}
