//! A row that means nothing is set aside; the rest goes on.

use crate::support::{Heard, Writing, loaded, opened, script};
use rusqlite::Connection;
use std::path::Path;

fn tamper(dir: &Path, sql: &str) {
    let conn = Connection::open(dir.join("store.db")).unwrap();
    conn.execute_batch(&format!("PRAGMA ignore_check_constraints = ON; {sql}")).unwrap();
}

#[test]
fn one_bad_row_of_ten_thousand_is_set_aside_with_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    let writing = Writing::start(opened(dir.path()).store);
    for (decision, numbers) in (1_u64..).zip((1..=10_000_u64).collect::<Vec<_>>().chunks(500)) {
        writing.put(decision, numbers.iter().map(|number| script::added(script::task(*number))).collect());
        assert_eq!(writing.hear(), Heard::Committed(decision));
    }
    writing.handle.close();
    tamper(dir.path(), "UPDATE tasks SET priority = 77 WHERE number = 10000;");
    let opened = opened(dir.path());
    assert_eq!(opened.loaded.live.tasks.len(), 9_999);
    assert!(opened.loaded.live.tasks.iter().all(|row| row.number.get() != 10_000));
    let [bad] = &opened.loaded.bad[..] else { panic!("{:?}", opened.loaded.bad) };
    assert_eq!(bad.table, "tasks");
    assert!(bad.reason.contains("priority") && bad.reason.contains("77"), "{}", bad.reason);
    let row: serde_json::Value = serde_json::from_str(&bad.row).unwrap();
    assert_eq!(row["number"], 10_000);
    assert_eq!(opened.loaded.live.next_number.get(), 10_001, "its number is not given again");
    drop(opened);
    let again = loaded(dir.path());
    assert_eq!((again.live.tasks.len(), again.bad.len()), (9_999, 0), "told once, kept aside");
    let conn = Connection::open(dir.path().join("store.db")).unwrap();
    let kept: i64 =
        conn.query_row("SELECT count(*) FROM quarantine WHERE source = 'tasks'", (), |row| row.get(0)).unwrap();
    assert_eq!(kept, 1);
}

#[test]
fn every_table_can_hold_a_bad_row() {
    for (table, damage) in [
        (
            "tasks",
            "UPDATE tasks SET id = x'00' WHERE live = 1 AND number = (SELECT min(number) FROM tasks WHERE live = 1)",
        ),
        (
            "tasks",
            "UPDATE tasks SET state = 1 WHERE live = 1 AND number = (SELECT min(number) FROM tasks WHERE live = 1)",
        ),
        ("tasks", "UPDATE tasks SET comes_after = x'010203' WHERE live = 1"),
        ("attempts", "UPDATE attempts SET report = '{\"ending\":\"Melted\"}' WHERE ended_at IS NULL"),
        ("attempts", "UPDATE attempts SET task = zeroblob(16) WHERE ended_at IS NULL"),
        ("processes", "UPDATE processes SET role = 9"),
        ("keys", "UPDATE keys SET key = x'01' WHERE number = 1"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let writing = Writing::start(opened(dir.path()).store);
        (1..=13).for_each(|decision| writing.commit(decision));
        writing.handle.close();
        let before = loaded(dir.path());
        tamper(dir.path(), damage);
        let after = loaded(dir.path());
        assert!(!after.bad.is_empty() && after.bad.iter().any(|bad| bad.table == table), "{damage}: {:?}", after.bad);
        let count = |rows: &ouroboros_store::LoadedRows| {
            rows.live.tasks.len() + rows.live.attempts.len() + rows.live.processes.len() + rows.live.keys.len()
        };
        assert_eq!(count(&after) + after.bad.len(), count(&before), "{damage}: nothing else is missing");
        assert!(loaded(dir.path()).bad.is_empty(), "{damage}");
    }
}

#[test]
fn a_settled_row_that_means_nothing_hides_only_itself() {
    let dir = tempfile::tempdir().unwrap();
    let writing = Writing::start(opened(dir.path()).store);
    (1..=40).for_each(|decision| writing.commit(decision));
    writing.handle.close();
    tamper(
        dir.path(),
        "UPDATE tasks SET outcome = '\"Vanished\"' WHERE number = 1; UPDATE events SET body = '{}' WHERE seq = 4;",
    );
    let opened = opened(dir.path());
    assert!(opened.loaded.bad.is_empty());
    let reader = opened.store.reader();
    let page = reader.tasks(ouroboros_store::reader::TaskFilter::default(), 100).unwrap();
    assert_eq!(page.unreadable, 1);
    assert!(reader.task(script::task_id(1)).is_err());
    assert!(reader.lookup(&[script::task_id(1), script::task_id(3)]).unwrap().contains_key(&script::task_id(3)));
    let page = reader.events(ouroboros_proto::kind::EventSeq::new(3), None, 2).unwrap();
    assert_eq!(page.events.iter().map(|row| row.seq.get()).collect::<Vec<_>>(), [5]);
    assert_eq!(page.through.get(), 5);
    let page = reader.events(ouroboros_proto::kind::EventSeq::new(3), None, 1).unwrap();
    assert_eq!((page.events.len(), page.through.get()), (0, 4), "readers go on behind it");
}
