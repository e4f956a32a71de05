//! The usage ledger: rows, what they may become, and the sum that is kept beside them.

use crate::support::model::{Model, sum};
use crate::support::sends::{over, receipt, reserved, send_id};
use crate::support::{Heard, Writing, memory_dir, opened, script};
use ouroboros_domain::Tally;
use ouroboros_domain::change::Change;
use ouroboros_domain::row::{Receipt, SendRow};
use ouroboros_proto::kind::{Cost, CostSource, NanoDollars, SendState, TokenUsage};
use ouroboros_store::{CommitErrorKind, Reader};

fn put(row: &SendRow) -> Change {
    Change::Send(Box::new(row.clone()))
}

fn correct(row: &SendRow, was: &SendRow) -> Change {
    Change::SendCorrected { row: Box::new(row.clone()), was: Box::new(was.clone()) }
}

fn checked(reader: &Reader) -> Tally {
    let check = reader.spent_check().unwrap().expect("nothing is written meanwhile");
    assert_eq!(check.rows, check.kept);
    check.rows
}

/// Send 1 in every state that it can have, with what it was before.
fn states() -> Vec<(SendState, SendRow)> {
    let row = reserved(1, 1);
    vec![
        (SendState::Reserved, row.clone()),
        (SendState::Dispatched, SendRow { state: SendState::Dispatched, ..row.clone() }),
        (SendState::Settled, over(&row, SendState::Settled, Some(receipt(1)))),
        (SendState::Unresolved, over(&row, SendState::Unresolved, None)),
        (SendState::Released, over(&row, SendState::Released, None)),
    ]
}

#[test]
fn every_row_is_read_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let opened = opened(dir.path());
    let reader = opened.store.reader();
    let writing = Writing::start(opened.store);
    let mut model = Model::default();
    for decision in 1..=80 {
        writing.commit(decision);
        model.add(&script::decision(decision));
        let ids: Vec<_> = model.sends().map(|row| row.id).collect();
        let stored = reader.sends(&ids).unwrap();
        assert!(stored.values().eq(model.sends()), "after decision {decision}");
        assert_eq!(checked(&reader), sum(model.sends()), "after decision {decision}");
    }
    let all: Vec<_> = model.sends().map(|row| (row.state, row.receipt.as_ref().map(|it| it.cost.is_some()))).collect();
    for (state, row) in states() {
        assert!(all.iter().any(|(seen, _)| *seen == state) || state == SendState::Dispatched, "{row:?}");
    }
    assert!(all.contains(&(SendState::Settled, Some(false))) && all.contains(&(SendState::Settled, Some(true))));
    assert!(model.sends().any(|row| row.late));
    assert_eq!(reader.sends(&[send_id(999)]).unwrap().len(), 0);
}

#[test]
fn a_row_goes_forward_only_and_what_is_over_is_over() {
    for (from, before) in states() {
        for (to, after) in states() {
            let dir = memory_dir();
            let opened = opened(dir.path());
            let reader = opened.store.reader();
            let writing = Writing::start(opened.store);
            let mut so_far = vec![put(&reserved(1, 1))];
            if from != SendState::Reserved {
                so_far.push(put(&before));
            }
            writing.put(1, so_far);
            assert_eq!(writing.hear(), Heard::Committed(1), "{from:?}");
            writing.put(2, vec![put(&after)]);
            let forward = from.is_open() && to > from;
            match writing.hear() {
                Heard::Committed(2) => assert!(forward, "{from:?} became {to:?}"),
                Heard::Failed(2, error) => {
                    assert!(!forward, "{from:?} to {to:?}: {error}");
                    assert_eq!(error.kind, CommitErrorKind::Constraint { statement: "usage" }, "{from:?} to {to:?}");
                }
                other => panic!("{other:?}"),
            }
            writing.handle.reopen().unwrap();
            let stored = reader.sends(&[send_id(1)]).unwrap();
            assert_eq!(&stored[&send_id(1)], if forward { &after } else { &before });
            checked(&reader);
        }
    }
}

#[test]
fn what_was_never_set_aside_cannot_be_over() {
    for (state, row) in states() {
        let dir = memory_dir();
        let writing = Writing::start(opened(dir.path()).store);
        writing.put(1, vec![put(&row)]);
        assert_eq!(writing.hear() == Heard::Committed(1), state == SendState::Reserved, "{state:?}");
    }
}

