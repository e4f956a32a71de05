//! Who waits for a folder, and for whom, is read from the rows.

use crate::support::{Heard, Writing, opened, script};
use ouroboros_domain::change::Change;
use ouroboros_domain::row::{AttemptRow, TaskRow, TaskState};
use ouroboros_proto::kind::{AttemptId, Generation, HoldReason, Isolation, Priority, TaskNumber, UtcMicros, WorkerId};

const NOW: UtcMicros = UtcMicros::new(1_000_000);

/// A queued task that acts in a folder and waits for nothing else.
fn acts(n: u64, folder: &str) -> TaskRow {
    TaskRow {
        priority: Priority::Normal,
        hold: None,
        not_before: None,
        park: None,
        root: script::task_id(n),
        workspace: Some(folder.into()),
        ..script::task(n)
    }
}

fn attempt(task: &TaskRow, over: bool) -> AttemptRow {
    AttemptRow {
        id: AttemptId::from_bytes([9; 16]),
        task: task.id,
        ordinal: 1,
        generation: Generation::new(1),
        worker: WorkerId::new(1),
        started_at: NOW,
        isolation: Isolation::Namespace,
        released: false,
        delivered: false,
        sequence: 0,
        report: None,
        ended_at: over.then_some(NOW),
        workspace: task.workspace.clone(),
    }
}

#[test]
fn who_waits_for_a_folder_is_told_for_whom() {
    let dir = tempfile::tempdir().unwrap();
    let store = opened(dir.path()).store;
    let reader = store.reader();
    let writing = Writing::start(store);
    let first = acts(1, "/p/x");
    let others = [
        acts(2, "/p/x/y"),
        TaskRow { hold: Some(HoldReason::Owner), ..acts(3, "/p/x") },
        TaskRow { not_before: Some(NOW.plus(ouroboros_proto::kind::Millis::new(1))), ..acts(4, "/p/x") },
        TaskRow { after: [first.id].into(), ..acts(5, "/p/x") },
        TaskRow { priority: Priority::Urgent, ..acts(6, "/p/z") },
        acts(7, "/p"),
        acts(8, "/p/z"),
        TaskRow { workspace: None, ..acts(9, "/p/x") },
        acts(10, "/q"),
    ];
    let added = std::iter::once(&first).chain(&others).map(|row| script::added(row.clone()));
    writing.put(1, added.collect());
    assert_eq!(writing.hear(), Heard::Committed(1));
    let rows: Vec<&TaskRow> = others.iter().collect();
    assert!(reader.waits_for_workspace(&rows, NOW).unwrap().is_empty(), "nobody is at work");

    let live = attempt(&first, false);
    let state = TaskState::Running { attempt: live.id };
    let running = TaskRow { state, attempts: 1, ..first.clone() };
    writing.put(2, vec![Change::Attempt(Box::new(live)), Change::Task(Box::new(running))]);
    assert_eq!(writing.hear(), Heard::Committed(2));
    let waits = reader.waits_for_workspace(&rows, NOW).unwrap();
    let number = |n: u64| TaskNumber::new(n);
    let found: Vec<_> = others.iter().filter_map(|row| Some((row.number.get(), *waits.get(&row.id)?))).collect();
    assert_eq!(
        found,
        [(2, number(1)), (7, number(1)), (8, number(7))],
        "8 lets 7 pass, which came before it; 6 is more urgent"
    );
    assert_eq!(reader.task(first.id).unwrap().unwrap().attempts[0].workspace.as_deref(), Some("/p/x"));

    writing.put(3, vec![Change::Attempt(Box::new(attempt(&first, true)))]);
    assert_eq!(writing.hear(), Heard::Committed(3));
    assert!(reader.waits_for_workspace(&rows, NOW).unwrap().is_empty());
}
