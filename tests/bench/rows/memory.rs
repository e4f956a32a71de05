//! Memory: what each process would give back, shared pages split among those that share them.

use crate::process::{self, pss, resident};
use crate::run::Bench;
use crate::sample::mib;
use crate::site::Site;
use crate::table::Row;
use serde_json::json;
use std::time::Duration;

const MIB: f64 = 1_048_576.0;

pub fn measure(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let mut site = Site::new(bench, 5, 5)?;
    site.up()?;
    let (launcher, server) = (site.launcher()?, site.server()?);
    site.api()?.until_idle(5)?;
    std::thread::sleep(Duration::from_secs(1));
    let idle = pss(server)?;
    let tree = process::tree(launcher)?;
    let all = tree.iter().map(|pid| pss(*pid)).sum::<anyhow::Result<u64>>()?;
    let beside = format!("RSS {}; launcher PSS {}", mib(resident(server)?), mib(pss(launcher)?));

    let mut api = site.api()?;
    api.command(&json!({ "command": "hold_queue" }))?;
    let queued = bench.count(100_000, 20_000);
    api.submit_many(&["true"], queued)?;
    drop(api);
    std::thread::sleep(Duration::from_secs(1));
    let full = pss(server)?;
    site.down()?;
    site.up()?;
    site.api()?.until("spares", Duration::from_millis(1), |state| state["slots"]["spares"] == 5)?;
    std::thread::sleep(Duration::from_secs(1));
    let loaded = pss(site.server()?)?;

    let row = |name: String, bytes: u64, limit: f64| {
        Row::new(name, mib(bytes)).at_most(bytes as f64, limit * MIB, format!("{limit} MiB PSS"))
    };
    Ok(vec![
        row("memory of the server, idle".to_owned(), idle, 15.0).beside(beside),
        row("memory of launcher, server, 5 spares".to_owned(), all, 28.0).beside(format!("{} processes", tree.len())),
        row(format!("memory of the server, {queued} queued"), full.max(loaded), 60.0).beside(format!(
            "{} after accepting them, {} after loading them",
            mib(full),
            mib(loaded)
        )),
    ])
}
