//! Reads of committed facts.

use crate::support::{Heard, Writing, opened, script};
use ouroboros_domain::Tally;
use ouroboros_domain::change::{Change, Spec};
use ouroboros_domain::row::{TaskRow, TaskState};
use ouroboros_proto::kind::{EventSeq, TaskNumber};
use ouroboros_store::reader::{Standing, TaskFilter, TaskRef};
use ouroboros_store::{INLINE_BYTES, ReadError};
use std::sync::Arc;

#[test]
fn tasks_are_found_by_number_id_and_last() {
    let dir = tempfile::tempdir().unwrap();
    let opened = opened(dir.path());
    let reader = opened.store.reader();
    assert_eq!(reader.resolve(TaskRef::Last).unwrap(), None);
    let writing = Writing::start(opened.store);
    (1..=40).for_each(|decision| writing.commit(decision));
    let third = (script::task_id(3), TaskNumber::new(3));
    for name in ["3".to_owned(), script::task_id(3).to_string()] {
        assert_eq!(reader.resolve(name.parse().unwrap()).unwrap(), Some(third));
    }
    assert_eq!(reader.resolve("last".parse().unwrap()).unwrap().unwrap().1, TaskNumber::new(10));
    assert_eq!(reader.resolve("999".parse().unwrap()).unwrap(), None);
    assert_eq!(reader.resolve(script::task_id(999).to_string().parse().unwrap()).unwrap(), None);
    assert!("three".parse::<TaskRef>().is_err() && "-1".parse::<TaskRef>().is_err());

    let detail = reader.task(script::task_id(3)).unwrap().unwrap();
    assert!(matches!(detail.row.state, TaskState::Settled { .. }));
    assert_eq!((detail.attempts.len(), detail.attempts[0].id), (1, script::attempt_id(3)));
    // Task 4 repeats task 3, so it has the same specification.
    assert_eq!(reader.spec(script::task_id(4)).unwrap(), detail.spec);
    assert!(detail.spec.is_some());
    assert_eq!(reader.task(script::task_id(999)).unwrap(), None);

    let found = reader.lookup(&[script::task_id(3), script::task_id(4), script::task_id(999)]).unwrap();
    assert_eq!(found.into_keys().collect::<Vec<_>>(), [script::task_id(3)], "settled ones only");
    assert_eq!(reader.tasks_by_id(&[script::task_id(3), script::task_id(4)]).unwrap().len(), 2);
}

#[test]
fn pages_go_from_new_to_old_and_filter() {
    let dir = tempfile::tempdir().unwrap();
    let opened = opened(dir.path());
    let reader = opened.store.reader();
    let writing = Writing::start(opened.store);
    (1..=80).for_each(|decision| writing.commit(decision));
    let all = |filter: TaskFilter<'_>, limit| {
        let (mut filter, mut numbers, mut pages) = (filter, Vec::new(), 0);
        loop {
            let page = reader.tasks(filter, limit).unwrap();
            numbers.extend(page.tasks.iter().map(|listed| listed.row.number.get()));
            pages += 1;
            match page.next {
                Some(next) => filter.before = Some(next),
                None => return (numbers, pages),
            }
        }
    };
    let (everything, pages) = all(TaskFilter::default(), 7);
    assert!(everything.is_sorted_by(|a, b| a > b) && pages > 1);
    assert_eq!(all(TaskFilter::default(), 1_000).0, everything);
    let (live, _) = all(TaskFilter { standing: &[Standing::Live], ..TaskFilter::default() }, 3);
    let settled = [Standing::Completed, Standing::Failed, Standing::Cancelled];
    let (over, _) = all(TaskFilter { standing: &settled, ..TaskFilter::default() }, 3);
    assert_eq!(over.len() as u64, reader.settled_count().unwrap());
    assert_eq!(live.len() + over.len(), everything.len());
    let accept = |row: &TaskRow, spec: &[u8]| row.number.get().is_multiple_of(2) && !spec.is_empty();
    let (even, _) = all(TaskFilter { accept: Some(&accept), ..TaskFilter::default() }, 2);
    assert_eq!(even, everything.iter().copied().filter(|number| number % 2 == 0).collect::<Vec<_>>());
    let started = reader.tasks(TaskFilter::default(), 1_000).unwrap().tasks;
    assert!(started.iter().all(|listed| listed.started_at.is_some() == (listed.row.attempts > 0)));
}

#[test]
fn events_follow_a_place_without_gap_or_repetition() {
    let dir = tempfile::tempdir().unwrap();
    let opened = opened(dir.path());
    let reader = opened.store.reader();
    let writing = Writing::start(opened.store);
    (1..=16).for_each(|decision| writing.commit(decision));
    let (mut after, mut seen) = (EventSeq::default(), Vec::new());
    loop {
        let page = reader.events(after, None, 3).unwrap();
        assert!(!page.expired);
        if page.through == after {
            break;
        }
        after = page.through;
        seen.extend(page.events.iter().map(|row| row.seq.get()));
    }
    assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15]);
    assert_eq!(after, reader.events(after, None, 1).unwrap().newest);
    let of_task = reader.events(EventSeq::new(4), Some(TaskNumber::new(1)), 100).unwrap();
    assert_eq!(of_task.events.iter().map(|row| row.seq.get()).collect::<Vec<_>>(), [5, 6]);
}

#[test]
fn bodies_are_stored_once_and_checked_when_read() {
    let dir = tempfile::tempdir().unwrap();
    let opened = opened(dir.path());
    let (reader, contents, layout) = (opened.store.reader(), opened.store.contents(), opened.store.layout().clone());
    let writing = Writing::start(opened.store);
    let small = contents.put(b"small").unwrap();
    let large = contents.put(&vec![9; INLINE_BYTES * 3]).unwrap();
    for (decision, number) in [(1, 1), (2, 2)] {
        writing.put(
            decision,
            vec![Change::TaskAdded {
                row: Box::new(script::task(number)),
                spec: Spec::New(Arc::from(b"{}".as_slice())),
                contents: vec![small.clone(), large.clone()],
                spent: Tally::default(),
            }],
        );
        assert_eq!(writing.hear(), Heard::Committed(decision));
    }
    assert_eq!(reader.content(&small.hash).unwrap().as_deref(), Some(b"small".as_slice()));
    assert_eq!(reader.content(&large.hash).unwrap(), Some(vec![9; INLINE_BYTES * 3]));
    assert!(reader.has_content(&large.hash).unwrap());
    assert!(!reader.has_content(&[0; 32]).unwrap());
    assert_eq!(reader.content(&[0; 32]).unwrap(), None);
    std::fs::write(layout.content(&large.hash), vec![0; INLINE_BYTES * 3]).unwrap();
    assert!(matches!(reader.content(&large.hash), Err(ReadError::Damaged { .. })));
}

#[test]
fn readers_go_on_while_the_store_is_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let opened = opened(dir.path());
    let reader = opened.store.reader();
    let own = reader.single();
    let writing = Writing::start(opened.store);
    (1..=8).for_each(|decision| writing.commit(decision));
    std::thread::scope(|scope| {
        let busy: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..200 {
                        assert!(reader.events(EventSeq::default(), None, 100).unwrap().events.len() >= 7);
                    }
                })
            })
            .collect();
        for decision in 9..=24 {
            writing.handle.reopen().unwrap();
            assert!(own.lookup(&[script::task_id(1)]).unwrap().contains_key(&script::task_id(1)));
            writing.commit(decision);
        }
        busy.into_iter().for_each(|thread| thread.join().unwrap());
    });
}
