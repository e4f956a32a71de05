//! What many tasks leave behind.

use crate::api::Api;
use crate::process::{self, descriptors, is_zombie, resident};
use crate::run::Bench;
use crate::sample::mib;
use crate::site::Site;
use crate::table::Row;
use std::time::Duration;

pub fn measure(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let mut site = Site::new(bench, 2, 1)?;
    site.up()?;
    let (launcher, server) = (site.launcher()?, site.server()?);
    let (many, warm) = (bench.count(10_000, 1_000), bench.count(4_000, 400));
    let mut api = site.api()?;
    // What is made once and kept: caches, buffers, threads, connections to read with.
    batches(&mut api, 0, warm)?;
    for _ in 0..4 {
        api.get("/api/tasks?limit=1000")?;
    }
    let before = (descriptors(server)?, resident(server)?);
    batches(&mut api, warm, many)?;
    std::thread::sleep(Duration::from_secs(1));
    let after = (descriptors(server)?, resident(server)?);
    let more: Vec<String> = after.0.iter().filter(|name| !before.0.contains(name)).cloned().collect();
    let (before, after) = ((before.0.len(), before.1), (after.0.len(), after.1));
    let tree = process::tree(launcher)?;
    let zombies = tree.iter().filter(|pid| is_zombie(**pid)).count();
    // Launcher, server and one spare are all there should be.
    let strays = site.alive().into_iter().filter(|pid| !tree.contains(pid)).count() + tree.len().saturating_sub(3);
    let growth = after.1 as f64 / before.1 as f64;
    Ok(vec![
        Row::new(format!("after {many} tasks: zombies, strays"), format!("{zombies}, {strays}"))
            .judged(zombies == 0 && strays == 0, "0, 0"),
        Row::new(format!("after {many} tasks: descriptors of the server"), after.0.to_string())
            .against(format!("{} after {warm} {}", before.0, more.join(" ")), after.0 as f64 / before.0 as f64)
            .judged(after.0 <= before.0, "flat"),
        Row::new(format!("after {many} tasks: RSS of the server"), mib(after.1))
            .against(format!("{} after {warm}", mib(before.1)), growth)
            .at_most(growth, 1.1, "1.1 (flat)"),
    ])
}

/// Runs so many tasks, in batches of one size: a deep queue takes memory of its own, which is another row.
fn batches(api: &mut Api<'_>, done: usize, tasks: usize) -> anyhow::Result<()> {
    let mut settled = done;
    while settled < done + tasks {
        let batch = (done + tasks - settled).min(200);
        api.submit_many(&["echo", "hi"], batch)?;
        settled += batch;
        api.until_settled(settled as u64)?;
    }
    api.until_idle(1).map(drop)
}
