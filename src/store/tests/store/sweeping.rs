//! Housekeeping between commits.

use crate::support::{Heard, LONG, Writing, loaded, model::Model, opened, script};
use ouroboros_domain::Tally;
use ouroboros_domain::change::{Change, Spec};
use ouroboros_domain::row::{TaskRow, TaskState};
use ouroboros_proto::kind::{Event, EventSeq, Outcome, TaskNumber, UtcMicros};
use ouroboros_store::{Contents, INLINE_BYTES, Job, Swept};
use std::sync::Arc;

fn sweep(writing: &Writing, job: Job) -> Swept {
    writing.handle.maintenance(job).recv_timeout(LONG).unwrap().unwrap()
}

#[test]
fn old_events_go_and_the_newest_stay_while_commits_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let opened = opened(dir.path());
    let reader = opened.store.reader();
    let writing = Writing::start(opened.store);
    let many: Vec<_> = (1..=5_000).map(|seq| script::event(seq, None, Event::Released)).collect();
    writing.put(1, many);
    assert_eq!(writing.hear(), Heard::Committed(1));
    let swept = writing.handle.maintenance(Job::Events { keep: 100 });
    for decision in 2..=50 {
        writing.put(decision, vec![script::event(4_999 + decision, None, Event::Released)]);
    }
    // It counts from the newest event at the time it begins.
    let gone = swept.recv_timeout(LONG).unwrap().unwrap().rows;
    assert!((4_900..=4_949).contains(&gone), "{gone} rows are gone");
    let expired = reader.events(EventSeq::new(4_000), None, 10).unwrap();
    assert!(expired.expired);
    assert_eq!(expired.events[0].seq, EventSeq::new(gone + 1));
    assert!(!reader.events(EventSeq::new(gone), None, 10).unwrap().expired);
    while writing.hear() != Heard::Committed(50) {}
    sweep(&writing, Job::Events { keep: 0 });
    let left = reader.events(EventSeq::new(4_900), None, 10).unwrap();
    assert_eq!(left.events.len(), 1, "the newest always stays");
    writing.handle.close();
    assert_eq!(loaded(dir.path()).live.next_event, EventSeq::new(5_050));
}

#[test]
fn keys_go_by_age_and_by_number() {
    let dir = tempfile::tempdir().unwrap();
    let writing = Writing::start(opened(dir.path()).store);
    (1..=800).for_each(|decision| writing.commit(decision));
    let kept = |writing: &Writing| {
        writing.handle.reopen().unwrap().live.keys.iter().map(|row| row.number.get()).collect::<Vec<_>>()
    };
    assert_eq!(kept(&writing).len(), 100);
    // The key of task n was used at n milliseconds.
    assert_eq!(sweep(&writing, Job::Keys { before: UtcMicros::new(101_000), keep: 1_000 }).rows, 50);
    assert_eq!(kept(&writing)[0], 101);
    assert_eq!(sweep(&writing, Job::Keys { before: UtcMicros::new(0), keep: 10 }).rows, 40);
    assert_eq!(kept(&writing), (181..=199).step_by(2).collect::<Vec<_>>());
}

