//! Whether a bound fits, for each limit.

use super::till::{ADMITTED, WAITS, answer, limited, nano, paused, send_id, tally, total};
use crate::rig::{PLAIN, Rig};
use ouroboros_domain::{MoneyInput, Policy, Reservation, SendAnswer, SendEnd, Settings};
use ouroboros_proto::kind::{Allowance, AttemptId, LimitScope, SendState, WaitReason, WorkerId};

/// Settings in which only this limit is set.
fn only(scope: LimitScope, limit: u64) -> Settings {
    limited(|limits| {
        let limit = Some(nano(limit));
        match scope {
            LimitScope::Total => limits.total = limit,
            LimitScope::Hour => limits.hour = limit,
            LimitScope::Tree => limits.tree = limit,
            LimitScope::Task => limits.task = limit,
        }
    })
}

#[test]
fn what_fits_exactly_is_set_aside_and_no_nano_dollar_more() {
    for scope in LimitScope::ALL {
        let mut rig = Rig::with(only(scope, 100));
        let (_, place) = rig.asking(PLAIN);
        let decision = rig.reserves(place, 1, 100);
        assert_eq!(answer(&decision, 1), ADMITTED, "{scope:?}");
        assert!(decision.changes.iter().any(ouroboros_domain::Change::needs_sync), "durable before it is answered");
        assert_eq!(rig.state(1), Some(SendState::Reserved));
        assert!(rig.attempts[&place.attempt].released, "from now on it may have had effects");
        assert_ne!(rig.reserve(place, 2, 1), ADMITTED, "{scope:?}");
        assert_eq!(rig.sums(), tally(0, 100, 0));
    }
}

#[test]
fn what_is_under_way_is_waited_for() {
    for scope in [LimitScope::Total, LimitScope::Tree, LimitScope::Task] {
        let mut rig = Rig::with(only(scope, 100));
        let (_, place) = rig.asking(PLAIN);
        assert_eq!(rig.reserve(place, 1, 60), ADMITTED);
        assert_eq!(rig.reserve(place, 2, 60), WAITS, "{scope:?}");
        let decision = rig.settle(1, 40);
        assert_eq!((answer(&decision, 1), answer(&decision, 2)), (Some(SendAnswer::Recorded), ADMITTED), "{scope:?}");
        assert_eq!(rig.sums(), tally(40, 60, 0));
    }
}

#[test]
fn who_waits_for_what_turns_out_too_dear_is_paused() {
    for scope in [LimitScope::Total, LimitScope::Tree, LimitScope::Task] {
        let mut rig = Rig::with(only(scope, 100));
        let (_, place) = rig.asking(PLAIN);
        rig.reserve(place, 1, 60);
        rig.reserve(place, 2, 60);
        let decision = rig.over(1, SendEnd::Unresolved);
        assert_eq!(answer(&decision, 2), paused(scope), "it may have cost its bound");
        assert_eq!(rig.state(2), None);
    }
}

#[test]
fn what_is_used_up_pauses_and_what_can_never_fit_too() {
    for scope in LimitScope::ALL {
        let mut rig = Rig::with(only(scope, 100));
        let (_, place) = rig.asking(PLAIN);
        assert_eq!(rig.reserve(place, 1, 101), paused(scope), "larger than the limit, however little is spent");
    }
    for scope in [LimitScope::Total, LimitScope::Tree, LimitScope::Task] {
        let mut rig = Rig::with(only(scope, 100));
        let (_, place) = rig.asking(PLAIN);
        rig.reserve(place, 1, 60);
        rig.settle(1, 50);
        assert_eq!(rig.reserve(place, 2, 51), paused(scope));
    }
}

