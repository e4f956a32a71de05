//! Failing writes and syncs. Every failure is either not stored or stored as a whole, nothing acknowledged is lost, and the
//! store goes on once it was opened again.

use crate::support::children::{Child, succeeds};
use crate::support::{Heard, Writing, loaded, memory_dir, model, options, script, skip};
use ouroboros_domain::change::Change;
use ouroboros_store::{CommitErrorKind, Options, open};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// One and a half lives of the script: every kind of change.
const LAST: u64 = 12;

fn check(dir: &Path, report: &crate::support::children::Report, context: &str) {
    assert!(report.ended, "{context}:\n{}", report.text);
    let rows = loaded(dir);
    assert_eq!(model::prefix_of(&rows, LAST, LAST), Some(LAST), "{context}");
    assert_eq!(loaded(dir), rows, "{context}: recovering twice differs from once");
}

#[test]
fn every_commit_can_fail_in_every_way() {
    for fault in ["error(full)", "error(io)", "visible_error"] {
        for hit in 1.. {
            let dir = memory_dir();
            let faults = format!("store.before_commit:{fault}:{hit}");
            let report = Child::new(dir.path(), LAST).env("OUROBOROS_TEST_FAILPOINT", &faults).run();
            check(dir.path(), &report, &faults);
            if report.failures == 0 {
                assert!(hit > 5, "the point was never passed");
                break;
            }
        }
    }
}

#[test]
fn opening_again_may_fail_and_be_repeated() {
    for point in ["store.before_epoch", "store.before_truncate"] {
        let dir = memory_dir();
        let faults = format!("store.before_commit:visible_error:7,{point}:error(io):1");
        let report = Child::new(dir.path(), LAST).env("OUROBOROS_TEST_FAILPOINT", &faults).run();
        assert!(report.text.contains("cannot reopen"), "{}", report.text);
        check(dir.path(), &report, &faults);
    }
}

/// Builds the library that makes system calls fail.
fn shim(dir: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store/faults.c");
    let library = dir.join("faults.so");
    let args: [&OsStr; 6] =
        ["-shared".as_ref(), "-fPIC".as_ref(), "-O1".as_ref(), "-o".as_ref(), library.as_ref(), source.as_ref()];
    if succeeds("cc", &args) {
        Some(library)
    } else {
        skip("no C compiler to build the library that makes system calls fail");
        None
    }
}

/// Lets the n-th call of one kind fail, for every n until no call is left to fail.
fn fail_each(kind: &str, errno: i32) {
    let tools = tempfile::tempdir().unwrap();
    let Some(shim) = shim(tools.path()) else { return };
    for nth in 1.. {
        let dir = memory_dir();
        let context = format!("{kind} number {nth} fails with {errno}");
        let report = Child::new(dir.path(), LAST)
            .env("LD_PRELOAD", &shim)
            .env("FAULT_KIND", kind)
            .env("FAULT_NTH", nth.to_string())
            .env("FAULT_ERRNO", errno.to_string())
            .env("FAULT_UNDER", dir.path())
            .run();
        check(dir.path(), &report, &context);
        if !report.text.contains("fault injected") {
            assert!(nth > 5, "{kind} was never called:\n{}", report.text);
            break;
        }
    }
}

#[test]
fn every_write_can_find_the_disk_full() {
    fail_each("write", 28);
}

#[test]
fn every_write_can_fail() {
    fail_each("write", 5);
}

#[test]
fn every_write_can_be_cut_short() {
    fail_each("short", 28);
}

#[test]
fn every_sync_can_fail() {
    fail_each("sync", 5);
}

#[test]
fn opening_again_after_a_failed_sync_may_meet_another_one() {
    let tools = tempfile::tempdir().unwrap();
    let Some(shim) = shim(tools.path()) else { return };
    for again in 1.. {
        let dir = memory_dir();
        let report = Child::new(dir.path(), LAST)
            .env("LD_PRELOAD", &shim)
            .env("FAULT_KIND", "sync")
            .env("FAULT_NTH", "6")
            .env("FAULT_ERRNO", "5")
            .env("FAULT_AGAIN", again.to_string())
            .env("FAULT_UNDER", dir.path())
            .run();
        assert!(report.failures > 0, "{}", report.text);
        check(dir.path(), &report, &format!("the sixth sync and the one {again} later fail"));
        if !report.text.contains("fault injected again") {
            assert!(again > 3, "{}", report.text);
            break;
        }
    }
}

/// Whether a file system of a given size can be mounted here; then the shell text that does it.
fn small_disk(kib: u32, dir: &Path) -> Option<String> {
    let mount = format!("mount -t tmpfs -o size={kib}k,mode=0700 tmpfs '{}'", dir.display());
    if succeeds("unshare", &["-Urm".as_ref(), "sh".as_ref(), "-c".as_ref(), mount.as_ref()]) {
        Some(format!("exec unshare -Urm sh -c '{} && exec \"$@\"' sh \"$@\"", mount.replace('\'', "'\\''")))
    } else {
        skip("no file system of a given size can be mounted here");
        None
    }
}

#[test]
fn a_disk_that_is_really_full_loses_nothing() {
    let dir = memory_dir();
    let Some(shell) = small_disk(512, dir.path()) else { return };
    let report = Child::under(&shell, dir.path(), 1).env("STORE_TEST_WORK", "fill").run();
    assert!(report.text.contains("filled, settled, and went on"), "{}", report.text);
}

/// Runs in a child, on a disk of 512 KiB: accept until it is full, settle with the reserve, free some room, go on.
pub fn fill(dir: &Path) {
    let opened = open(&Options { reserve_bytes: 128 << 10, ..options(dir) }).unwrap();
    assert!(opened.store.space().unwrap().reserved);
    std::fs::write(dir.join("ballast"), vec![1; 64 << 10]).unwrap();
    let writing = Writing::start(opened.store);
    let mut accepted = 0;
    let error = loop {
        let next = accepted + 1;
        writing.put(next, vec![script::added(script::task(next))]);
        match writing.hear() {
            Heard::Committed(_) => accepted = next,
            Heard::Failed(_, error) => break error,
        }
    };
    assert_eq!(error.kind, CommitErrorKind::DiskFull);
    assert!(!writing.handle.space().unwrap().reserved, "the reserve was given up");
    let rows = writing.handle.reopen().unwrap();
    assert!(rows.live.tasks.len() as u64 >= accepted, "nothing accepted is lost");
    let settled = ouroboros_domain::row::TaskState::Settled {
        outcome: ouroboros_proto::kind::Outcome::Completed,
        at: ouroboros_proto::kind::UtcMicros::new(1),
    };
    let known = rows.live.tasks.len();
    for (index, row) in rows.live.tasks.into_iter().take(20).enumerate() {
        let decision = 10_000 + index as u64;
        writing.put(
            decision,
            vec![Change::Task(Box::new(ouroboros_domain::row::TaskRow { state: settled.clone(), ..row }))],
        );
        assert_eq!(writing.hear(), Heard::Committed(decision), "settling goes on in the room of the reserve");
    }
    std::fs::remove_file(dir.join("ballast")).unwrap();
    let last = 20_000;
    writing.put(last, vec![script::added(script::task(last))]);
    assert_eq!(writing.hear(), Heard::Committed(last));
    writing.handle.close();
    assert_eq!(loaded(dir).live.tasks.len(), known - 20 + 1);
    println!("filled, settled, and went on");
}
