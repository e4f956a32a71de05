//! What the next life makes of money and grants, and what a reload does.

use super::till::{ADMITTED, answer, paused, tally, total};
use crate::rig::{PLAIN, Place, Rig, boot_input};
use ouroboros_domain::{
    Boot, Input, Living, MoneyInput, Park, Policy, Reply, SendAnswer, SendEnd, TaskState, WorkerExit,
};
use ouroboros_proto::kind::{Ending, Event, Failure, Isolation, LimitScope, Outcome, SendState, WaitReason};

#[test]
fn open_sends_of_a_dead_life_are_unresolved_at_their_bound() {
    let mut rig = Rig::with(total(100));
    let (_, place) = rig.asking(PLAIN);
    rig.reserve(place, 1, 30);
    rig.reserve(place, 2, 40);
    rig.dispatch(2);
    rig.reserve(place, 3, 10);
    rig.settle(3, 5);
    let mut rig = rig.reborn(total(100));
    assert_eq!(
        (rig.state(1), rig.state(2), rig.state(3)),
        (Some(SendState::Unresolved), Some(SendState::Unresolved), Some(SendState::Settled))
    );
    assert_eq!(rig.sums(), tally(5, 0, 70));
    let (_, place) = rig.asking(PLAIN);
    assert_eq!(rig.reserve(place, 4, 26), paused(LimitScope::Total), "what is not known counts");
    assert_eq!(answer(&rig.late(2, 1), 2), Some(SendAnswer::Recorded));
    assert_eq!(rig.sums(), tally(6, 0, 30));
}

#[test]
fn an_interrupted_call_follows_the_tasks_policy() {
    for (rerun, sent, goes_on) in [(false, false, true), (false, true, false), (true, true, true)] {
        let mut rig = Rig::new();
        let (task, place) = rig.asking(Policy { rerun, ..PLAIN });
        if sent {
            rig.reserve(place, 1, 10);
            rig.over(1, SendEnd::Released);
        }
        let rig = rig.reborn(total(100));
        assert_eq!(rig.place(task).is_some(), goes_on, "rerun {rerun}, sent {sent}");
        let failed = (!goes_on).then_some(Outcome::Failed(Failure::Interrupted));
        assert_eq!(rig.outcome(task), failed);
    }
}

#[test]
fn what_was_pausing_is_paused_in_the_next_life() {
    let mut rig = Rig::with(total(100));
    let (task, place) = rig.asking(PLAIN);
    rig.reserve(place, 1, 10);
    rig.settle(1, 10);
    assert_eq!(rig.reserve(place, 2, 100), paused(LimitScope::Total));
    let Some(Park::Pausing(pause)) = rig.park(task) else { panic!() };
    let mut rig = rig.reborn(total(100));
    assert_eq!(rig.park(task), Some(Park::Paused(pause)), "under the same id, though it had sent");
    assert_eq!(rig.core.task(task).map(|row| row.state.clone()), Some(TaskState::Queued));
    assert_eq!(rig.resume(task, Some(pause.id), None).0, Reply::Done);
}

#[test]
fn a_grant_that_was_not_used_is_void_in_the_next_life() {
    for started in [false, true] {
        let mut rig = Rig::with(total(100));
        let (task, pause) = rig.paused_task(PLAIN);
        if !started {
            rig.queue(ouroboros_domain::QueueCommand::Hold);
        }
        rig.resume(task, Some(pause), None);
        rig.workers();
        assert_eq!(rig.place(task).is_some(), started);
        let before = rig.events.iter().filter(|event| matches!(event, Event::Paused { .. })).count();
        let mut rig = rig.reborn(total(100));
        rig.queue(ouroboros_domain::QueueCommand::Release { all: false });
        assert!(matches!(rig.park(task), Some(Park::Paused(now)) if now.id == pause), "{:?}", rig.park(task));
        assert_eq!(rig.place(task), None, "its owner is asked again");
        assert_eq!(rig.events.iter().filter(|event| matches!(event, Event::Paused { .. })).count(), before + 1);
        assert_eq!(rig.core.counts().paused, 1);
    }
}

#[test]
fn a_grant_whose_task_waited_for_a_model_is_void_in_the_next_life_too() {
    for waits_on in [false, true] {
        let mut rig = Rig::with(total(100));
        let (task, pause) = rig.paused_task(PLAIN);
        rig.resume(task, Some(pause), None);
        rig.workers();
        let place = rig.place(task).expect("it goes on");
        assert!(matches!(rig.blocked(place, WaitReason::NoRoute, None), Some(SendAnswer::Waiting { .. })));
        rig.parks(place);
        if !waits_on {
            rig.money(MoneyInput::RoutesChanged);
            rig.workers();
            assert!(rig.place(task).is_some(), "in the same life it goes on");
        }
        let mut rig = rig.reborn(total(100));
        rig.pass(ouroboros_proto::kind::Millis::seconds(10_000));
        rig.workers();
        assert!(matches!(rig.park(task), Some(Park::Paused(now)) if now.id == pause), "{:?}", rig.park(task));
        assert_eq!(rig.place(task), None, "its owner is asked again");
    }
}