#[test]
fn a_full_hour_is_a_wait_and_not_a_pause() {
    let mut rig = Rig::with(only(LimitScope::Hour, 100));
    let (_, place) = rig.asking(PLAIN);
    rig.reserve(place, 1, 60);
    rig.settle(1, 60);
    let Some(SendAnswer::Waiting { reason: WaitReason::HourLimit, until }) = rig.reserve(place, 2, 60) else {
        panic!("{:?}", rig.park(rig.attempts[&place.attempt].task))
    };
    let minutes = (until.get() - rig.wall) / 60_000_000;
    assert!((60..=61).contains(&minutes), "the minute of the first send has left the hour: {minutes}");
}

#[test]
fn the_first_limit_that_is_used_up_is_named_and_the_others_count_too() {
    let mut rig = Rig::with(limited(|limits| {
        limits.total = Some(nano(1_000));
        limits.tree = Some(nano(100));
    }));
    let (_, place) = rig.capped(50);
    assert_eq!(rig.reserve(place, 1, 60), paused(LimitScope::Task), "its own limit, though all others have room");
    let (_, place) = rig.capped(500);
    assert_eq!(rig.reserve(place, 2, 101), paused(LimitScope::Tree), "the owner's limit on the tree stands above it");
}

#[test]
fn a_task_with_a_limit_of_its_own_does_not_have_the_one_of_the_settings() {
    let mut rig = Rig::with(only(LimitScope::Task, 10));
    let (_, place) = rig.capped(100);
    assert_eq!(rig.reserve(place, 1, 100), ADMITTED);
}

#[test]
fn a_task_whose_own_limit_is_none_has_none() {
    let mut rig = Rig::with(only(LimitScope::Task, 10));
    let (_, place) = rig.asking(Policy { max_cost: Some(Allowance(None)), ..PLAIN });
    assert_eq!(rig.reserve(place, 1, u64::MAX), ADMITTED);
    assert_eq!(rig.reserve(place, 2, u64::MAX), ADMITTED);
}

#[test]
fn without_a_limit_everything_fits() {
    let mut rig = Rig::new();
    let (_, place) = rig.asking(PLAIN);
    assert_eq!(rig.reserve(place, 1, u64::MAX), ADMITTED);
    assert_eq!(rig.reserve(place, 2, u64::MAX), ADMITTED);
}

#[test]
fn asking_again_for_the_same_send_sets_nothing_more_aside() {
    let mut rig = Rig::with(total(100));
    let (_, place) = rig.asking(PLAIN);
    rig.reserve(place, 1, 60);
    assert_eq!(rig.reserve(place, 1, 60), ADMITTED);
    assert_eq!(rig.sums(), tally(0, 60, 0));
    assert_eq!((rig.reserve(place, 2, 60), rig.reserve(place, 2, 60)), (WAITS, WAITS));
    assert_eq!(answer(&rig.settle(1, 0), 2), ADMITTED, "asked twice, answered once");
}

#[test]
fn who_is_not_running_that_attempt_gets_nothing() {
    let mut rig = Rig::with(total(100));
    let (task, place) = rig.asking(PLAIN);
    let (_, other) = rig.asking(PLAIN);
    let wrong = |worker, attempt| Reservation {
        send: send_id(1),
        worker,
        attempt,
        call: 1,
        ordinal: 1,
        route: "r".into(),
        bound: nano(1),
        basis: ouroboros_domain::PriceBasis::Known,
    };
    for (worker, attempt) in [
        (other.worker, place.attempt),
        (WorkerId::new(999), place.attempt),
        (place.worker, AttemptId::from_bytes([7; 16])),
        (place.worker, other.attempt),
    ] {
        let decision = rig.money(MoneyInput::Reserve(wrong(worker, attempt)));
        assert_eq!(answer(&decision, 1), Some(SendAnswer::Ending), "{worker} {attempt}");
    }
    rig.cancel(task, 1_000);
    assert_eq!(rig.reserve(place, 1, 1), Some(SendAnswer::Ending), "it is being cancelled");
    rig.terminal(other, 1, ouroboros_proto::kind::Ending::Answered);
    assert_eq!(rig.reserve(other, 2, 1), Some(SendAnswer::Ending), "it has reported its end");
    assert_eq!(rig.sums(), tally(0, 0, 0));
}
