//! Workers that all die at once: the pool pauses, says so, and comes back by itself.

use crate::profile::Profile;
use crate::server::Message;
use crate::world::World;
use ouroboros_domain::{Input, Limits, Settings};
use ouroboros_proto::kind::Millis;

const SECOND: u64 = 1_000_000;
const FIRST_PAUSE: u64 = 100_000;
const LONGEST_PAUSE: u64 = 30 * SECOND;
/// Workers started together before the first of them died, and those started again without a pause.
const BURST: usize = 4;

/// A world in which nothing goes wrong but the start of workers.
fn world(seed: u64, tasks: usize) -> World {
    let mut world = World::new(seed, false);
    world.profile = Profile { stack: 1_024, fault_every: u64::MAX, ..Profile::default() };
    world.calm = true;
    run_until(&mut world, 10_000);
    let settings = Settings {
        slots: 2,
        spares: 1,
        max_tasks: 100,
        cancel_grace: Millis::seconds(1),
        ready_bound: Millis::seconds(5),
        limits: Limits::default(),
        request_timeout: None,
    };
    world.send(10, Message::Input(Input::Configure(settings)));
    run_until(&mut world, 3 * SECOND);
    world.profile.dies_at_start = 100;
    world.spawned.clear();
    for _ in 0..tasks {
        world.submit_plain();
    }
    // The spares that stood ready die too.
    let ready: Vec<_> = world.workers.keys().copied().collect();
    for key in ready {
        let exit = world.some_exit();
        world.die(key, exit);
    }
    world
}

fn run_until(world: &mut World, elapsed: u64) {
    while world.elapsed < elapsed && world.failure.is_none() {
        if !world.advance_within(elapsed) {
            break;
        }
    }
    assert_eq!(world.failure, None);
}

fn ten_minutes(world: &mut World) {
    let begun = world.elapsed;
    run_until(world, begun + 600 * SECOND);
    let degraded = world.health.first().copied();
    assert!(degraded.is_some_and(|(at, well)| !well && at - begun < 5 * SECOND), "degraded in time: {degraded:?}");
    assert_eq!(world.health.len(), 1, "said once: {:?}", world.health);
    let probes: Vec<u64> = world.spawned.windows(2).map(|pair| pair[1] - pair[0]).skip(BURST).collect();
    assert!(probes.len() > 20, "the pauses never become a stop: {probes:?}");
    for (at, gap) in probes.iter().enumerate() {
        let pause = FIRST_PAUSE.checked_shl(u32::try_from(at).unwrap()).unwrap_or(u64::MAX).min(LONGEST_PAUSE);
        assert!(*gap >= pause / 5 * 4, "start {at} came after {gap}, not {pause}: {probes:?}");
    }
    world.profile.dies_at_start = 0;
}

#[test]
fn a_storm_is_met_with_pauses_and_work_ends_it() {
    for seed in 0..20 {
        let mut world = world(seed, 5);
        ten_minutes(&mut world);
        let begun = world.elapsed;
        run_until(&mut world, begun + 120 * SECOND);
        let recovered = world.health.last().copied();
        assert!(recovered.is_some_and(|(at, well)| well && at - begun < 45 * SECOND), "{:?}", world.health);
        assert!(world.disk.written.tasks.values().all(crate::image::is_settled));
    }
}

#[test]
fn a_storm_ends_without_work_too() {
    for seed in 0..20 {
        let mut world = world(seed, 0);
        ten_minutes(&mut world);
        let begun = world.elapsed;
        run_until(&mut world, begun + 120 * SECOND);
        let recovered = world.health.last().copied();
        assert!(recovered.is_some_and(|(at, well)| well && at - begun < 45 * SECOND), "{:?}", world.health);
    }
}
