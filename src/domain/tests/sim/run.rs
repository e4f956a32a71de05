//! One run: a time of faults, then calm, in which everything must come to its end.

use crate::image::is_settled;
use crate::worker::Life;
use crate::world::World;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What was reached, or what was violated with the events before it.
pub type Verdict = Result<BTreeMap<&'static str, u64>, (String, Vec<String>)>;

const CALM_STEPS: u64 = 20_000;

pub fn run(seed: u64, traced: bool) -> Verdict {
    let mut world = World::new(seed, traced);
    let outcome = catch_unwind(AssertUnwindSafe(|| live(&mut world)));
    let crashed = outcome.is_err().then(|| "the core panicked".to_owned());
    match world.failure.take().or(crashed) {
        None => Ok(world.marks),
        Some(what) => Err((what, world.trace.into_iter().collect())),
    }
}

fn live(world: &mut World) {
    let steps = 90 + world.rng.below(140);
    while world.steps < steps && world.failure.is_none() && world.advance() {}
    calm(world);
    if world.failure.is_none() {
        end(world);
    }
}

/// Faults are over: every task settles, within a bounded number of events.
fn calm(world: &mut World) {
    world.log(|| "calm".to_owned());
    world.settle_down();
    let mut last_life = None;
    let begun = world.steps;
    while world.failure.is_none() {
        let life = world.life();
        if life.is_some() && life != last_life {
            last_life = life;
            world.release_everything();
        }
        let ending = world.server.as_ref().is_some_and(|server| server.ending);
        let open: Vec<_> = world.disk.written.tasks.values().filter(|row| !is_settled(row)).cloned().collect();
        let attempts = world.disk.written.attempts.values().filter(|row| row.ended_at.is_none()).count();
        let quiet = world.disk.queue.is_empty() && world.client.pending.is_empty() && attempts == 0;
        let quiet = quiet && !world.calls_under_way();
        let quiet = quiet && world.disk.written.sends.values().all(|row| !row.state.is_open());
        if open.is_empty() && quiet && life.is_some() && !ending {
            return world.compare();
        }
        let asked = world.steps.is_multiple_of(40) && world.resume_everything();
        let answered = world.steps.is_multiple_of(40) && world.answer_everything();
        let moved = world.advance() || asked || answered || world.resume_everything() || world.answer_everything();
        let spent = world.steps - begun;
        if !moved || spent >= CALM_STEPS {
            let server = world.server.as_ref();
            let why: Vec<_> = open.iter().map(|row| server.map(|server| server.core.obstacles(row.id))).collect();
            let pool = server.map(|server| (server.core.pool(), server.core.settings()));
            let sends: Vec<_> = world
                .disk
                .written
                .sends
                .values()
                .filter(|row| row.state.is_open())
                .map(|row| (row.id, row.state))
                .collect();
            let left = (world.disk.queue.len(), world.client.pending.len(), attempts, world.calls_under_way(), sends);
            world.fail(format!(
                "tasks do not settle: {why:?}; {pool:?}; events left: {moved}; commits, requests, attempts, calls, sends: {left:?}; {open:?}"
            ));
        }
    }
}

/// A clean stop leaves nothing.
fn end(world: &mut World) {
    world.shut_down(false, false);
    let life = world.life();
    let begun = world.steps;
    while world.failure.is_none() && world.life() == life {
        let moved = world.advance();
        let spent = world.steps - begun;
        world.check(moved && spent < CALM_STEPS, || "the server does not stop".to_owned());
    }
    world.check_recovery();
    world.check_sends();
    let written = &world.disk.written;
    let open = written.attempts.values().filter(|row| row.ended_at.is_none()).count();
    let current = written.generation;
    let recorded = written.processes.values().filter(|row| row.generation == current).count();
    let alive: Vec<_> = world.workers.values().filter(|worker| worker.life == Life::Alive).map(|it| it.key).collect();
    world.check(open == 0 && recorded == 0, || format!("{open} attempts and {recorded} processes left in the ledger"));
    let strays: Vec<_> = alive.iter().filter(|key| key.0 == current).collect();
    world.check(strays.is_empty(), || format!("workers {strays:?} live after a clean stop"));
}