#[test]
fn only_what_is_of_unknown_cost_is_corrected_and_once() {
    let late = |n| SendRow { late: true, ..over(&reserved(1, 1), SendState::Settled, Some(receipt(n))) };
    for (from, before) in states() {
        let dir = memory_dir();
        let opened = opened(dir.path());
        let reader = opened.store.reader();
        let writing = Writing::start(opened.store);
        let mut so_far = vec![put(&reserved(1, 1))];
        if from != SendState::Reserved {
            so_far.push(put(&before));
        }
        writing.put(1, so_far);
        assert_eq!(writing.hear(), Heard::Committed(1));
        writing.put(2, vec![correct(&late(2), &before)]);
        let heard = writing.hear();
        if before.is_of_unknown_cost() {
            assert_eq!(heard, Heard::Committed(2));
            assert_eq!(checked(&reader).settled, NanoDollars::new(2));
            writing.put(3, vec![correct(&late(3), &before)]);
            assert!(matches!(writing.hear(), Heard::Failed(3, _)), "corrected twice");
        } else {
            assert!(matches!(heard, Heard::Failed(2, _)), "{from:?} was corrected");
        }
        writing.handle.reopen().unwrap();
        checked(&reader);
    }
}

#[test]
fn what_an_answer_did_not_say_is_corrected_by_a_cost_and_nothing_else() {
    let dir = memory_dir();
    let opened = opened(dir.path());
    let reader = opened.store.reader();
    let writing = Writing::start(opened.store);
    let silent = over(&reserved(1, 1), SendState::Settled, Some(receipt(1)));
    assert!(silent.is_of_unknown_cost());
    writing.put(1, vec![put(&reserved(1, 1)), put(&silent)]);
    assert_eq!(writing.hear(), Heard::Committed(1));
    let told = over(&reserved(1, 1), SendState::Settled, Some(receipt(2)));
    writing.put(2, vec![correct(&told, &silent)]);
    assert_eq!(writing.hear(), Heard::Committed(2));
    assert_eq!(checked(&reader), sum([told.clone()].iter()));
    writing.put(3, vec![correct(&silent, &told)]);
    assert!(matches!(writing.hear(), Heard::Failed(3, _)), "what is known is not forgotten");
}

#[test]
fn the_sum_of_a_tree_leaves_out_what_is_asked_for() {
    let dir = memory_dir();
    let opened = opened(dir.path());
    let reader = opened.store.reader();
    let writing = Writing::start(opened.store);
    let tasks = [2, 3, 4].map(|n| script::added(script::task(n)));
    let rows = [reserved(1, 2), reserved(2, 3), reserved(3, 4)];
    let settled = over(&rows[1], SendState::Settled, Some(receipt(2)));
    let changes = tasks.into_iter().chain(rows.iter().map(put)).chain([put(&settled)]);
    writing.put(1, changes.collect());
    assert_eq!(writing.hear(), Heard::Committed(1));
    let [first, second, third] = [&rows[0], &settled, &rows[2]];
    assert_eq!((first.root, second.root), (first.task, first.task), "the third belongs to the second");
    for task in [first.task, second.task] {
        assert_eq!(reader.tree(task, &[]).unwrap(), sum([first.clone(), second.clone()].iter()));
        assert_eq!(reader.tree(task, &[second.id, third.id]).unwrap(), sum([first.clone()].iter()));
    }
    assert_eq!(reader.tree(rows[2].task, &[]).unwrap(), sum([third.clone()].iter()));
    assert_eq!(reader.tree(ouroboros_proto::kind::TaskId::from_bytes([99; 16]), &[]).unwrap(), Tally::default());
}

#[test]
fn a_correction_must_say_that_it_is_late() {
    let dir = memory_dir();
    let writing = Writing::start(opened(dir.path()).store);
    let given_up = over(&reserved(1, 1), SendState::Unresolved, None);
    writing.put(1, vec![put(&reserved(1, 1)), put(&given_up)]);
    assert_eq!(writing.hear(), Heard::Committed(1));
    let row = over(&reserved(1, 1), SendState::Settled, Some(receipt(2)));
    writing.put(2, vec![correct(&row, &given_up)]);
    assert!(matches!(writing.hear(), Heard::Failed(2, _)), "it could be corrected again");
}

