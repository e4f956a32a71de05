//! What comes of a send, told once, twice or late.

use super::till::{ADMITTED, WAITS, answer, nano, receipt, send_id, tally, total};
use crate::rig::{PLAIN, Place, Rig};
use ouroboros_domain::{AnswerKind, Change, MoneyInput, Receipt, SendAnswer, SendEnd};
use ouroboros_proto::kind::{Event, NanoDollars, SendState};

const RECORDED: Option<SendAnswer> = Some(SendAnswer::Recorded);

fn sending(limit: u64) -> (Rig, Place) {
    let mut rig = Rig::with(total(limit));
    let (_, place) = rig.asking(PLAIN);
    assert_eq!(rig.reserve(place, 1, 60), ADMITTED);
    (rig, place)
}

#[test]
fn each_end_counts_what_it_should() {
    for (end, state, sums) in [
        (SendEnd::Settled(receipt(Some(40))), SendState::Settled, tally(40, 0, 0)),
        (SendEnd::Settled(receipt(Some(0))), SendState::Settled, tally(0, 0, 0)),
        (SendEnd::Settled(receipt(None)), SendState::Settled, tally(0, 0, 60)),
        (SendEnd::Within(receipt(None), NanoDollars::new(7)), SendState::Settled, tally(0, 0, 7)),
        (SendEnd::Within(receipt(None), NanoDollars::new(70)), SendState::Settled, tally(0, 0, 60)),
        (SendEnd::Unresolved, SendState::Unresolved, tally(0, 0, 60)),
        (SendEnd::Released, SendState::Released, tally(0, 0, 0)),
    ] {
        for dispatched in [false, true] {
            let (mut rig, _) = sending(100);
            if dispatched {
                rig.dispatch(1);
                assert_eq!(rig.state(1), Some(SendState::Dispatched));
                assert_eq!(rig.sums(), tally(0, 60, 0));
            }
            assert_eq!(answer(&rig.over(1, end.clone()), 1), RECORDED);
            assert_eq!((rig.state(1), rig.sums()), (Some(state), sums), "{end:?}");
            assert!(rig.row(1).ended_at.is_some());
            assert!(rig.events.iter().any(|it| matches!(it, Event::Sent { state: told, .. } if *told == state)));
            assert_eq!(rig.core.rows().sends, [], "it has left memory");
        }
    }
}

#[test]
fn told_twice_is_recorded_once() {
    let (mut rig, _) = sending(100);
    rig.settle(1, 40);
    for end in [SendEnd::Settled(receipt(Some(50))), SendEnd::Unresolved, SendEnd::Released] {
        let again = rig.over(1, end);
        assert_eq!((answer(&again, 1), again.changes.len()), (RECORDED, 0));
    }
    assert_eq!(rig.money(MoneyInput::Dispatched { send: send_id(1) }).changes, []);
    assert_eq!(rig.sums(), tally(40, 0, 0));
}

#[test]
fn leaving_alone_needs_no_sync_and_everything_else_does() {
    let (mut rig, _) = sending(100);
    let left = rig.money(MoneyInput::Dispatched { send: send_id(1) });
    assert!(!left.changes.iter().any(Change::needs_sync));
    let again = rig.money(MoneyInput::Dispatched { send: send_id(1) });
    assert_eq!(again.changes, [], "it leaves once");
    assert!(rig.settle(1, 1).changes.iter().any(Change::needs_sync));
}

#[test]
fn a_withdrawal_before_and_after_it_was_set_aside() {
    let (mut rig, place) = sending(100);
    assert_eq!(rig.reserve(place, 2, 60), WAITS);
    let gone = rig.withdraw(2);
    assert_eq!((answer(&gone, 2), gone.changes.len()), (RECORDED, 0), "what waited leaves no trace");
    assert_eq!(answer(&rig.settle(1, 10), 2), None);
    assert_eq!(rig.reserve(place, 3, 60), ADMITTED);
    assert_eq!(answer(&rig.withdraw(3), 3), RECORDED);
    assert_eq!((rig.state(3), rig.sums()), (Some(SendState::Released), tally(10, 0, 0)));
    assert_eq!(rig.reserve(place, 4, 60), ADMITTED);
    rig.dispatch(4);
    assert_eq!(answer(&rig.withdraw(4), 4), RECORDED);
    assert_eq!(rig.state(4), Some(SendState::Dispatched), "what has left cannot be taken back");
}

