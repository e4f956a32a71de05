//! Data directories that cannot be used, each refused with its own error and left as it was.

use crate::support::children::{Child, succeeds};
use crate::support::{Writing, opened, options, skip};
use ouroboros_proto::kind::ExitCode;
use ouroboros_store::{OpenError, open, verify};
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn refused(dir: &Path) -> OpenError {
    let error = open(&options(dir)).err().expect("it is refused");
    assert!(!error.to_string().is_empty() && error.remedy().ends_with('.'));
    error
}

fn filled(dir: &Path) {
    let writing = Writing::start(opened(dir).store);
    (1..=20).for_each(|decision| writing.commit(decision));
    writing.handle.close();
}

#[test]
fn what_is_made_is_for_its_owner_only() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("deep/home");
    let opened = opened(&home);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&home), 0o700);
    assert_eq!(mode(&opened.store.layout().database()), 0o600);
    let names: Vec<_> = fs::read_dir(&home).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| name.to_str().unwrap().starts_with("store.db")), "nothing is left over: {names:?}");
}

#[test]
fn a_file_is_no_directory() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "mine").unwrap();
    let error = refused(&file);
    assert!(matches!(error, OpenError::NotADirectory { .. }), "{error:?}");
    assert_eq!(error.exit_code(), ExitCode::CantCreate);
    assert!(matches!(refused(&file.join("below")), OpenError::NotADirectory { .. }));
    assert_eq!(fs::read(&file).unwrap(), b"mine");
}

#[test]
fn a_newer_format_is_refused_and_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    let database = dir.path().join("store.db");
    Connection::open(&database).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = fs::read(&database).unwrap();
    let error = refused(dir.path());
    assert!(matches!(error, OpenError::Newer { found: 99, .. }), "{error:?}");
    assert_eq!(error.exit_code(), ExitCode::Data);
    assert_eq!(fs::read(&database).unwrap(), before);
}

#[test]
fn another_programs_database_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    Connection::open(dir.path().join("store.db")).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    assert!(matches!(refused(dir.path()), OpenError::NotOurs { .. }));
}

#[test]
fn damage_is_told_as_damage() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    assert_eq!(verify(dir.path()).unwrap(), Vec::<String>::new());
    let database = dir.path().join("store.db");
    let whole = fs::read(&database).unwrap();
    // The whole file overwritten; the schema damaged; all but the first page damaged.
    let mut header = whole.clone();
    header[..16].copy_from_slice(b"not a database!!");
    let mut schema = whole.clone();
    schema[100..512].fill(0xaa);
    let mut tables = whole;
    tables[512..].fill(0x55);
    for damaged in [header, schema, tables] {
        fs::write(&database, &damaged).unwrap();
        let error = refused(dir.path());
        assert!(matches!(error, OpenError::Corrupt { .. }), "{error:?}");
        assert_eq!(error.exit_code(), ExitCode::Data);
        assert_eq!(fs::read(&database).unwrap(), damaged, "it is kept for whoever can repair it");
    }
}

#[test]
fn a_directory_of_somebody_else_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can give a directory away");
    }
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    let database = dir.path().join("store.db");
    std::os::unix::fs::chown(&database, Some(12_345), None).unwrap();
    assert!(matches!(refused(dir.path()), OpenError::Foreign { uid: 12_345, .. }));
    std::os::unix::fs::chown(&database, Some(0), None).unwrap();
    std::os::unix::fs::chown(dir.path(), Some(12_345), None).unwrap();
    let error = refused(dir.path());
    assert!(matches!(error, OpenError::Foreign { uid: 12_345, .. }), "{error:?}");
    assert_eq!(error.exit_code(), ExitCode::NoPermission);
}

#[test]
fn without_file_locks_nothing_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let report = Child::new(dir.path(), 1)
        .env("OUROBOROS_TEST_FAILPOINT", "store.lock_probe:error(io):1+")
        .env("STORE_TEST_WORK", "refused")
        .run();
    assert!(report.text.contains("refused NoLocks"), "{}", report.text);
}

#[test]
fn a_full_disk_and_a_read_only_one_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let quoted = dir.path().display();
    let full =
        format!("mount -t tmpfs -o size=16k,mode=0700 tmpfs '{quoted}' && head -c 16384 /dev/zero > '{quoted}/x'");
    let frozen = format!("mount -t tmpfs -o mode=0700 tmpfs '{quoted}' && mount -o remount,ro '{quoted}'");
    if !succeeds("unshare", &["-Urm".as_ref(), "sh".as_ref(), "-c".as_ref(), frozen.as_ref()]) {
        return skip("no file systems can be mounted here");
    }
    for (mount, told) in [(full, "refused Full"), (frozen, "refused ReadOnly")] {
        let shell = format!("exec unshare -Urm sh -c \"{mount}; exec \\\"\\$@\\\"\" sh \"$@\"");
        let report = Child::under(&shell, dir.path(), 1).env("STORE_TEST_WORK", "refused").run();
        assert!(report.text.contains(told), "{told}:\n{}", report.text);
    }
}

/// Runs in a child: opens, and says why that is refused.
pub fn say_why(dir: &Path) {
    println!("refused {:?}", refused(dir));
}
