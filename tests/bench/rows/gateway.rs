//! What the gateway adds to calls of models: time to a call, time to a piece, and what it takes of the rate.

use crate::bare::Bare;
use crate::caller::{Callers, Heard, Round, STAMP};
use crate::disk;
use crate::models;
use crate::run::Bench;
use crate::sample::{Samples, ms, per_second};
use crate::table::Row;
use tokio::runtime::Runtime;

const ONE: Round = Round { calls: 1, at_once: 1 };
/// Streams at once.
const STREAMS: usize = 64;
/// Workers that share them.
const WORKERS: usize = 4;
/// Pieces of an answer.
const PIECES: usize = 200;

/// One call after the other, with the money of each set aside and settled; and the pieces of slow answers.
pub fn calls(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let answer = |pieces: usize, gap: u64| {
        format!("[[rule]]\nrepeat = '{STAMP} '\nrepeat_times = {pieces}\nstamp = '{STAMP}'\ngap_ms = {gap}\n")
    };
    let provider = models::provider(&answer(20, 0));
    let (_site, mut callers) = models::callers(bench, &provider, 1, models::UNBOUND, &models::question())?;
    callers.answered(ONE)?;
    let bare = Bare::repeating(&provider)?;
    let (ours, floor, sync) = in_turn(bench, &mut callers, &bare, bench.count(1_000, 200))?;
    // The log that commits go to has its size already: where appending is slow, the bar says little and this says more.
    let over = disk::overwrite_and_sync(bench.count(500, 100))?;
    let added = ours.times().p50() - floor.times().p50();
    let limit = 0.8 + 2.0 * sync.p50();
    let before = ours.starts().p50() - floor.starts().p50();
    let (bare_call, our_call) = (ms(floor.times().p50()), ms(ours.times().p50()));
    let call = Row::new(
        "a streamed call through the gateway, added, p50",
        format!("{}, {} of it before the answer", ms(added), ms(before)),
    )
    .beside(format!(
        "{bare_call} bare, {our_call} ours; S {}: bar {}; overwrite {}",
        ms(sync.p50()),
        ms(limit),
        ms(over.p50())
    ))
    .at_most(added, limit, "0.8 ms + 2 S");

    provider.script(&models::script(&answer(PIECES, 2)));
    let (ours, floor, _) = in_turn(bench, &mut callers, &bare, bench.count(20, 6))?;
    let (ours, floor) = (ours.lags(), floor.lags());
    let added = ours.p50() - floor.p50();
    let piece = Row::new("a piece of an answer, provider to worker, added, p50", ms(added))
        .beside(format!("bare {}; ours {}", floor.shown(), ours.shown()))
        .at_most(added, 0.3, "0.3 ms");
    Ok(vec![call, piece])
}

/// Ours, bare, and the disk, one after the other in ten parts: what else the machine does meets all of them.
fn in_turn(bench: &Bench, callers: &mut Callers, bare: &Bare, calls: usize) -> anyhow::Result<(Heard, Heard, Samples)> {
    let (mut ours, mut floor, mut sync) = (Heard::default(), Heard::default(), Samples::default());
    let parts = 10.min(calls);
    let round = Round { calls: calls / parts, at_once: 1 };
    bare.answered(&bench.runtime, round)?;
    for _ in 0..parts {
        ours.merge(callers.answered(round)?);
        floor.merge(bare.answered(&bench.runtime, round)?);
        sync.merge(&bench.syncs(30)?);
    }
    Ok((ours, floor, sync))
}

/// Many streams at once.
pub fn streams(bench: &Bench) -> anyhow::Result<Vec<Row>> {
    let provider = models::provider("");
    let (_site, mut callers) = models::callers(bench, &provider, WORKERS as u32, models::UNBOUND, &models::question())?;
    callers.answered(ONE)?;
    let bare = Bare::repeating(&provider)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut row = |name: &str, gap: u64, each: usize| -> anyhow::Result<Row> {
        provider.script(&models::script(&format!(
            "[[rule]]\nrepeat = 'word after word '\nrepeat_times = {PIECES}\ngap_ms = {gap}\n"
        )));
        let (ours, floor) = side_by_side(&mut callers, &bare, &runtime, each)?;
        let ratio = ours / floor;
        Ok(Row::new(format!("{STREAMS} streams of {PIECES} pieces at once, {name}"), per_second(ours))
            .against(format!("{} bare", per_second(floor)), ratio)
            .at_least(ratio, 0.8, "80 % of bare"))
    };
    Ok(vec![row("a piece every 20 ms", 20, bench.count(4, 1))?, row("as fast as they come", 0, bench.count(20, 5))?])
}

/// The rate of calls, ours and bare, each the middle of three.
fn side_by_side(callers: &mut Callers, bare: &Bare, runtime: &Runtime, each: usize) -> anyhow::Result<(f64, f64)> {
    let ours = Round { calls: each * STREAMS / WORKERS, at_once: STREAMS / WORKERS };
    let floor = Round { calls: each * STREAMS, at_once: STREAMS };
    let (mut rates, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        rates.push(callers.answered(ours)?.rate());
        floors.push(bare.answered(runtime, floor)?.rate());
    }
    Ok((middle(rates), middle(floors)))
}

fn middle(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(f64::NAN)
}
