//! Waits for a model or for the hour: they wake by themselves.

use super::till::{ADMITTED, answer, limited, nano, receipt};
use crate::rig::{PLAIN, Place, Rig};
use ouroboros_domain::{
    AnswerKind, MoneyInput, Park, Policy, Receipt, Refusal, Reply, SendAnswer, SendEnd, Wait, WorkerExit,
};
use ouroboros_proto::kind::{Ending, Event, Failure, Millis, Outcome, PauseId, TaskId, WaitReason};

const NETWORK: WaitReason = WaitReason::Network;

fn wait(rig: &Rig, task: TaskId) -> Wait {
    match rig.park(task) {
        Some(Park::Waiting(wait)) => wait,
        other => panic!("{other:?}"),
    }
}

/// The seconds from now that a blocked call is told to wait.
fn seconds(rig: &Rig, answer: Option<SendAnswer>) -> i64 {
    match answer {
        Some(SendAnswer::Waiting { until, .. }) => (until.get() - rig.wall) / 1_000_000,
        other => panic!("{other:?}"),
    }
}

/// It waits, its time comes, and it runs again.
fn again(rig: &mut Rig, task: TaskId, place: Place) -> Place {
    rig.parks(place);
    assert_eq!(rig.place(task), None);
    rig.wall = wait(rig, task).until.get() - 1;
    rig.tick();
    assert_eq!(rig.place(task), None, "not a microsecond before its time");
    rig.wall += 1;
    rig.tick();
    rig.workers();
    rig.place(task).expect("it wakes by itself")
}

#[test]
fn the_back_off_doubles_up_to_a_bound_and_never_runs_below_what_the_provider_asks() {
    let mut rig = Rig::new();
    let (task, mut place) = rig.asking(PLAIN);
    for expected in [30, 60, 120, 240, 480, 900, 900] {
        let told = rig.blocked(place, NETWORK, None);
        assert_eq!(seconds(&rig, told), expected);
        place = again(&mut rig, task, place);
    }
    let told = rig.blocked(place, NETWORK, Some(Millis::seconds(5_000)));
    assert_eq!(seconds(&rig, told), 5_000);
    rig.entropy = u64::MAX;
    let (_, other) = rig.asking(PLAIN);
    let told = rig.blocked(other, NETWORK, Some(Millis::seconds(10)));
    assert!((30..38).contains(&seconds(&rig, told)), "up to a quarter more: {told:?}");
}

#[test]
fn an_answer_ends_a_row_of_waits_and_an_error_does_not() {
    for (kind, expected) in [(AnswerKind::Answer, 30), (AnswerKind::Error, 60), (AnswerKind::Unusable, 60)] {
        let mut rig = Rig::new();
        let (task, place) = rig.asking(PLAIN);
        rig.blocked(place, NETWORK, None);
        let place = again(&mut rig, task, place);
        assert_eq!(rig.reserve(place, 1, 1), ADMITTED, "it tries again");
        rig.over(1, SendEnd::Settled(Receipt { answer: kind, ..receipt(Some(1)) }));
        let told = rig.blocked(place, NETWORK, None);
        assert_eq!(seconds(&rig, told), expected, "{kind:?}");
    }
}

#[test]
fn an_attempt_that_waits_sends_nothing_and_is_told_the_same_again() {
    let mut rig = Rig::new();
    let (task, place) = rig.asking(PLAIN);
    let told = rig.blocked(place, NETWORK, None);
    rig.wall += 1_000_000;
    assert_eq!(rig.blocked(place, WaitReason::NoRoute, None), told, "told twice, it waits once");
    assert_eq!(rig.reserve(place, 1, 1), told);
    assert_eq!(wait(&rig, task).tries, 1);
    assert_eq!(rig.events.iter().filter(|it| matches!(it, Event::WaitsForModel { .. })).count(), 1);
}

#[test]
fn it_is_parked_however_its_attempt_leaves_and_the_next_one_answers_for_itself() {
    for exit in [WorkerExit::Code(0), WorkerExit::Signal(11)] {
        let mut rig = Rig::new();
        let (task, place) = rig.asking(PLAIN);
        rig.reserve(place, 1, 1);
        rig.over(1, SendEnd::Settled(Receipt { answer: AnswerKind::Error, ..receipt(Some(0)) }));
        rig.blocked(place, NETWORK, None);
        // A clock that is set back does not make it another attempt's wait.
        rig.wall -= 500_000_000;
        rig.gone(place, exit);
        rig.workers();
        assert_eq!((rig.outcome(task), rig.core.counts().waiting), (None, 1), "{exit:?}");
        rig.wall = wait(&rig, task).until.get();
        rig.tick();
        rig.workers();
        let place = rig.place(task).expect("it wakes");
        rig.reserve(place, 2, 1);
        rig.gone(place, exit);
        assert_eq!(rig.outcome(task), Some(Outcome::Failed(Failure::Interrupted)), "that one had no reason to leave");
    }
}

