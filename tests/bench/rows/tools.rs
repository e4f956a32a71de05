//! What an agent's tools take on large things, and what its worker takes of memory.

use crate::models;
use crate::peer::ripgrep;
use crate::process::{pss, resident, tree};
use crate::run::Bench;
use crate::sample::{Samples, mib, micros, ms};
use crate::site::Site;
use crate::table::Row;
use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

/// Files that are searched: as many as the sources of Linux are.
const FILES: usize = 60_000;
/// Of a directory.
const IN_A_DIRECTORY: usize = 60;
/// Searches, each for another word.
const SEARCHES: usize = 5;
/// Rounds of the long task, and what its transcript comes to, bytes.
const ROUNDS: usize = 200;
const TRANSCRIPT: usize = 1 << 20;
/// Longer than the long task is looked at.
const MINUTE: &str = "60000";

/// A search and a read.
pub fn measure(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    Ok(vec![search(bench)?, read(bench)?])
}

/// Lets an agent do the calls that its model makes, and gives what came of each.
fn calls(site: &Site<'_>, folder: &Path, count: usize) -> anyhow::Result<Vec<Value>> {
    let mut api = site.api()?;
    let task = json!({ "agent": { "prompt": "look", "folder": folder, "mode": "observe" } });
    let mut events = api.events()?;
    let number = api.submit(&task)?;
    events.settled(number)?;
    let page = api.get(&format!("/api/tasks/{number}/transcript?from=1"))?;
    let entries = page["entries"].as_array().context("no transcript")?.iter();
    let results: Vec<Value> = entries
        .filter(|entry| entry["type"] == "results")
        .flat_map(|entry| entry["results"].as_array().cloned().unwrap_or_default())
        .collect();
    ensure!(results.len() == count, "{} of {count} calls were done", results.len());
    ensure!(results.iter().all(|result| result["outcome"] == "ok"), "a call was not ok: {results:?}");
    Ok(results)
}

fn millis(results: &[Value]) -> Samples {
    let mut samples = Samples::default();
    for result in results {
        samples.add(result["millis"].as_u64().unwrap_or(u64::MAX / 1_000) * 1_000);
    }
    samples
}

fn rules(calls: impl Iterator<Item = (&'static str, Value)>) -> String {
    let rule = |(tool, arguments)| {
        format!("[[rule]]\ntimes = 1\ncall = [{{ tool = '{tool}', arguments = '''{arguments}''' }}]\n")
    };
    calls.map(rule).collect::<String>() + "[[rule]]\nsay = 'Done.'\n"
}

/// `search_code` over many files, and ripgrep over the same.
fn search(bench: &Bench) -> anyhow::Result<Row> {
    let files = bench.count(FILES, FILES / 10);
    let name = format!("`search_code` over {files} files, p50");
    let Some(rg) = ripgrep::find() else {
        return Ok(Row::skipped(name, "no ripgrep on the PATH, and none in RIPGREP_BIN"));
    };
    let script = rules((0..=SEARCHES).map(|one| ("search_code", json!({ "pattern": format!("needle_{one}") }))));
    let provider = models::provider(&script);
    let mut site = models::site(bench, &provider, 1, models::UNBOUND)?;
    site.up()?;
    models::price(&site)?;
    let folder = site.path().join("many");
    let bytes = fill(&folder, files)?;
    let mut peer = Samples::default();
    for one in 0..=SEARCHES {
        let start = micros();
        ripgrep::search(bench, &rg, &format!("needle_{one}"), &folder)?;
        // The first one finds the files on the disk.
        if one > 0 {
            peer.since(start);
        }
    }
    let results = calls(&site, &folder, SEARCHES + 1)?;
    let ours = millis(results.get(1..).unwrap_or_default());
    let ratio = ours.p50() / peer.p50();
    Ok(Row::new(name, ms(ours.p50())).against(format!("{} ripgrep, {}", ms(peer.p50()), mib(bytes)), ratio).at_most(
        ratio,
        1.3,
        "1.3 × ripgrep",
    ))
}

/// Makes files like those of a program; their bytes in all. A few have what is searched for.
fn fill(folder: &Path, files: usize) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for directory in 0..files.div_ceil(IN_A_DIRECTORY) {
        let path = folder.join(format!("part{}/unit{directory}", directory % 20));
        fs::create_dir_all(&path)?;
        for file in 0..IN_A_DIRECTORY {
            let mut text = String::new();
            for line in 0..40 + (directory * 7 + file * 13) % 300 {
                text.push_str(&format!("\tif (state->count[{line}] > {file}) return update(state, {directory});\n"));
            }
            if (directory + file) % 977 == 0 {
                text.push_str(&format!("/* needle_{} */\n", file % (SEARCHES + 1)));
            }
            bytes += text.len() as u64;
            fs::write(path.join(format!("file{file}.c")), text)?;
        }
    }
    let all: String = (0..=SEARCHES).map(|one| format!("needle_{one}\n")).collect();
    fs::write(folder.join("all.txt"), all)?;
    Ok(bytes)
}

