//! Times, printed and never judged: `cargo test --release -p ouroboros-worker --test sandbox -- --ignored --nocapture measure`.

use crate::desk::{Desk, WAYS};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use ouroboros_proto::agent::Profile;
use ouroboros_proto::kind::clock;

const SAMPLES: usize = 200;

#[test]
#[ignore = "prints times; run by hand on a quiet machine"]
fn measure() {
    for way in WAYS {
        for profile in [Profile::Full, Profile::Workspace] {
            let Some(mut desk) = Desk::new(way) else { continue };
            desk.wanted.profile = profile;
            desk.wanted.hidden.truncate(1);
            let before = used();
            let mut micros: Vec<u64> = (0..SAMPLES)
                .map(|_| {
                    let start = clock::boot().get();
                    desk.run(&["/bin/true"]).text();
                    clock::boot().get() - start
                })
                .collect();
            micros.sort_unstable();
            let each = (used() - before) / SAMPLES as i64;
            let (half, most) = (micros[SAMPLES / 2], micros[SAMPLES * 9 / 10]);
            let least = micros[0];
            println!("{way:?} {profile:?}: least {least} us, p50 {half} us, p90 {most} us, of the processor {each} us");
        }
    }
}

/// Microseconds of the processor that everything reaped has used.
fn used() -> i64 {
    let used = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    used.user_time().num_microseconds() + used.system_time().num_microseconds()
}
