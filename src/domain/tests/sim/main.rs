//! The core in a world that goes wrong: fake workers, a fake disk, a fake process table and fake clocks, driven by a seed.
//!
//! A run is a pure function of its seed. A violation prints the seed, the last events and how to run it again:
//! `OUROBOROS_SIM_SEED=7 cargo test -p ouroboros-domain --test sim`. `OUROBOROS_SIM_SEEDS` sets how many seeds are run,
//! `OUROBOROS_SIM_TRACE` how many lines are shown.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says what is wrong by panicking"
)]

mod asker;
mod client;
mod custody;
mod disk;
mod effects;
mod fault;
mod folders;
mod gateway;
mod image;
mod ledger;
mod oracle;
mod os;
mod profile;
mod provider;
mod rng;
mod run;
mod server;
mod spender;
mod storm;
mod truth;
mod work;
mod worker;
mod world;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

const SEEDS: u64 = 10_000;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

/// Runs one seed; a violation is run again to be told.
fn check(seed: u64) -> BTreeMap<&'static str, u64> {
    match run::run(seed, false) {
        Ok(marks) => marks,
        Err(_) => {
            let (what, trace) = run::run(seed, true).err().unwrap_or_default();
            panic!(
                "{}\nseed {seed}: {what}\nagain: OUROBOROS_SIM_SEED={seed} cargo test -p ouroboros-domain --test sim",
                trace.join("\n")
            );
        }
    }
}

#[test]
fn no_seed_breaks_a_law() {
    if let Some(seed) = number("OUROBOROS_SIM_SEED") {
        check(seed);
        return;
    }
    let seeds = number("OUROBOROS_SIM_SEEDS").unwrap_or(SEEDS);
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(8));
    let mut marks: BTreeMap<&'static str, u64> = BTreeMap::new();
    std::thread::scope(|scope| {
        let work = || {
            let mut marks: BTreeMap<&'static str, u64> = BTreeMap::new();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= seeds {
                    return marks;
                }
                for (what, times) in check(seed) {
                    *marks.entry(what).or_default() += times;
                }
            }
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for thread in running {
            match thread.join() {
                Ok(found) => found.into_iter().for_each(|(what, times)| *marks.entry(what).or_default() += times),
                Err(violation) => {
                    next.store(seeds, Ordering::Relaxed);
                    std::panic::resume_unwind(violation);
                }
            }
        }
    });
    for (what, times) in &marks {
        println!("{times:>9} {what}");
    }
    let missing: Vec<_> = SITUATIONS.iter().filter(|what| !marks.contains_key(**what)).collect();
    assert!(seeds < SEEDS || missing.is_empty(), "situations that no seed reached: {missing:?}");
}

/// What the seeds together must reach; otherwise the simulator has gone blind.
const SITUATIONS: &[&str] = &[
    "argv ran again",
    "commit error, lost",
    "commit error, visible",
    "admission: admitted",
    "admission: ending",
    "admission: paused, hour",
    "admission: paused, task",
    "admission: paused, total",
    "admission: paused, tree",
    "admission: waits for a model",
    "admission: waits for the hour",
    "grant used up",
    "grant void",
    "bounded by tokens",
    "late receipt",
    "not retried",
    "sent for nothing",
    "refused: nothing left",
    "refused: not paused",
    "refused: parent not live",
    "refused: still pausing",
    "reservation waited",
    "send dispatched",
    "send released",
    "send settled",
    "send unresolved",
    "settled after its attempt",
    "told again",
    "withdrawn",
    "duplicate key",
    "message",
    "message again",
    "event: message taken",
    "refused: not in words",
    "refused: not listening",
    "event: pool degraded",
    "event: pool recovered",
    "event: wedged",
    "kept ending shown",
    "key conflict",
    "killed after a commit error",
    "killed between commit and effects",
    "event: request answered",
    "event: request closed",
    "event: request opened",
    "owner: answer heard",
    "owner: answered",
    "owner: expiry heard",
    "owner: not heard",
    "owner: slot lent",
    "owner: told again",
    "owner: withdrawal heard",
    "refused: request closed",
    "refused: unknown rule",
    "outcome: cancelled",
    "outcome: completed",
    "outcome: dependency",
    "outcome: failed",
    "outcome: interrupted",
    "outcome: quarantined",
    "panic",
    "power lost",
    "reap: stranger",
    "reap: survives",
    "refused: has dependents",
    "refused: queue full",
    "refused: stopping",
    "requeue: continued",
    "requeue: never ran",
    "requeue: parked",
    "requeue: rerun",
    "requeue: retry",
    "requeue: worker crashed",
    "restarted",
    "runs alone",
    "stop ignored",
    "stopped",
    "waits for a folder",
    "worker outlives its server",
];
