//! What many tasks leave behind.

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
    let (many, warm) = (bench.count(10_000, 1_000), bench.count(1_000, 200));
    let mut api = site.api()?;
    // What is made once and kept: caches, buffers, threads.
    api.submit_many(&["echo", "hi"], warm)?;
    api.until_settled(warm as u64)?;
    api.until_idle(1)?;
    let before = (descriptors(server)?, resident(server)?);
    api.submit_many(&["echo", "hi"], many)?;
    api.until_settled((warm + many) as u64)?;
    api.until_idle(1)?;
    std::thread::sleep(Duration::from_secs(1));
    let after = (descriptors(server)?, resident(server)?);
    let tree = process::tree(launcher)?;
    let zombies = tree.iter().filter(|pid| is_zombie(**pid)).count();
    // Launcher, server and one spare are all there should be.
    let strays = site.alive().into_iter().filter(|pid| !tree.contains(pid)).count() + tree.len().saturating_sub(3);
    let growth = after.1 as f64 / before.1 as f64;
    Ok(vec![
        Row::new(format!("after {many} tasks: zombies, strays"), format!("{zombies}, {strays}"))
            .judged(zombies == 0 && strays == 0, "0, 0"),
        Row::new(format!("after {many} tasks: descriptors of the server"), after.0.to_string())
            .against(format!("{} after {warm}", before.0), after.0 as f64 / before.0 as f64)
            .judged(after.0 <= before.0, "flat"),
        Row::new(format!("after {many} tasks: RSS of the server"), mib(after.1))
            .against(format!("{} after {warm}", mib(before.1)), growth)
            .at_most(growth, 1.1, "1.1 (flat)"),
    ])
}
