//! Cancelling without grace: how long until every process of a task is gone, and until the task has settled.

use crate::api::{Api, Events};
use crate::floor::tower;
use crate::run::Bench;
use crate::sample::{Samples, micros, ms, seconds_since};
use crate::site::Site;
use crate::table::Row;
use anyhow::{bail, ensure};
use ouroboros_process::{PidFd, census};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Shapes of the zoo, with their arguments.
const SHAPES: &[&[&str]] = &[
    &["sleep", "1000"],
    &["three-deep"],
    &["double-fork"],
    &["clear-env"],
    &["leader-exits"],
    &["hold-pipe"],
    &["chain", "250"],
    &["tower", "250"],
    &["fork-storm"],
    &["ignore-term"],
    &["spin-on-exit"],
    &["stopped"],
    &["non-dumpable"],
    &["main-thread-exits"],
    &["fill-memory", "67108864"],
];

/// Keeps a leader where the shape's own one exits: a task is over with its leader.
const KEEP: &str = r#""$@"; exec "$1" sleep 1000"#;

const PATIENCE: Duration = Duration::from_secs(30);

/// The worst time of each shape.
#[derive(Default)]
struct Slowest(BTreeMap<String, u64>);

impl Slowest {
    fn see(&mut self, shape: &str, micros: u64) {
        let worst = self.0.entry(shape.to_owned()).or_default();
        *worst = micros.max(*worst);
    }

    fn shown(&self) -> String {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|(_, worst)| std::cmp::Reverse(**worst));
        let worst = all.iter().take(3).map(|(shape, worst)| format!("{shape} {}", ms(**worst as f64 / 1e3)));
        format!("worst: {}", worst.collect::<Vec<_>>().join(", "))
    }
}

struct Times {
    gone: u64,
    settled: u64,
}

pub fn measure(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let sync = bench.sync_millis()?;
    for (isolation, limit) in [("namespace", 10.0), ("host", 50.0)] {
        let mut site = Site::new(bench, 2, 1)?;
        site.up()?;
        let server = site.server()?;
        let mut api = site.api()?;
        let mut events = api.events()?;
        let isolated = !api.state()?.to_string().contains("not_isolated");
        if isolation == "namespace" && !isolated {
            rows.push(Row::skipped("cancel, with namespaces", "this machine does not allow them"));
            continue;
        }
        let (mut gone, mut settled) = (Samples::default(), Samples::default());
        let (mut last_gone, mut last_settled) = (Slowest::default(), Slowest::default());
        for shape in SHAPES {
            for _ in 0..bench.count(10, 2) {
                let times = one(&mut api, &mut events, server, isolation, shape)?;
                gone.add(times.gone);
                settled.add(times.settled);
                last_gone.see(shape[0], times.gone);
                last_settled.see(shape[0], times.settled);
            }
        }
        let alone = tower::kill(&bench.spawner, bench.count(10, 2), isolation == "namespace")?;
        let bar = |extra: f64| limit + extra;
        rows.push(
            Row::new(format!("cancel of any shape, {isolation}: all gone"), gone.shown())
                .beside(format!("{}; a tower by the kernel alone {}", last_gone.shown(), ms(alone.p50())))
                .at_most(gone.p99(), bar(0.0), format!("{limit} ms (p99)")),
        );
        rows.push(
            Row::new(format!("cancel of any shape, {isolation}: settled"), settled.shown())
                .beside(last_settled.shown())
                .at_most(settled.p99(), bar(3.0 * sync), format!("{limit} ms + 3 S (p99)")),
        );
    }
    Ok(rows)
}

fn one(
    api: &mut Api<'_>,
    events: &mut Events<'_>,
    server: i32,
    isolation: &str,
    shape: &[&str],
) -> anyhow::Result<Times> {
    api.until_idle(1)?;
    let zoo = support::program("zoo");
    let number =
        api.submit(&json!({ "command": { "argv": argv(&zoo, shape), "cwd": "/" }, "isolation": isolation }))?;
    let start = micros();
    loop {
        let said = api.bytes(&format!("/api/tasks/{number}/logs/stdout")).unwrap_or_default();
        if said.windows(5).any(|word| word == b"ready") {
            break;
        }
        if seconds_since(start) > PATIENCE.as_secs_f64() {
            bail!("shape {} does not stand: {}", shape[0], api.get(&format!("/api/tasks/{number}"))?);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    // A chain says so before its runaway.
    std::thread::sleep(Duration::from_millis(100));
    let alive = tools(server)?;
    ensure!(!alive.is_empty(), "nothing of {} runs", shape[0]);
    let start = micros();
    let watch = std::thread::spawn(move || gone(server, alive));
    api.post(&format!("/api/tasks/{number}/cancel"), r#"{"grace_ms":0}"#)?;
    events.settled(number)?;
    let settled = micros().saturating_sub(start);
    let Ok(gone) = watch.join() else { bail!("the watch panicked") };
    Ok(Times { gone: gone?.saturating_sub(start), settled })
}

fn argv(zoo: &Path, shape: &[&str]) -> Vec<String> {
    let zoo = zoo.display().to_string();
    let leader_leaves = ["leader-exits", "hold-pipe", "chain"].contains(&shape[0]);
    let before = if leader_leaves { vec!["sh", "-c", KEEP, "sh"] } else { Vec::new() };
    let words = before.into_iter().chain([zoo.as_str()]).chain(shape.iter().copied());
    words.map(str::to_owned).collect()
}

/// Everything below the workers that is alive.
fn tools(server: i32) -> anyhow::Result<Vec<PidFd>> {
    let below = census::descendants(server)?.into_iter().filter(|(_, parent)| *parent != server);
    let open = below.filter_map(|(pid, _)| PidFd::open(pid).ok().flatten());
    Ok(open.filter(|process| !process.is_dead()).collect())
}

/// When the last of them, and of those that were made meanwhile, was dead.
fn gone(server: i32, mut alive: Vec<PidFd>) -> anyhow::Result<u64> {
    loop {
        for process in &alive {
            ensure!(process.wait_dead(PATIENCE), "a process outlives its cancel");
        }
        let now = micros();
        alive = tools(server)?;
        if alive.is_empty() {
            return Ok(now);
        }
    }
}
