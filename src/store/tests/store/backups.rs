//! Copies of the whole, taken and put back.

use crate::support::model::Model;
use crate::support::{Heard, LONG, Writing, loaded, opened, options, script};
use ouroboros_proto::kind::{AttemptId, HoldReason, Stream};
use ouroboros_store::backup::{BackupError, Taken, output_beside, take};
use ouroboros_store::output::{head_file, tail_file};
use ouroboros_store::{Contents, INLINE_BYTES, Layout, LoadedRows, OpenError, Output, open, restore, verify};
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
    let restored = restore(&copy, &other).unwrap();
    assert_eq!((restored.replaced, restored.missing_bodies, restored.output_bytes), (None, 0, None));
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

/// A home with one body in a file and one whose file is lost, and with output of its first attempt.
fn furnished(home: &Path) -> (Writing, Contents, [u8; 32], AttemptId) {
    let opened = opened(home);
    let contents = opened.store.contents();
    let output = opened.store.output();
    let body = contents.put(&vec![7; INLINE_BYTES + 1]).unwrap().hash;
    let lost = contents.put(&vec![8; INLINE_BYTES + 1]).unwrap().hash;
    fs::remove_file(Layout::new(home).content(&lost)).unwrap();
    let writing = Writing::start(opened.store);
    (1..=40).for_each(|decision| writing.commit(decision));
    let other = rusqlite::Connection::open(home.join("store.db")).unwrap();
    for hash in [body, lost] {
        other.execute("INSERT INTO contents (hash, bytes) VALUES (?1, NULL)", (hash,)).unwrap();
    }
    let id: [u8; 16] = other.query_row("SELECT id FROM attempts LIMIT 1", (), |row| row.get(0)).unwrap();
    let attempt = AttemptId::from_bytes(id);
    write(&output, &attempt, b"head", b"tail");
    // Of an attempt that no row names.
    write(&output, &AttemptId::from_bytes([0xee; 16]), b"stray", b"");
    (writing, contents, body, attempt)
}

fn write(output: &Output, attempt: &AttemptId, head: &[u8], tail: &[u8]) {
    let base = output.prepare(attempt).unwrap();
    fs::write(head_file(&base, Stream::Stdout), head).unwrap();
    fs::write(tail_file(&base, Stream::Stdout), tail).unwrap();
}

#[test]
fn bodies_go_along_in_the_copy_and_output_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let (home, copy) = (dir.path().join("home"), dir.path().join("copy.db"));
    let (writing, contents, body, attempt) = furnished(&home);
    let taken = take(&writing.handle, &Layout::new(&home), &copy, true).unwrap();
    assert_eq!(taken, Taken { missing_bodies: 1, output_bytes: Some(8) });
    let plain = take(&writing.handle, &Layout::new(&home), &dir.path().join("plain.db"), false).unwrap();
    assert_eq!((plain.output_bytes, output_beside(&dir.path().join("plain.db")).exists()), (None, false));
    writing.handle.close();
    drop(contents);

    let other = dir.path().join("other");
    let restored = restore(&copy, &other).unwrap();
    assert_eq!((restored.missing_bodies, restored.output_bytes), (1, Some(8)));
    let opened = opened(&other);
    assert_eq!(opened.store.reader().content(&body).unwrap().unwrap(), vec![7; INLINE_BYTES + 1]);
    assert!(Layout::new(&other).content(&body).exists(), "it is a file again");
    let rows: i64 = rusqlite::Connection::open(other.join("store.db"))
        .unwrap()
        .query_row(
            "SELECT count(*) FROM contents WHERE length(bytes) > ?1",
            (i64::try_from(INLINE_BYTES).unwrap(),),
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(rows, 0, "and no row");
    let base = Layout::new(&other).output_base(&attempt);
    assert_eq!(fs::read(head_file(&base, Stream::Stdout)).unwrap(), b"head");
    assert_eq!(fs::read(tail_file(&base, Stream::Stdout)).unwrap(), b"tail");
    assert_eq!(opened.store.output().attempts().unwrap().into_iter().collect::<Vec<_>>(), [attempt]);

    // What was written since stays; what was lost comes back.
    fs::write(head_file(&base, Stream::Stdout), b"head and more").unwrap();
    fs::remove_file(tail_file(&base, Stream::Stdout)).unwrap();
    drop(opened);
    assert_eq!(restore(&copy, &other).unwrap().output_bytes, Some(4));
    assert_eq!(fs::read(head_file(&base, Stream::Stdout)).unwrap(), b"head and more");
    assert_eq!(fs::read(tail_file(&base, Stream::Stdout)).unwrap(), b"tail");
}

#[test]
fn a_copy_that_fails_leaves_nothing_and_touches_nothing_that_was_there() {
    let dir = tempfile::tempdir().unwrap();
    let (home, copy) = (dir.path().join("home"), dir.path().join("copies/copy.db"));
    let (writing, _, body, _) = furnished(&home);
    let layout = Layout::new(&home);
    let beside = output_beside(&copy);
    fs::create_dir_all(&beside).unwrap();
    let refused = take(&writing.handle, &layout, &copy, true);
    assert!(matches!(&refused, Err(BackupError::Exists(path)) if *path == beside), "{refused:?}");
    assert!(beside.exists() && !copy.exists());
    fs::remove_dir(&beside).unwrap();
    fs::write(&copy, "mine").unwrap();
    let refused = take(&writing.handle, &layout, &copy, true);
    assert!(matches!(&refused, Err(BackupError::Exists(path)) if *path == copy), "{refused:?}");
    assert!(!beside.exists() && fs::read(&copy).unwrap() == b"mine");
    fs::remove_file(&copy).unwrap();
    // A body that is there and cannot be read.
    let path = layout.content(&body);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let failed = take(&writing.handle, &layout, &copy, true);
    assert!(matches!(&failed, Err(BackupError::Io { path: at, .. }) if *at == path), "{failed:?}");
    assert!(!beside.exists() && !copy.exists());
    writing.handle.close();
}

#[test]
fn a_body_stays_while_a_copy_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let (home, copy) = (dir.path().join("home"), dir.path().join("copy.db"));
    let (writing, _, body, _) = furnished(&home);
    let path = Layout::new(&home).content(&body);
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    fs::File::open(&path).unwrap().set_modified(long_ago).unwrap();
    take(&writing.handle, &Layout::new(&home), &copy, false).unwrap();
    // Housekeeping deletes only what was not wanted for an hour.
    assert!(fs::metadata(&path).unwrap().modified().unwrap() > long_ago);
    writing.handle.close();
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