/// `read_file` of a part of a GiB.
fn read(bench: &Bench) -> anyhow::Result<Row> {
    let provider =
        models::provider(&rules((0..5).map(|one| ("read_file", json!({ "path": "big", "offset": one + 1 })))));
    let mut site = models::site(bench, &provider, 1, models::UNBOUND)?;
    site.up()?;
    models::price(&site)?;
    let folder = site.path().join("large");
    fs::create_dir(&folder)?;
    let mut file = File::create(folder.join("big"))?;
    let block = "A line of a log that is long.\n".repeat(34_953);
    for _ in 0..bench.count(1_024, 128) {
        file.write_all(block.as_bytes())?;
    }
    let ours = millis(&calls(&site, &folder, 5)?);
    Ok(Row::new("`read_file` in a file of 1 GiB, p50", ms(ours.p50())).at_most(ours.p50(), 20.0, "20 ms"))
}

/// The worker of a long task while it waits for its model, and one that waits for a task.
pub fn memory(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let line = "some words of a file that an agent reads\n";
    let lines = TRANSCRIPT / ROUNDS / line.len();
    let reads = (1..ROUNDS).map(|round| ("read_file", json!({ "path": "file", "offset": round, "limit": lines })));
    let script = rules(reads) + "\n";
    let script = script.replace("say = 'Done.'", &format!("say = 'Done.'\nstall_before_ms = {MINUTE}"));
    let provider = models::provider(&script);
    let mut site = models::site(bench, &provider, 5, &format!("agent.max_rounds = 1000\n{}", models::UNBOUND))?;
    site.up()?;
    models::price(&site)?;
    let folder = site.path().join("read");
    fs::create_dir(&folder)?;
    fs::write(folder.join("file"), line.repeat(lines + ROUNDS))?;
    let mut api = site.api()?;
    let task = json!({ "agent": { "prompt": "read", "folder": folder, "mode": "observe", "max_rounds": ROUNDS + 10 } });
    let number = api.submit(&task)?;
    let page = format!("/api/tasks/{number}/transcript?from={}", 2 * ROUNDS - 1);
    let start = micros();
    while api.get(&page)?["entries"].as_array().is_none_or(Vec::is_empty) {
        ensure!(crate::sample::seconds_since(start) < 60.0, "it does not get there");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    let mut busy = (0, 0);
    for pid in workers(&site)? {
        busy = busy.max((pss(pid)?, resident(pid)?));
    }
    let spare = spare(bench)?;
    let row = |name: String, (bytes, resident): (u64, u64), limit: f64| {
        let beside = format!("RSS {}", mib(resident));
        Row::new(name, mib(bytes)).beside(beside).at_most(bytes as f64 / 1_048_576.0, limit, format!("{limit} MiB PSS"))
    };
    let rows = vec![
        row(format!("memory of a worker after {ROUNDS} rounds, {}", mib(TRANSCRIPT as u64)), busy, 16.0),
        row("memory of a worker that waits for a task".to_owned(), spare, 1.5),
    ];
    Ok(rows)
}

/// One of five workers that wait: they share what they have in common.
fn spare(bench: &Bench) -> anyhow::Result<(u64, u64)> {
    let mut site = Site::new(bench, 5, 5)?;
    site.up()?;
    site.api()?.until_idle(5)?;
    std::thread::sleep(Duration::from_secs(1));
    let spares = workers(&site)?;
    let mut all = spares.iter().map(|pid| Ok((pss(*pid)?, resident(*pid)?))).collect::<anyhow::Result<Vec<_>>>()?;
    all.sort_unstable();
    all.get(all.len() / 2).copied().context("no worker waits")
}

/// Workers below the launcher.
fn workers(site: &Site<'_>) -> anyhow::Result<Vec<i32>> {
    let is_one = |pid: &i32| {
        fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with("ouroboros-worker\0serve"))
    };
    Ok(tree(site.launcher()?)?.into_iter().filter(is_one).collect())
}
