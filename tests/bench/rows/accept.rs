//! Accepting tasks. The queue is held, so that nothing but accepting happens.

use crate::api::{Api, Connection, task, tasks};
use crate::peer::Peer;
use crate::process;
use crate::run::Bench;
use crate::sample::{Samples, kib, micros, ms, per_second, seconds_since};
use crate::site::Site;
use crate::table::Row;
use bytes::Bytes;
use hyper::Method;
use serde_json::json;
use std::path::Path;

const CLIENTS: usize = 64;
const TURNS: usize = 10;

pub fn measure(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let mut site = Site::new(bench, 2, 1)?;
    site.up()?;
    let mut api = site.api()?;
    api.command(&json!({ "command": "hold_queue" }))?;
    let server = site.server()?;
    let count = bench.count(2_000, 300);
    one(&mut api, count / 10)?;

    let bare = Peer::start(bench, "bare")?;
    let mut bare_api = Api::open(&bench.runtime, &bare.socket())?;
    one(&mut bare_api, count / 10)?;
    // In turn, because the disk's speed moves.
    let (mut accept, mut trip, mut sync, mut written) = (Samples::default(), Samples::default(), Samples::default(), 0);
    for _ in 0..TURNS {
        sync.merge(&bench.syncs(count / TURNS / 2)?);
        let before = process::written(server)?;
        accept.merge(&one(&mut api, count / TURNS)?);
        written += process::written(server)?.saturating_sub(before);
        trip.merge(&one(&mut bare_api, count / TURNS)?);
    }
    drop((bare_api, bare));
    let written = written as f64 / accept.count() as f64;
    let limit = 2.0 * sync.p50() + 3.0 * trip.p50();
    let floor = format!("2 × {} (S) + 3 × {} (bare warp) = {}", ms(sync.p50()), ms(trip.p50()), ms(limit));
    let mut rows = vec![Row::new("accept, one client", accept.shown()).against(floor, accept.p50() / limit).at_most(
        accept.p50(),
        limit,
        "2 S + 3 warp round trips",
    )];

    let many = bench.count(20_000, 3_000);
    let commit = Peer::start(bench, "commit")?;
    crowd(bench, &commit.socket(), many / 10)?;
    let before = process::written(server)?;
    let (mut ours, mut peer, mut accepted) = (Vec::new(), Vec::new(), 0);
    for _ in 0..3 {
        let (rate, count) = crowd(bench, &site.socket(), many)?;
        ours.push(rate);
        accepted += count;
        peer.push(crowd(bench, &commit.socket(), many)?.0);
    }
    let written_crowd = process::written(server)?.saturating_sub(before) as f64 / accepted as f64;
    drop(commit);
    let (ours, peer) = (middle(ours), middle(peer));
    rows.push(
        Row::new("accepts a second, 64 clients", per_second(ours))
            .against(format!("{} warp + group commit", per_second(peer)), ours / peer)
            .at_least(ours / peer, 0.4, "40 % of it"),
    );

    rows.extend(deep(bench)?);
    rows.push(Row::new("bytes written per accept, 1 client", kib(written)).at_most(written, 32.0 * 1024.0, "32 KiB"));
    rows.push(Row::new("bytes written per accept, 64 clients", kib(written_crowd)).at_most(
        written_crowd,
        14.0 * 1024.0,
        "14 KiB",
    ));
    Ok(rows)
}

/// Bulk accepting, and accepting on top of what it left, in turn with accepting into an empty queue.
fn deep(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let (mut full_site, mut empty_site) = (Site::new(bench, 2, 1)?, Site::new(bench, 2, 1)?);
    full_site.up()?;
    empty_site.up()?;
    let (mut full_api, mut empty_api) = (full_site.api()?, empty_site.api()?);
    for api in [&mut full_api, &mut empty_api] {
        api.command(&json!({ "command": "hold_queue" }))?;
    }
    let pending = bench.count(100_000, 20_000);
    let body = tasks(&["true"], 1_000);
    let start = micros();
    for _ in 0..pending / 1_000 {
        full_api.post("/api/tasks", body.clone())?;
    }
    let rate = pending as f64 / seconds_since(start);
    let each = bench.count(1_000, 200) / TURNS;
    one(&mut empty_api, each)?;
    let (mut full, mut empty) = (Samples::default(), Samples::default());
    for _ in 0..TURNS {
        empty.merge(&one(&mut empty_api, each)?);
        full.merge(&one(&mut full_api, each)?);
    }
    let ratio = full.p50() / empty.p50();
    let named = if bench.quick { "20,000 (quick)" } else { "100,000" };
    Ok(vec![
        Row::new("accepts a second, bulk of 1,000, one client", per_second(rate)).at_least(rate, 50_000.0, "50,000/s"),
        Row::new(format!("accept at {named} pending ÷ at 0"), ms(full.p50()))
            .against(format!("{} at 0", ms(empty.p50())), ratio)
            .at_most(ratio, 1.2, "1.2"),
    ])
}

/// One after the other on one connection.
fn one(api: &mut Api<'_>, count: usize) -> anyhow::Result<Samples> {
    let body = Bytes::from(task(&["true"]).to_string());
    let mut samples = Samples::default();
    for _ in 0..count {
        let start = micros();
        api.post("/api/tasks", body.clone())?;
        samples.since(start);
    }
    Ok(samples)
}

fn middle(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// As many as 64 connections can, each one after the other. Accepts a second, and how many there were.
fn crowd(bench: &Bench, socket: &Path, count: usize) -> anyhow::Result<(f64, usize)> {
    let body = Bytes::from(task(&["true"]).to_string());
    let each = count / CLIENTS;
    bench.runtime.block_on(async {
        let mut connections = Vec::new();
        for _ in 0..CLIENTS {
            connections.push(Connection::open(socket).await?);
        }
        let start = micros();
        let clients: Vec<_> = connections
            .into_iter()
            .map(|mut connection| {
                let body = body.clone();
                tokio::spawn(async move {
                    for _ in 0..each {
                        connection.request(Method::POST, "/api/tasks", body.clone()).await?;
                    }
                    anyhow::Ok(())
                })
            })
            .collect();
        for client in clients {
            client.await??;
        }
        Ok(((each * CLIENTS) as f64 / seconds_since(start), each * CLIENTS))
    })
}