#[test]
fn new_routes_wake_who_waits_for_a_route_or_a_key_and_nobody_else() {
    let mut rig = Rig::with(limited(|_| ()));
    let waiting: Vec<_> = [WaitReason::NoRoute, WaitReason::Auth, NETWORK, WaitReason::HourLimit]
        .into_iter()
        .map(|reason| {
            let (task, place) = rig.asking(PLAIN);
            rig.blocked(place, reason, None);
            rig.parks(place);
            (reason, task)
        })
        .collect();
    rig.money(MoneyInput::RoutesChanged);
    rig.workers();
    for (reason, task) in waiting {
        let woken = matches!(reason, WaitReason::NoRoute | WaitReason::Auth);
        assert_eq!(rig.place(task).is_some(), woken, "{reason:?}");
    }
}

#[test]
fn new_routes_are_not_missed_by_an_attempt_that_is_just_leaving() {
    let mut rig = Rig::new();
    let (task, place) = rig.asking(PLAIN);
    rig.blocked(place, WaitReason::NoRoute, None);
    rig.money(MoneyInput::RoutesChanged);
    rig.parks(place);
    rig.tick();
    rig.workers();
    assert!(rig.place(task).is_some(), "it looks again as soon as it has left");
}

#[test]
fn the_hour_moves_on_and_so_does_the_task() {
    let mut rig = Rig::with(limited(|limits| limits.hour = Some(nano(100))));
    let (task, place) = rig.asking(PLAIN);
    rig.reserve(place, 1, 60);
    rig.settle(1, 60);
    rig.pass(Millis::seconds(30 * 60));
    rig.reserve(place, 2, 40);
    rig.settle(2, 40);
    let told = rig.reserve(place, 3, 50);
    assert!((29 * 60..=31 * 60).contains(&seconds(&rig, told)), "the first 60 leave in half an hour: {told:?}");
    let place = again(&mut rig, task, place);
    assert_eq!(rig.reserve(place, 4, 50), ADMITTED);
    let told = rig.reserve(place, 5, 50);
    assert!((29 * 60..=31 * 60).contains(&seconds(&rig, told)), "{told:?}");
}

#[test]
fn waits_for_the_hour_do_not_slow_waits_for_a_model() {
    let mut rig = Rig::with(limited(|limits| limits.hour = Some(nano(100))));
    let (task, place) = rig.asking(PLAIN);
    rig.reserve(place, 1, 100);
    rig.settle(1, 100);
    rig.reserve(place, 2, 50);
    let place = again(&mut rig, task, place);
    let told = rig.blocked(place, NETWORK, None);
    assert_eq!(seconds(&rig, told), 30);
}

#[test]
fn a_clock_that_was_wrong_by_years_does_not_blind_the_hour() {
    const YEAR: i64 = 365 * 24 * 3_600_000_000;
    let mut rig = Rig::with(limited(|limits| limits.hour = Some(nano(100))));
    let (_, place) = rig.asking(PLAIN);
    rig.wall += YEAR;
    assert_eq!(rig.reserve(place, 1, 90), ADMITTED);
    rig.settle(1, 90);
    rig.wall -= YEAR;
    assert_eq!(rig.reserve(place, 2, 90), ADMITTED, "what was spent at a time that never was");
    rig.settle(2, 90);
    let told = rig.reserve(place, 3, 90);
    assert!(seconds(&rig, told) <= 61 * 60, "the limit holds, and for an hour only: {told:?}");
}

#[test]
fn a_clock_that_is_set_back_a_little_keeps_the_hour() {
    let mut rig = Rig::with(limited(|limits| limits.hour = Some(nano(100))));
    let (_, place) = rig.asking(PLAIN);
    rig.reserve(place, 1, 90);
    rig.settle(1, 90);
    rig.wall -= 40 * 60_000_000;
    assert!(matches!(rig.reserve(place, 2, 90), Some(SendAnswer::Waiting { .. })));
}

#[test]
fn its_owner_may_wake_it() {
    let mut rig = Rig::new();
    let (task, place) = rig.asking(PLAIN);
    rig.blocked(place, NETWORK, None);
    crate::rig::assert_refused(&rig.resume(task, None, None), Refusal::NotPaused);
    rig.parks(place);
    let other = Some(PauseId::from_bytes([1; 16]));
    crate::rig::assert_refused(&rig.resume(task, other, None), Refusal::NotPaused);
    assert_eq!(rig.resume(task, None, None).0, Reply::Done);
    rig.workers();
    assert!(rig.place(task).is_some());
    assert_eq!(rig.park(task), None);
}

#[test]
fn who_is_not_running_is_told_that_it_ends() {
    let mut rig = Rig::new();
    let (task, place) = rig.asking(Policy { rerun: true, ..PLAIN });
    rig.cancel(task, 1_000);
    assert_eq!(rig.blocked(place, NETWORK, None), Some(SendAnswer::Ending));
    rig.terminal(place, 1, Ending::Stopped);
    rig.gone(place, WorkerExit::Code(0));
    assert_eq!(rig.blocked(place, NETWORK, None), Some(SendAnswer::Ending));
    let unknown = rig.money(MoneyInput::Blocked {
        send: super::till::send_id(1),
        worker: place.worker,
        attempt: ouroboros_proto::kind::AttemptId::from_bytes([7; 16]),
        reason: NETWORK,
        after: None,
    });
    assert_eq!(answer(&unknown, 1), Some(SendAnswer::Ending));
}
