//! Copies of the whole, taken and put back.

use crate::support::model::Model;
use crate::support::{Heard, LONG, Writing, loaded, opened, options, script};
use ouroboros_proto::kind::HoldReason;
use ouroboros_store::backup::BackupError;
use ouroboros_store::{LoadedRows, OpenError, open, restore, verify};
use std::fs;
use std::path::Path;

fn held(last: u64) -> LoadedRows {
    let mut rows = Model::after(last).rows();
    rows.live.queue_hold = Some(HoldReason::Restore);
    rows
}

#[test]
fn a_copy_is_taken_while_commits_go_on_and_is_a_prefix() {
    let dir = tempfile::tempdir().unwrap();
    let (home, copy) = (dir.path().join("home"), dir.path().join("copies/copy.db"));
    let writing = Writing::start(opened(&home).store);
    (1..=200).for_each(|decision| writing.commit(decision));
    let done = writing.handle.backup(&copy);
    (201..=260).for_each(|decision| writing.send(decision));
    done.recv_timeout(LONG).unwrap().unwrap();
    while writing.hear() != Heard::Committed(260) {}
    let again = writing.handle.backup(&copy).recv_timeout(LONG).unwrap();
    assert!(matches!(again, Err(BackupError::Exists(_))), "{again:?}");
    writing.handle.close();

    let other = dir.path().join("other");
    assert_eq!(restore(&copy, &other).unwrap().replaced, None);
    let opened = open(&options(&other)).unwrap();
    assert!(opened.copied, "a copy in another place is another installation");
    let mut rows = opened.loaded;
    assert_eq!(rows.live.queue_hold, Some(HoldReason::Restore));
    // The hold is the restore's; everything else is some prefix.
    let holds = [None, Some(HoldReason::Owner)];
    let prefix = holds.into_iter().find_map(|hold| {
        rows.live.queue_hold = hold;
        crate::support::model::prefix_of(&rows, 200, 260)
    });
    assert!(prefix.is_some());
}

#[test]
fn restoring_keeps_what_was_there_and_holds_the_queue() {
    let dir = tempfile::tempdir().unwrap();
    let (home, copy) = (dir.path().join("home"), dir.path().join("copy.db"));
    let writing = Writing::start(opened(&home).store);
    (1..=20).for_each(|decision| writing.commit(decision));
    writing.handle.backup(&copy).recv_timeout(LONG).unwrap().unwrap();
    (21..=60).for_each(|decision| writing.commit(decision));
    writing.handle.close();
    let kept = restore(&copy, &home).unwrap().replaced.unwrap();
    let opened = open(&options(&home)).unwrap();
    assert!(!opened.copied);
    assert_eq!(opened.loaded, held(20));
    drop(opened);
    // And back again.
    restore(&kept, &home).unwrap();
    assert_eq!(loaded(&home), held(60));
}

#[test]
fn a_damaged_database_is_replaced_as_well_and_its_files_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (home, copy) = (dir.path().join("home"), dir.path().join("copy.db"));
    let writing = Writing::start(opened(&home).store);
    (1..=20).for_each(|decision| writing.commit(decision));
    writing.handle.backup(&copy).recv_timeout(LONG).unwrap().unwrap();
    writing.handle.close();
    let database = home.join("store.db");
    for damage in [(0, 100), (512, usize::MAX)] {
        let mut bytes = fs::read(&database).unwrap();
        let end = damage.1.min(bytes.len());
        bytes[damage.0..end].fill(0xee);
        fs::write(&database, &bytes).unwrap();
        let kept = restore(&copy, &home).unwrap().replaced.unwrap();
        assert!(fs::metadata(kept).unwrap().len() > 0);
        assert_eq!(loaded(&home), held(20));
        assert!(verify(&home).unwrap().is_empty());
    }
}

#[test]
fn what_is_no_good_copy_is_refused_and_nothing_is_changed() {
    let dir = tempfile::tempdir().unwrap();
    let (home, copy) = (dir.path().join("home"), dir.path().join("copy.db"));
    let writing = Writing::start(opened(&home).store);
    (1..=20).for_each(|decision| writing.commit(decision));
    writing.handle.backup(&copy).recv_timeout(LONG).unwrap().unwrap();
    writing.handle.close();
    let good = fs::read(&copy).unwrap();
    let try_with = |change: &dyn Fn(&Path)| {
        fs::write(&copy, &good).unwrap();
        change(&copy);
        let error = restore(&copy, &home).unwrap_err();
        assert_eq!(loaded(&home), Model::after(20).rows());
        error
    };
    let set = |path: &Path, name: &str, value: i64| {
        rusqlite::Connection::open(path).unwrap().pragma_update(None, name, value).unwrap();
    };
    assert!(matches!(try_with(&|path| set(path, "user_version", 50)), OpenError::Newer { found: 50, .. }));
    assert!(matches!(try_with(&|path| set(path, "application_id", 1)), OpenError::NotOurs { .. }));
    assert!(matches!(try_with(&|path| fs::write(path, "no database").unwrap()), OpenError::Corrupt { .. }));
    assert!(matches!(try_with(&|path| fs::remove_file(path).unwrap()), OpenError::Io { .. }));
    let cut = try_with(&|path| fs::write(path, &good[..good.len() / 2]).unwrap());
    assert!(matches!(cut, OpenError::Corrupt { .. }), "{cut:?}");
}

#[test]
fn an_export_holds_every_task_attempt_and_event_once() {
    let dir = tempfile::tempdir().unwrap();
    let opened = opened(dir.path());
    let reader = opened.store.reader();
    let writing = Writing::start(opened.store);
    (1..=40).for_each(|decision| writing.commit(decision));
    let mut lines = Vec::new();
    ouroboros_store::export::export(&reader, &mut lines).unwrap();
    let lines: Vec<serde_json::Value> =
        String::from_utf8(lines).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).collect::<Vec<_>>();
    assert_eq!(lines[0]["type"], "export");
    assert_eq!((of("task").len(), of("attempt").len(), of("event").len()), (9, 5, 34));
    let first = of("task").into_iter().find(|line| line["number"] == 1).unwrap();
    assert_eq!(first["id"], script::task_id(1).to_string());
    assert_eq!(first["spec"]["argv"][0], "true");
    assert_eq!(first["outcome"], "completed");
}