#[test]
fn the_kept_sum_is_that_of_the_rows_after_random_lives_and_failed_commits() {
    for seed in 1..=12_u64 {
        let dir = memory_dir();
        let opened = opened(dir.path());
        let reader = opened.store.reader();
        let writing = Writing::start(opened.store);
        let mut rows: Vec<SendRow> = Vec::new();
        let mut random = seed;
        let mut draw = |most: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % most
        };
        for decision in 1..=60 {
            let mut changes = Vec::new();
            let mut next = rows.clone();
            for _ in 0..=draw(4) {
                let at = draw(next.len() as u64 + 2) as usize;
                match next.get_mut(at) {
                    Some(row) if row.state.is_open() => {
                        let n = draw(1_000);
                        *row = match draw(4) {
                            0 => over(row, SendState::Settled, Some(receipt(n))),
                            1 => over(row, SendState::Unresolved, None),
                            2 => over(row, SendState::Released, None),
                            _ if row.state == SendState::Dispatched => continue,
                            _ => SendRow { state: SendState::Dispatched, ..row.clone() },
                        };
                        changes.push(put(row));
                    }
                    Some(row) if row.state == SendState::Unresolved => {
                        let was = row.clone();
                        *row = SendRow { late: true, ..over(row, SendState::Settled, Some(receipt(draw(1_000)))) };
                        changes.push(correct(row, &was));
                    }
                    Some(_) => {}
                    None => {
                        let row = reserved(next.len() as u64 + 1, 1 + draw(5));
                        changes.push(put(&row));
                        next.push(row);
                    }
                }
            }
            if draw(8) == 0 {
                // The whole group is undone: the last of it contradicts.
                changes.push(put(&over(&reserved(9_999, 1), SendState::Released, None)));
                writing.put(decision, changes);
                assert!(matches!(writing.hear(), Heard::Failed(..)));
                writing.handle.reopen().unwrap();
            } else {
                writing.put(decision, changes);
                assert_eq!(writing.hear(), Heard::Committed(decision));
                rows = next;
            }
            assert_eq!(checked(&reader), sum(rows.iter()), "seed {seed}, decision {decision}");
        }
        let total = writing.handle.reopen().unwrap().live.spent.total;
        assert_eq!(total, sum(rows.iter()));
    }
}

#[test]
fn sums_are_loaded_for_what_lives_only() {
    let dir = tempfile::tempdir().unwrap();
    let opened = opened(dir.path());
    let reader = opened.store.reader();
    let writing = Writing::start(opened.store);
    (1..=6).for_each(|decision| writing.commit(decision));
    // Task 1 has settled and task 2 has not.
    let spent = writing.handle.reopen().unwrap().live.spent;
    assert_eq!(spent.tasks.keys().copied().collect::<Vec<_>>(), [script::task_id(2)]);
    assert_eq!(spent.trees.keys().copied().collect::<Vec<_>>(), [script::task_id(2)]);
    assert_eq!(spent.total, checked(&reader));
    assert!(spent.total.unresolved > NanoDollars::new(0), "what task 1 spent is in the whole");
}

#[test]
fn absurd_amounts_do_not_keep_a_store_from_opening() {
    let dir = tempfile::tempdir().unwrap();
    let opened = opened(dir.path());
    let reader = opened.store.reader();
    let writing = Writing::start(opened.store);
    let huge = Receipt {
        cost: Some(Cost { amount: NanoDollars::MAX, source: CostSource::Provider }),
        usage: TokenUsage { input: Some(i64::MAX.unsigned_abs()), ..TokenUsage::default() },
        ..receipt(1)
    };
    let rows = [1, 2, 3].map(|n| SendRow { bound: NanoDollars::MAX, ..reserved(n, 1) });
    writing.put(1, rows.iter().map(put).collect());
    assert_eq!(writing.hear(), Heard::Committed(1));
    assert_eq!(writing.handle.reopen().unwrap().live.spent.total.open, NanoDollars::MAX);
    writing.put(2, rows.iter().map(|row| put(&over(row, SendState::Settled, Some(huge.clone())))).collect());
    assert_eq!(writing.hear(), Heard::Committed(2));
    assert_eq!(writing.handle.reopen().unwrap().live.spent.total.settled, NanoDollars::MAX);
    assert_eq!(checked(&reader).settled, NanoDollars::MAX);
}
