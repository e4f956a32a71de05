//! What may have been answered and paid is sent again by nobody but its owner: retries are for failures.

use super::till::{receipt, total};
use crate::rig::{PLAIN, Place, Rig};
use ouroboros_domain::{Policy, Receipt, SendEnd, WorkerExit};
use ouroboros_proto::kind::{Ending, Failure, ModelFailure, Outcome, TaskId};

const UNKNOWN: Ending = Ending::ModelFailed { failure: ModelFailure::Unknown };
const UNAVAILABLE: Ending = Ending::ModelFailed { failure: ModelFailure::Unavailable };

fn sending(rerun: bool) -> (Rig, TaskId, Place) {
    let mut rig = Rig::with(total(1_000));
    let (task, place) = rig.asking(Policy { retries: 3, rerun, ..PLAIN });
    rig.reserve(place, 1, 60);
    rig.dispatch(1);
    (rig, task, place)
}

/// Its worker says how it ended and leaves.
fn ends(rig: &mut Rig, place: Place, ending: Ending) {
    rig.terminal(place, 1, ending);
    rig.gone(place, WorkerExit::Code(0));
}

fn failed(ending: Ending) -> Option<Outcome> {
    Some(Outcome::Failed(Failure::Ended(ending)))
}

#[test]
fn a_retry_does_not_repeat_what_is_unknown() {
    for ending in [UNKNOWN, UNAVAILABLE, Ending::TimedOut] {
        let (mut rig, task, place) = sending(false);
        rig.over(1, SendEnd::Unresolved);
        ends(&mut rig, place, ending);
        assert_eq!(rig.outcome(task), failed(ending));
        let (mut rig, task, place) = sending(false);
        ends(&mut rig, place, ending);
        assert_eq!(rig.outcome(task), failed(ending), "nobody has told yet what came of it");
        let (mut rig, task, place) = sending(false);
        rig.over(1, SendEnd::Unresolved);
        rig.late(1, 5);
        ends(&mut rig, place, ending);
        assert_eq!(rig.outcome(task), failed(ending), "what it cost is known, what was answered is not");
    }
}

#[test]
fn a_retry_follows_a_failure_that_is_known() {
    let error = Receipt { answer: ouroboros_domain::AnswerKind::Error, ..receipt(Some(0)) };
    for end in [SendEnd::Settled(error), SendEnd::Settled(receipt(None)), SendEnd::Released] {
        for ending in [UNAVAILABLE, Ending::TimedOut] {
            let (mut rig, task, place) = sending(false);
            rig.over(1, end.clone());
            ends(&mut rig, place, ending);
            assert_eq!(rig.outcome(task), None, "{end:?} {ending:?}");
            assert_eq!(rig.core.task(task).map(|row| row.retried), Some(1));
        }
    }
}

#[test]
fn the_owner_can_want_it_repeated() {
    let (mut rig, task, place) = sending(true);
    rig.over(1, SendEnd::Unresolved);
    ends(&mut rig, place, UNKNOWN);
    assert_eq!((rig.outcome(task), rig.core.task(task).map(|row| row.retried)), (None, Some(1)));
}

#[test]
fn the_next_life_knows_what_was_unknown() {
    for told in [false, true] {
        let (mut rig, task, place) = sending(false);
        if told {
            rig.over(1, SendEnd::Unresolved);
        }
        rig.terminal(place, 1, UNAVAILABLE);
        let rig = rig.reborn(total(1_000));
        assert_eq!(rig.outcome(task), failed(UNAVAILABLE), "told before: {told}");
    }
}

#[test]
fn what_another_attempt_does_not_know_is_no_concern_of_this_one() {
    let (mut rig, _, place) = sending(false);
    let (other, beside) = rig.asking(Policy { retries: 3, ..PLAIN });
    rig.over(1, SendEnd::Unresolved);
    ends(&mut rig, beside, UNAVAILABLE);
    assert_eq!(rig.core.task(other).map(|row| row.retried), Some(1));
    ends(&mut rig, place, UNKNOWN);
    assert!(rig.core.rows().unknown.is_empty(), "an attempt that ended is not kept in mind");
}