#[test]
fn bodies_go_when_the_last_task_that_names_them_goes() {
    let dir = tempfile::tempdir().unwrap();
    let opened = opened(dir.path());
    let (reader, contents) = (opened.store.reader(), opened.store.contents());
    let layout = opened.store.layout().clone();
    let writing = Writing::start(opened.store);
    let add = |decision: u64, number: u64, body: &[u8]| {
        let content = contents.put(body).unwrap();
        let spec = format!(r#"{{"stdin":"{}"}}"#, Contents::name(&content.hash));
        let added = Change::TaskAdded {
            row: Box::new(script::task(number)),
            spec: Spec::New(Arc::from(spec.as_bytes())),
            contents: vec![content.clone()],
            spent: Tally::default(),
        };
        writing.put(decision, vec![added]);
        assert_eq!(writing.hear(), Heard::Committed(decision));
        content.hash
    };
    let forget = |decision: u64, number: u64| {
        let state = TaskState::Settled { outcome: Outcome::Completed, at: UtcMicros::new(1) };
        let settle = Change::Task(Box::new(TaskRow { state, ..script::task(number) }));
        writing.put(decision, vec![settle, Change::TaskRemoved(script::task_id(number))]);
        assert_eq!(writing.hear(), Heard::Committed(decision));
    };
    let large = vec![5; INLINE_BYTES + 1];
    let (shared, alone) = (add(1, 1, b"shared"), add(2, 2, b"alone"));
    add(3, 3, b"shared");
    let (old, fresh) = (add(4, 4, &large), add(5, 5, &[large.clone(), large.clone()].concat()));
    assert!(reader.unreferenced().unwrap().is_empty());
    [(6, 1), (7, 2), (8, 4), (9, 5)].into_iter().for_each(|(decision, number)| forget(decision, number));

    // One that is wanted again between the look and the deletion stays.
    let found = reader.unreferenced().unwrap();
    assert_eq!(found.len(), 3);
    add(10, 10, b"alone");
    let two_hours_ago = std::fs::File::open(layout.content(&old)).unwrap();
    let before = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1);
    two_hours_ago.set_modified(before).unwrap();
    let swept = sweep(&writing, Job::Contents(found));
    assert_eq!(swept.rows, 2);
    assert!(swept.file_bytes >= INLINE_BYTES as u64);
    assert!(reader.has_content(&shared).unwrap() && reader.has_content(&alone).unwrap());
    assert!(!reader.has_content(&old).unwrap() && !layout.content(&old).exists());
    assert!(
        !reader.has_content(&fresh).unwrap() && layout.content(&fresh).exists(),
        "its file was wanted within the hour"
    );
    // And it can be stored again.
    assert_eq!(add(11, 11, &large), old);
    assert_eq!(reader.content(&old).unwrap(), Some(large));
}

#[test]
fn settled_tasks_are_named_for_removal_by_age_and_number() {
    let dir = tempfile::tempdir().unwrap();
    let opened = opened(dir.path());
    let reader = opened.store.reader();
    let writing = Writing::start(opened.store);
    for number in 1..=20_u64 {
        let mut row = script::task(number);
        row.submitted_at = UtcMicros::new(i64::try_from(number).unwrap());
        // Task 2 settles long after the others.
        let at = if number == 2 { 1_000 } else { i64::try_from(number).unwrap() + 1 };
        let settled = TaskRow {
            state: TaskState::Settled { outcome: Outcome::Completed, at: UtcMicros::new(at) },
            ..row.clone()
        };
        writing.put(number, vec![script::added(row), Change::Task(Box::new(settled))]);
        assert_eq!(writing.hear(), Heard::Committed(number));
    }
    let numbers = |before, keep, after, limit| {
        let found = reader.removable(UtcMicros::new(before), keep, after, limit).unwrap();
        (
            found.tasks.iter().map(|id| u64::from_be_bytes(id.as_bytes()[..8].try_into().unwrap())).collect::<Vec<_>>(),
            found.more,
        )
    };
    assert_eq!(numbers(6, 100, None, 100), (vec![1, 3, 4], false));
    assert_eq!(numbers(0, 17, None, 100), (vec![1, 2, 3], false));
    assert_eq!(numbers(0, 17, None, 2), (vec![1, 2], true));
    assert_eq!(numbers(0, 17, Some(script::task_id(2)), 2), (vec![3], false));
    assert_eq!(numbers(0, 20, None, 100), (vec![], false));
}

#[test]
fn a_long_log_is_moved_into_the_database_and_not_left_to_grow() {
    let dir = tempfile::tempdir().unwrap();
    let writing = Writing::start(opened(dir.path()).store);
    let log = dir.path().join("store.db-wal");
    let mut longest = 0;
    for decision in 1..=4_000 {
        writing.send(decision);
        if decision % 200 == 0 {
            while writing.hear() != Heard::Committed(decision) {}
            longest = longest.max(std::fs::metadata(&log).unwrap().len());
        }
    }
    writing.handle.close();
    assert_eq!(loaded(dir.path()), Model::after(4_000).rows());
    // Without checkpoints it would be over 20 MB.
    assert!(longest < 8 << 20, "the log grew to {longest} bytes");
    assert_eq!(TaskNumber::new(1_001), loaded(dir.path()).live.next_number);
}