#[test]
fn a_grant_that_was_used_after_a_wait_is_not_asked_for_again() {
    let mut rig = Rig::with(total(100));
    let (task, pause) = rig.paused_task(PLAIN);
    rig.resume(task, Some(pause), None);
    rig.workers();
    let place = rig.place(task).expect("it goes on");
    rig.blocked(place, WaitReason::Network, None);
    rig.parks(place);
    rig.pass(ouroboros_proto::kind::Millis::seconds(100));
    rig.workers();
    let place = rig.place(task).expect("its wait is over");
    assert_eq!(rig.reserve(place, 1, 10), ADMITTED);
    assert!(matches!(rig.park(task), Some(Park::Waiting(wait)) if wait.grant.is_none() && wait.tries == 1));
}

#[test]
fn a_grant_that_was_used_follows_the_policy_for_crashes() {
    for rerun in [false, true] {
        let mut rig = Rig::with(total(100));
        let (task, pause) = rig.paused_task(Policy { rerun, ..PLAIN });
        rig.resume(task, Some(pause), None);
        rig.workers();
        let place = rig.place(task).expect("it goes on");
        assert_eq!(rig.reserve(place, 1, 10), ADMITTED);
        assert_eq!(rig.park(task), None);
        let rig = rig.reborn(total(100));
        assert_eq!(rig.place(task).is_some(), rerun);
        let failed = (!rerun).then_some(Outcome::Failed(Failure::Interrupted));
        assert_eq!(rig.outcome(task), failed);
    }
}

#[test]
fn a_grant_outlives_the_worker_it_was_meant_for() {
    let mut rig = Rig::with(total(100));
    let (task, pause) = rig.paused_task(PLAIN);
    rig.resume(task, Some(pause), None);
    rig.workers();
    let place = rig.place(task).expect("it goes on");
    rig.gone(place, WorkerExit::Signal(9));
    rig.workers();
    let again = rig.place(task).expect("nothing was sent, and the life is the same");
    assert_eq!(rig.reserve(again, 1, 10), ADMITTED);
}

#[test]
fn until_its_attempt_is_proven_gone_a_paused_task_is_still_pausing() {
    let mut rig = Rig::with(total(100));
    let (task, pause) = rig.paused_task(PLAIN);
    rig.resume(task, Some(pause), None);
    rig.workers();
    let place = rig.place(task).expect("it goes on");
    rig.started(place, 1);
    rig.core = ouroboros_domain::Core::load(rig.loaded());
    rig.step(Input::Boot(boot_input(2, total(100))));
    assert!(matches!(rig.park(task), Some(Park::Paused(_))));
    let answer = rig.resume(task, Some(pause), None);
    crate::rig::assert_refused(&answer, ouroboros_domain::Refusal::StillPausing);
}

/// The worker of `place`, alive through a reload.
fn living(rig: &Rig, place: Place) -> Living {
    let rows = rig.core.rows();
    let row = rows.processes.iter().find(|row| row.worker == place.worker).expect("it is recorded");
    Living {
        worker: place.worker,
        process: row.id,
        identity: row.identity.clone(),
        isolation: Isolation::Namespace,
        ready: true,
        attempt: Some(place.attempt),
    }
}

#[test]
fn a_reload_keeps_sends_and_grants_and_forgets_who_waits() {
    let mut rig = Rig::with(total(100));
    let (granted, pause) = rig.paused_task(PLAIN);
    rig.queue(ouroboros_domain::QueueCommand::Hold);
    rig.resume(granted, Some(pause), None);
    rig.queue(ouroboros_domain::QueueCommand::Release { all: false });
    rig.order(granted, ouroboros_domain::TaskCommand::Hold);
    let (_, place) = rig.asking(PLAIN);
    rig.reserve(place, 1, 60);
    rig.reserve(place, 2, 60);
    let alive = living(&rig, place);
    rig.core = rig.core.reload(rig.loaded());
    let boot = Boot { living: vec![alive], ..boot_input(1, total(100)) };
    rig.step(Input::Boot(boot));
    assert_eq!(rig.sums(), tally(0, 60, 0));
    assert!(rig.park(granted).is_some());
    assert_eq!(answer(&rig.settle(1, 5), 2), None, "it is told again by who wants it");
    assert_eq!(rig.reserve(place, 2, 60), ADMITTED);
}

#[test]
fn a_report_that_it_parked_is_believed_when_the_row_says_why() {
    let mut rig = Rig::with(total(100));
    let (task, place) = rig.asking(PLAIN);
    for round in 1..=3 {
        let place = rig.place(task).unwrap_or(place);
        rig.terminal(place, 1, Ending::Parked);
        rig.gone(place, WorkerExit::Code(0));
        rig.pass(ouroboros_proto::kind::Millis::seconds(60));
        rig.workers();
        assert_eq!(rig.core.task(task).map_or(3, |row| row.crashes), round, "it is a fault of its worker");
    }
    assert_eq!(rig.outcome(task), Some(Outcome::Failed(Failure::Quarantined { crashes: 3 })));
    assert_eq!(rig.core.task(task).and_then(|row| row.park.clone()), None);
}
