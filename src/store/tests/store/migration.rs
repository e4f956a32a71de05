//! A database of the first format is brought forward with everything in it.

use crate::support::sends::{over, receipt, reserved};
use crate::support::{Heard, Writing, opened, script};
use ouroboros_domain::Spent;
use ouroboros_domain::change::Change;
use ouroboros_domain::row::{TaskRow, TaskState};
use ouroboros_proto::kind::{NanoDollars, Outcome, SendState, UtcMicros};
use rusqlite::Connection;
use std::path::Path;

const FIRST: &str = include_str!("../../src/schema.sql");

/// Three tasks as the first format has them: one queued, one running, one settled.
fn first_format(dir: &Path) {
    let conn = Connection::open(dir.join("store.db")).unwrap();
    conn.execute_batch(FIRST).unwrap();
    conn.pragma_update(None, "application_id", 0x4f55_524f).unwrap();
    conn.pragma_update(None, "user_version", 1).unwrap();
    conn.execute_batch("INSERT INTO meta VALUES ('generation', 4), ('settled', 1);").unwrap();
    for (number, state) in
        [(1, "0, 1, NULL, NULL, NULL"), (2, "1, 1, x'01', NULL, NULL"), (3, "2, 0, NULL, '\"completed\"', 7")]
    {
        let attempt = "x'02020202020202020202020202020202'";
        let state = state.replace("x'01'", attempt);
        let id: String = script::task_id(number).as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        conn.execute_batch(&format!(
            "INSERT INTO tasks (number, id, state, live, attempt, outcome, settled_at, kind, priority, rerun, retries, isolation, \
             attempts, retried, crashes, submitted_at) \
             VALUES ({number}, x'{id}', {state}, 0, 1, 0, 0, 0, {number}, 0, 0, {number}000); \
             INSERT INTO task_specs VALUES ({number}, '{{}}'); \
             INSERT INTO events VALUES ({number}, 1, NULL, NULL, '\"released\"');"
        ).replace("'{}'", "x'7b7d'"))
        .unwrap();
    }
}

#[test]
fn tasks_stay_and_can_spend_from_then_on() {
    let dir = tempfile::tempdir().unwrap();
    first_format(dir.path());
    let first = opened(dir.path());
    assert_eq!(first.migrated_from, Some(1));
    assert_eq!(first.loaded.bad, []);
    let live = first.loaded.live;
    assert_eq!((live.generation.get(), live.next_number.get(), live.next_event.get()), (4, 4, 4));
    let whole = |row: &TaskRow| (row.number.get(), row.root == row.id, row.park.clone(), row.policy.max_cost);
    assert_eq!(live.tasks.iter().map(whole).collect::<Vec<_>>(), [(1, true, None, None), (2, true, None, None)]);
    assert!(live.tasks.iter().all(|row| row.workspace.is_none()));
    assert_eq!((live.sends, live.spent), (vec![], Spent::default()));
    let reader = first.store.reader();
    let settled = reader.task(script::task_id(3)).unwrap().unwrap().row;
    assert!(matches!(settled.state, TaskState::Settled { outcome: Outcome::Completed, .. }));
    assert_eq!(settled.root, settled.id);

    let writing = Writing::start(first.store);
    let mut changes = Vec::new();
    for (n, task) in [(1, 1), (2, 2), (3, 3)] {
        let row = ouroboros_domain::row::SendRow { root: script::task_id(task), ..reserved(n, task) };
        changes.push(Change::Send(Box::new(row.clone())));
        changes.push(Change::Send(Box::new(over(&row, SendState::Settled, Some(receipt(2))))));
    }
    let parked = TaskRow { park: script::task(2).park, root: script::task_id(1), ..live.tasks[1].clone() };
    changes.push(Change::Task(Box::new(TaskRow { state: TaskState::Queued, ..parked.clone() })));
    writing.put(1, changes);
    assert_eq!(writing.hear(), Heard::Committed(1));
    writing.handle.close();
    let again = opened(dir.path());
    assert_eq!(again.migrated_from, None);
    let spent = &again.loaded.live.spent;
    assert_eq!(spent.total.settled, NanoDollars::new(6));
    let tasks: Vec<_> = spent.tasks.iter().map(|(id, sum)| (*id, sum.settled.get())).collect();
    assert_eq!(tasks, [(script::task_id(1), 2), (script::task_id(2), 2)], "task 3 has settled");
    let trees: Vec<_> = spent.trees.iter().map(|(id, sum)| (*id, sum.settled.get())).collect();
    assert_eq!(trees, [(script::task_id(1), 2)], "in the tree of 1 is what was spent for it");
    assert_eq!(again.loaded.live.tasks[1].park, parked.park);
    assert!(spent.minutes.keys().all(|minute| *minute >= Spent::minute(UtcMicros::new(0))));
}
