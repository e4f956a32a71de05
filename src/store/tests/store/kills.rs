//! SIGKILL at the named points: what was acknowledged is there, what is there is a prefix, and looking twice changes nothing.

use crate::support::children::Child;
use crate::support::{loaded, memory_dir, model, opened};
use std::path::Path;

/// Checks what a dead child left, and that another can finish its work.
fn check_and_finish(dir: &Path, acknowledged: u64, last: u64, context: &str) {
    let rows = loaded(dir);
    let stored = model::prefix_of(&rows, acknowledged, last)
        .unwrap_or_else(|| panic!("{context}: what is stored is no prefix from {acknowledged} on"));
    assert_eq!(loaded(dir), rows, "{context}: recovering twice differs from once");
    let spent = opened(dir).store.reader().spent_check().unwrap().expect("nothing is written meanwhile");
    assert_eq!(spent.rows, spent.kept, "{context}: the kept sum is not that of the rows");
    let report = Child::new(dir, last).run();
    assert!(report.ended, "{context}: after {stored} decisions the next life cannot go on:\n{}", report.text);
    assert_eq!(model::prefix_of(&loaded(dir), last, last), Some(last), "{context}");
}

fn kill_at(point: &str, hits: impl IntoIterator<Item = u64>, last: u64) {
    let mut deaths = 0;
    for hit in hits {
        let dir = memory_dir();
        let report = Child::new(dir.path(), last).env("OUROBOROS_TEST_FAILPOINT", format!("{point}:abort:{hit}")).run();
        if report.ended {
            break;
        }
        assert!(!report.text.contains("panicked"), "{}", report.text);
        deaths += 1;
        check_and_finish(dir.path(), report.acknowledged, last, &format!("{point} hit {hit}"));
    }
    assert!(deaths > 0, "{point} was never passed");
}

#[test]
fn killed_before_a_commit() {
    kill_at("store.before_commit", 1..40, 40);
}

#[test]
fn killed_after_a_commit_before_it_was_told() {
    kill_at("store.after_commit", 1..40, 40);
}

#[test]
fn killed_before_a_checkpoint() {
    kill_at("store.before_checkpoint", [1, 2], 600);
}

#[test]
fn killed_after_a_checkpoint() {
    kill_at("store.after_checkpoint", [1, 2], 600);
}

#[test]
fn killed_before_loading() {
    kill_at("store.before_load", [1], 20);
}

#[test]
fn killed_while_the_store_is_opened_again() {
    for point in ["store.before_epoch", "store.before_truncate", "store.before_load"] {
        for failure in ["error(io)", "visible_error"] {
            let dir = memory_dir();
            let hit = if point == "store.before_load" { 2 } else { 1 };
            let faults = format!("store.before_commit:{failure}:7,{point}:abort:{hit}");
            let report = Child::new(dir.path(), 20).env("OUROBOROS_TEST_FAILPOINT", &faults).run();
            assert!(!report.ended, "{faults}:\n{}", report.text);
            assert_eq!(report.failures, 1, "{}", report.text);
            check_and_finish(dir.path(), report.acknowledged, 20, &faults);
        }
    }
}