#[test]
fn a_withdrawal_lets_the_next_in() {
    let (mut rig, place) = sending(100);
    rig.reserve(place, 2, 60);
    assert_eq!(answer(&rig.withdraw(1), 2), ADMITTED);
}

#[test]
fn a_late_receipt_corrects_what_was_given_up_and_only_once() {
    let (mut rig, _) = sending(100);
    rig.over(1, SendEnd::Unresolved);
    assert_eq!(answer(&rig.late(1, 7), 1), RECORDED);
    assert_eq!((rig.sums(), rig.state(1), rig.row(1).late), (tally(7, 0, 0), Some(SendState::Settled), true));
    let again = rig.late(1, 9);
    assert_eq!((answer(&again, 1), again.changes.len()), (RECORDED, 0));
    assert_eq!(rig.row(1).receipt.as_ref().and_then(|it| it.cost).map(|it| it.amount), Some(nano(7)));
}

#[test]
fn a_late_receipt_touches_nothing_else() {
    for end in [SendEnd::Settled(receipt(Some(5))), SendEnd::Released] {
        let (mut rig, _) = sending(100);
        rig.over(1, end.clone());
        let before = rig.sums();
        assert_eq!(rig.late(1, 9).changes, [], "{end:?}");
        assert_eq!(rig.sums(), before);
    }
    let (mut rig, _) = sending(100);
    assert_eq!(rig.late(1, 9).changes, [], "it is still under way");
    assert_eq!(rig.late(8, 9).changes, [], "nobody knows it");
}

#[test]
fn a_late_receipt_is_taken_before_the_store_knows_that_it_is_late() {
    let (mut rig, _) = sending(100);
    rig.late = true;
    rig.over(1, SendEnd::Unresolved);
    let corrected = rig.late(1, 7);
    assert!(corrected.changes.iter().any(|it| matches!(it, Change::SendCorrected { .. })));
    assert_eq!(rig.late(1, 9).changes, [], "and once, though the store knows of neither");
    assert_eq!(rig.sums(), tally(7, 0, 0));
}

#[test]
fn a_late_receipt_of_unknown_cost_leaves_the_bound_standing() {
    let (mut rig, _) = sending(100);
    rig.over(1, SendEnd::Unresolved);
    rig.money(MoneyInput::Late { send: send_id(1), receipt: receipt(None) });
    assert_eq!((rig.sums(), rig.state(1)), (tally(0, 0, 60), Some(SendState::Settled)));
}

#[test]
fn what_an_answer_cost_that_did_not_say_is_told_once() {
    for given_up in [false, true] {
        let (mut rig, _) = sending(100);
        if given_up {
            rig.over(1, SendEnd::Unresolved);
            rig.money(MoneyInput::Late { send: send_id(1), receipt: receipt(None) });
        } else {
            rig.over(1, SendEnd::Settled(receipt(None)));
        }
        assert_eq!(rig.sums(), tally(0, 0, 60), "its bound counts");
        assert_eq!(rig.money(MoneyInput::Late { send: send_id(1), receipt: receipt(None) }).changes, [], "nothing new");
        let told = Receipt { model: "".into(), answer: AnswerKind::Unusable, ..receipt(Some(7)) };
        rig.money(MoneyInput::Late { send: send_id(1), receipt: told });
        assert_eq!((rig.sums(), rig.state(1)), (tally(7, 0, 0), Some(SendState::Settled)));
        let known = rig.row(1).receipt.clone().expect("it has one");
        assert_eq!((&*known.model, known.answer), ("m", AnswerKind::Answer), "what the answer told stays");
        assert_eq!(rig.row(1).late, given_up);
        assert_eq!(rig.late(1, 9).changes, [], "once");
    }
}

#[test]
fn sums_of_a_task_that_has_settled_are_not_kept_and_the_whole_is() {
    let (mut rig, place) = sending(100);
    rig.terminal(place, 1, ouroboros_proto::kind::Ending::Answered);
    rig.gone(place, ouroboros_domain::WorkerExit::Code(0));
    rig.settle(1, 20);
    let spent = rig.core.spent();
    assert!(spent.tasks.is_empty() && spent.trees.is_empty(), "{spent:?}");
    assert_eq!(spent.total, tally(20, 0, 0));
}
