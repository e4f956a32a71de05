//! The workload that children run; not a test of its own.
//!
//! It opens the store, checks that what is in it is some prefix of the script, and goes on from there to the last decision.
//! After a failed commit it opens the store again, as a server does, checks again, and goes on from what it finds.

use crate::support::{Heard, Writing, model, options};
use ouroboros_store::open;
use std::io::Write as _;
use std::path::PathBuf;

fn say(text: std::fmt::Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").unwrap();
    out.flush().unwrap();
}

#[test]
#[ignore = "run by other tests, in a process of its own"]
fn workload() {
    let Some(dir) = std::env::var_os("STORE_TEST_DIR").map(PathBuf::from) else { return };
    match std::env::var("STORE_TEST_WORK").as_deref() {
        Ok("fill") => return crate::faults::fill(&dir),
        Ok("refused") => return crate::refusals::say_why(&dir),
        _ => {}
    }
    let last: u64 = std::env::var("STORE_TEST_LAST").unwrap().parse().unwrap();
    let retries: u32 = std::env::var("STORE_TEST_RETRIES").map_or(3, |text| text.parse().unwrap());
    say(format_args!(""));
    // A first open may fail as well, and leaves nothing half done.
    let mut opened = open(&options(&dir));
    for _ in 0..retries {
        if opened.is_err() {
            opened = open(&options(&dir));
        }
    }
    let opened = opened.unwrap();
    let mut done = model::prefix_of(&opened.loaded, 0, last).expect("what is stored is a prefix of the script");
    let writing = Writing::start(opened.store);
    let (mut failures, mut acknowledged) = (0_u64, done);
    let mut sent = done;
    while acknowledged < last {
        // One at a time, and now and then several, so that groups are cut too.
        let burst = if acknowledged % 5 == 4 { 4 } else { 1 };
        while sent < last && sent < acknowledged + burst {
            sent += 1;
            writing.send(sent);
        }
        match writing.hear() {
            Heard::Committed(up_to) => {
                acknowledged = up_to;
                say(format_args!("acknowledged {up_to}"));
            }
            Heard::Failed(from, error) => {
                failures += 1;
                say(format_args!("failures {failures}"));
                say(format_args!("failed from {from}: {error}"));
                assert!(from > acknowledged, "an acknowledged decision is not in doubt");
                let mut rows = writing.handle.reopen();
                for _ in 0..retries {
                    if let Err(error) = &rows {
                        say(format_args!("cannot reopen: {error}"));
                        rows = writing.handle.reopen();
                    }
                }
                done = model::prefix_of(&rows.unwrap(), acknowledged, sent).expect("what is stored is a prefix");
                say(format_args!("acknowledged {done}"));
                (acknowledged, sent) = (done, done);
            }
        }
    }
    writing.handle.close();
    say(format_args!("ended"));
}
