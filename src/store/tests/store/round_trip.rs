//! What is put is what is loaded.

use crate::support::model::Model;
use crate::support::{Heard, Writing, loaded, opened, script};
use ouroboros_domain::change::Change;
use ouroboros_proto::kind::{EventSeq, Generation};
use ouroboros_store::{Batch, CommitErrorKind, open};

#[test]
fn every_change_is_loaded_as_it_was_put_after_each_decision() {
    let dir = tempfile::tempdir().unwrap();
    let first = opened(dir.path());
    assert!(first.created && !first.copied);
    assert_eq!(first.loaded, Model::default().rows());
    let reader = first.store.reader();
    let writing = Writing::start(first.store);
    let mut model = Model::default();
    for decision in 1..=80 {
        writing.commit(decision);
        model.add(&script::decision(decision));
        assert_eq!(writing.handle.reopen().unwrap(), model.rows(), "after decision {decision}");
        assert_eq!(reader.settled_count().unwrap(), model.settled(), "after decision {decision}");
    }
    writing.handle.close();
    let again = opened(dir.path());
    assert!(!again.created && !again.copied);
    assert_eq!(again.installation, first.installation);
    assert_eq!(again.loaded, model.rows());
    drop(again);
    assert_eq!(loaded(dir.path()), model.rows(), "loading changes nothing");
}

#[test]
fn commits_are_reported_in_order_and_nothing_overtakes_them() {
    let dir = tempfile::tempdir().unwrap();
    let writing = Writing::start(opened(dir.path()).store);
    (1..=400).for_each(|decision| writing.send(decision));
    // A decision without changes waits behind the ones before it.
    writing.handle.send(Batch { decision: 401, changes: Vec::new(), sync: false }).unwrap();
    let mut last = 0;
    while last < 401 {
        match writing.hear() {
            Heard::Committed(up_to) => {
                assert!(up_to > last);
                last = up_to;
            }
            Heard::Failed(from, error) => panic!("{from}: {error}"),
        }
    }
    writing.handle.close();
    assert_eq!(loaded(dir.path()), Model::after(400).rows());
}

#[test]
fn a_change_that_contradicts_what_is_stored_is_named_and_stops_the_writer_until_it_is_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let writing = Writing::start(opened(dir.path()).store);
    (1..=10).for_each(|decision| writing.commit(decision));
    // Task 1 has settled: that is final.
    writing.put(11, vec![Change::Task(Box::new(script::task(1)))]);
    let Heard::Failed(11, error) = writing.hear() else { panic!("the contradiction was accepted") };
    assert_eq!(error.kind, CommitErrorKind::Constraint { statement: "task update" });
    assert_eq!(error.decision, Some(11));
    // Whatever was stacked on it is dropped without a word.
    writing.send(11);
    assert_eq!(writing.handle.reopen().unwrap(), Model::after(10).rows());
    writing.commit(11);
    writing.handle.close();
    assert_eq!(loaded(dir.path()), Model::after(11).rows());
}

#[test]
fn numbers_and_places_of_removed_tasks_are_not_given_again() {
    let dir = tempfile::tempdir().unwrap();
    let writing = Writing::start(opened(dir.path()).store);
    let mut model = Model::default();
    for decision in 1..=8 {
        writing.commit(decision);
        model.add(&script::decision(decision));
    }
    // Settle and remove every task: no row is left that remembers the highest number or event.
    let settle: Vec<_> = [1, 2]
        .into_iter()
        .filter(|number| *number == 2)
        .map(|number| {
            let mut row = script::task(number);
            row.state = ouroboros_domain::row::TaskState::Settled {
                outcome: ouroboros_proto::kind::Outcome::Completed,
                at: ouroboros_proto::kind::UtcMicros::new(1),
            };
            Change::Task(Box::new(row))
        })
        .chain([script::event(900, Some(2), ouroboros_proto::kind::Event::Released)])
        .chain([1, 2].map(|number| Change::TaskRemoved(script::task_id(number))))
        .collect();
    model.add(&settle);
    writing.put(9, settle);
    assert_eq!(writing.hear(), Heard::Committed(9));
    writing.handle.close();
    let rows = loaded(dir.path());
    assert_eq!(rows, model.rows());
    assert_eq!((rows.live.next_number.get(), rows.live.next_event), (3, EventSeq::new(901)));
}

#[test]
fn a_copied_directory_is_another_installation_until_its_first_life() {
    let dir = tempfile::tempdir().unwrap();
    let (home, copy) = (dir.path().join("home"), dir.path().join("copy"));
    let first = opened(&home);
    let writing = Writing::start(first.store);
    (1..=20).for_each(|decision| writing.commit(decision));
    writing.handle.close();
    crate::support::copy_store(&home, &copy);
    let opened_copy = opened(&copy);
    assert!(opened_copy.copied);
    assert_ne!(opened_copy.installation, first.installation);
    assert_eq!(opened_copy.loaded, Model::after(20).rows());
    let installation = opened_copy.installation;
    drop(opened_copy);
    // Until a life has begun, in one commit with what it makes of that, it is still a copy.
    let again = opened(&copy);
    assert!(again.copied);
    assert_eq!(again.installation, installation);
    let writing = Writing::start(again.store);
    writing.put(1, vec![Change::Generation(Generation::new(9))]);
    assert_eq!(writing.hear(), Heard::Committed(1));
    writing.handle.close();
    assert!(!opened(&copy).copied);
    assert!(!open(&crate::support::options(&home)).unwrap().copied, "the original is what it was");
}
