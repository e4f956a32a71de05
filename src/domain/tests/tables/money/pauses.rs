//! A pause from its begin to its end: the attempt leaves, the owner resumes once, the first admission uses the grant up.

use super::till::{ADMITTED, answer, answers, nano, paused, tally, total};
use crate::rig::{PLAIN, Rig, assert_refused};
use ouroboros_domain::{
    Change, Effect, Park, Policy, QueueCommand, Refusal, Reply, SendAnswer, ShutdownKind, TaskCommand, TaskState, Term,
    WorkerExit,
};
use ouroboros_proto::kind::{
    Allowance, CancelReason, Ending, Event, ExitCode, Failure, LimitScope, Outcome, PauseId, Requeue, TaskId,
};

/// A running task whose next send did not fit any more.
fn pausing(rig: &mut Rig) -> (TaskId, crate::rig::Place) {
    let (task, place) = rig.asking(PLAIN);
    assert_eq!(rig.reserve(place, 90, 1_000), paused(LimitScope::Total));
    (task, place)
}

fn pause_of(rig: &Rig, task: TaskId) -> Option<PauseId> {
    match rig.park(task)? {
        Park::Pausing(pause) | Park::Paused(pause) | Park::Granted(pause) => Some(pause.id),
        Park::Waiting(_) => None,
    }
}

#[test]
fn the_whole_way() {
    let mut rig = Rig::with(total(100));
    let (task, place) = pausing(&mut rig);
    assert!(matches!(rig.park(task), Some(Park::Pausing(_))), "written before anything waits for it");
    let pause = pause_of(&rig, task);
    assert_refused(&rig.resume(task, pause, None), Refusal::StillPausing);
    rig.terminal(place, 1, Ending::Parked);
    assert_refused(&rig.resume(task, pause, None), Refusal::StillPausing);
    rig.gone(place, WorkerExit::Code(0));
    assert!(matches!(rig.park(task), Some(Park::Paused(_))));
    assert_eq!((pause_of(&rig, task), rig.core.counts().paused), (pause, 1), "the same pause");
    assert!(rig.events.iter().any(|it| matches!(it, Event::AttemptEnded { why: Requeue::Parked, .. })));
    assert_eq!(rig.core.obstacles(task), [Term::NotPaused]);

    rig.configure(total(10_000));
    rig.pass(ouroboros_proto::kind::Millis::seconds(100_000));
    assert_eq!(rig.place(task), None, "neither a raised limit nor time wakes it");
    let other = PauseId::from_bytes([9; 16]);
    assert_refused(&rig.resume(task, Some(other), None), Refusal::NotPaused);

    let (reply, decision) = rig.resume(task, pause, None);
    assert_eq!(reply, Reply::Done);
    assert!(decision.effects.iter().any(|it| matches!(it, Effect::Assign { .. })), "it starts in the same step");
    assert!(matches!(rig.park(task), Some(Park::Granted(_))));
    let again = rig.resume(task, pause, None);
    assert_eq!((again.0, again.1.changes.len()), (Reply::Done, 0), "asked twice, granted once");
    assert_refused(&rig.resume(task, Some(other), None), Refusal::NotPaused);

    let place = rig.place(task).expect("it runs");
    let decision = rig.reserves(place, 1, 50);
    assert_eq!(answer(&decision, 1), ADMITTED);
    let used = decision.changes.iter().any(|it| matches!(it, Change::Task(row) if row.park.is_none()));
    assert!(used, "the grant goes in the decision that sets the money aside");
    assert_refused(&rig.resume(task, pause, None), Refusal::NotPaused);
    assert_eq!(rig.reserve(place, 2, 50), ADMITTED, "what fits goes on without another word");
}

#[test]
fn everything_of_a_pausing_task_is_turned_down() {
    let mut rig = Rig::with(total(100));
    let (task, place) = rig.asking(PLAIN);
    rig.reserve(place, 1, 60);
    rig.reserve(place, 2, 60);
    rig.reserve(place, 3, 5);
    let decision = rig.over(1, ouroboros_domain::SendEnd::Unresolved);
    let limit = LimitScope::Total;
    assert_eq!((answer(&decision, 2), answer(&decision, 3)), (paused(limit), paused(limit)), "though 5 would fit");
    assert_eq!(rig.reserve(place, 4, 1), paused(limit));
    assert_eq!(rig.blocked(place, ouroboros_proto::kind::WaitReason::NoRoute, None), paused(limit));
    assert_eq!(rig.events.iter().filter(|it| matches!(it, Event::Paused { .. })).count(), 1, "told once");
    assert!(matches!(rig.park(task), Some(Park::Pausing(_))));
}

#[test]
fn it_is_paused_however_its_attempt_leaves() {
    for exit in [WorkerExit::Code(0), WorkerExit::Signal(11), WorkerExit::Signal(9)] {
        let mut rig = Rig::with(total(100));
        let (task, place) = rig.asking(PLAIN);
        rig.reserve(place, 1, 10);
        rig.settle(1, 10);
        rig.reserve(place, 2, 1_000);
        rig.gone(place, exit);
        assert!(matches!(rig.park(task), Some(Park::Paused(_))), "{exit:?}: it had sent, and is not interrupted");
    }
}

#[test]
fn an_answer_that_was_on_its_way_wins() {
    let mut rig = Rig::with(total(100));
    let (task, place) = pausing(&mut rig);
    rig.terminal(place, 1, Ending::Answered);
    rig.gone(place, WorkerExit::Code(0));
    assert_eq!(rig.outcome(task), Some(Outcome::Completed));
    assert_eq!(rig.settled[&task].park, None, "what is over waits for nothing");
}

#[test]
fn a_failure_while_pausing_is_a_failure() {
    let mut rig = Rig::with(total(100));
    let (task, place) = pausing(&mut rig);
    let ending = Ending::ModelFailed { failure: ouroboros_proto::kind::ModelFailure::BadRequest };
    rig.terminal(place, 1, ending);
    rig.gone(place, WorkerExit::Code(0));
    assert_eq!(rig.outcome(task), Some(Outcome::Failed(Failure::Ended(ending))));
}

#[test]
fn a_retry_of_a_pausing_task_is_paused() {
    let mut rig = Rig::with(total(100));
    let (task, place) = rig.asking(Policy { retries: 1, ..PLAIN });
    rig.reserve(place, 1, 1_000);
    rig.terminal(place, 1, Ending::TimedOut);
    rig.gone(place, WorkerExit::Code(0));
    rig.pass(ouroboros_proto::kind::Millis::seconds(100));
    assert_eq!((rig.place(task), rig.core.counts().paused), (None, 1));
}

#[test]
fn it_is_not_resumed_while_nothing_is_left() {
    for limit in [LimitScope::Total, LimitScope::Tree, LimitScope::Task] {
        let mut rig = Rig::with(super::till::limited(|limits| match limit {
            LimitScope::Total | LimitScope::Hour => limits.total = Some(nano(100)),
            LimitScope::Tree => limits.tree = Some(nano(100)),
            LimitScope::Task => limits.task = Some(nano(100)),
        }));
        let (task, place) = rig.asking(PLAIN);
        rig.reserve(place, 1, 100);
        rig.settle(1, 100);
        assert_eq!(rig.reserve(place, 2, 1), paused(limit));
        rig.parks(place);
        assert_refused(&rig.resume(task, None, None), Refusal::NothingLeft { limit });
        rig.configure(super::till::limited(|_| ()));
        assert_eq!(rig.resume(task, None, None).0, Reply::Done);
    }
}

#[test]
fn what_would_cost_nothing_is_resumed_though_nothing_is_left() {
    let mut rig = Rig::with(total(100));
    let (task, pause) = rig.paused_task(PLAIN);
    rig.configure(total(0));
    assert_refused(&rig.resume(task, Some(pause), None), Refusal::NothingLeft { limit: LimitScope::Total });
    let free = TaskCommand::Resume { pause: Some(pause), max_cost: None, free: true };
    assert_eq!(rig.order(task, free).0, Reply::Done);
    rig.workers();
    let place = rig.place(task).expect("it goes on");
    assert_eq!(rig.reserve(place, 1, 0), ADMITTED);
}

#[test]
fn resuming_can_raise_the_tasks_own_limit() {
    let mut rig = Rig::new();
    let (task, place) = rig.capped(100);
    rig.reserve(place, 1, 100);
    rig.settle(1, 100);
    rig.reserve(place, 2, 50);
    rig.parks(place);
    assert_refused(&rig.resume(task, None, Some(100)), Refusal::NothingLeft { limit: LimitScope::Task });
    assert_eq!(rig.core.task(task).and_then(|row| row.policy.max_cost), Some(Allowance(Some(nano(100)))));
    rig.queue(QueueCommand::Hold);
    assert_eq!(rig.resume(task, None, Some(120)).0, Reply::Done);
    assert_eq!(rig.resume(task, None, Some(150)).0, Reply::Done, "what was said last counts");
    assert_eq!(rig.core.task(task).and_then(|row| row.policy.max_cost), Some(Allowance(Some(nano(150)))));
    rig.queue(QueueCommand::Release { all: false });
    rig.workers();
    let place = rig.place(task).expect("it goes on");
    assert_eq!(rig.reserve(place, 3, 50), ADMITTED);
    assert_eq!(rig.reserve(place, 4, 1), super::till::WAITS);
}

#[test]
fn a_grant_that_does_not_fit_is_a_new_pause() {
    let mut rig = Rig::with(total(100));
    let (task, first) = rig.paused_task(PLAIN);
    rig.resume(task, Some(first), None);
    rig.workers();
    let place = rig.place(task).expect("it goes on");
    assert_eq!(rig.reserve(place, 1, 101), paused(LimitScope::Total));
    rig.parks(place);
    assert_ne!(pause_of(&rig, task), Some(first));
    assert_refused(&rig.resume(task, Some(first), None), Refusal::NotPaused);
}

#[test]
fn a_grant_is_gone_when_the_money_went_before_it_could_send() {
    let mut rig = Rig::with(total(100));
    let (task, first) = rig.paused_task(PLAIN);
    rig.order(task, TaskCommand::Hold);
    rig.resume(task, Some(first), None);
    let (_, other) = rig.asking(PLAIN);
    rig.reserve(other, 1, 100);
    rig.settle(1, 100);
    rig.order(task, TaskCommand::Release);
    rig.workers();
    let place = rig.place(task).expect("it goes on");
    assert_eq!(rig.reserve(place, 2, 1), paused(LimitScope::Total));
    rig.parks(place);
    assert_eq!(rig.core.counts().paused, 1);
    assert_ne!(pause_of(&rig, task), Some(first));
}

#[test]
fn resuming_what_does_not_wait() {
    let mut rig = Rig::with(total(100));
    let (running, _) = rig.asking(PLAIN);
    assert_refused(&rig.resume(running, None, None), Refusal::NotPaused);
    let queued = rig.submit(|task| task.hold = true);
    assert_refused(&rig.resume(queued, None, None), Refusal::NotPaused);
    rig.cancel(queued, 0);
    assert_refused(&rig.resume(queued, None, None), Refusal::AlreadySettled);
}

#[test]
fn cancel_ends_it_in_every_phase() {
    let cancelled = Some(Outcome::Cancelled(CancelReason::Requested));
    let mut rig = Rig::with(total(100));
    let (task, _) = rig.paused_task(PLAIN);
    rig.cancel(task, 1_000);
    assert_eq!(rig.outcome(task), cancelled, "paused");
    assert_eq!((rig.settled[&task].park.clone(), rig.core.counts().paused), (None, 0));

    for ending in [Some(Ending::Parked), Some(Ending::Stopped), None] {
        let (task, place) = pausing(&mut rig);
        rig.cancel(task, 1_000);
        if let Some(ending) = ending {
            rig.terminal(place, 1, ending);
        }
        rig.gone(place, WorkerExit::Code(0));
        rig.workers();
        assert_eq!(rig.outcome(task), cancelled, "pausing, and it reported {ending:?}");
    }

    let (task, place) = rig.asking(PLAIN);
    rig.blocked(place, ouroboros_proto::kind::WaitReason::Network, None);
    rig.parks(place);
    rig.cancel(task, 1_000);
    assert_eq!(rig.outcome(task), cancelled, "waiting");
    rig.pass(ouroboros_proto::kind::Millis::seconds(10_000));
    assert_eq!(rig.core.counts(), ouroboros_domain::Counts::default());
}

#[test]
fn hold_and_pause_are_independent() {
    let mut rig = Rig::with(total(100));
    let (task, pause) = rig.paused_task(PLAIN);
    rig.order(task, TaskCommand::Hold);
    assert_eq!((rig.core.counts().held, rig.core.counts().paused), (1, 0));
    rig.order(task, TaskCommand::Release);
    assert_eq!((rig.core.counts().held, rig.core.counts().paused), (0, 1), "a release is not a grant");
    rig.order(task, TaskCommand::Hold);
    rig.resume(task, Some(pause), None);
    assert_eq!(rig.place(task), None, "a grant is not a release");
    rig.queue(QueueCommand::Release { all: true });
    rig.workers();
    assert!(rig.place(task).is_some());
}

#[test]
fn drain_and_stop_while_pausing() {
    for drain in [false, true] {
        let mut rig = Rig::with(total(100));
        let (task, place) = rig.asking(PLAIN);
        rig.reserve(place, 1, 10);
        rig.settle(1, 10);
        rig.reserve(place, 2, 1_000);
        rig.shut_down(ShutdownKind::Stop, drain);
        rig.terminal(place, 1, if drain { Ending::Parked } else { Ending::Stopped });
        let spare = rig.gone(place, WorkerExit::Code(0));
        let mut last = spare;
        for worker in rig.core.rows().processes.iter().map(|row| row.worker).collect::<Vec<_>>() {
            last = rig.worker(worker, ouroboros_domain::WorkerEvent::Gone { exit: WorkerExit::Signal(9), kept: None });
        }
        assert!(last.effects.contains(&Effect::Exit(ExitCode::Stopped)), "{:?}", last.effects);
        assert!(matches!(rig.park(task), Some(Park::Paused(_))), "drain {drain}");
        assert_eq!(rig.core.task(task).map(|row| row.state.clone()), Some(TaskState::Queued));
    }
}

#[test]
fn a_drain_lets_running_work_spend_and_a_stop_does_not() {
    for (drain, expected) in [(true, ADMITTED), (false, Some(SendAnswer::Ending))] {
        let mut rig = Rig::with(total(100));
        let (_, place) = rig.asking(PLAIN);
        rig.shut_down(ShutdownKind::Stop, drain);
        assert_eq!(rig.reserve(place, 1, 10), expected);
    }
    assert_eq!(answers(&Rig::new().tick()), []);
    assert_eq!(Rig::new().sums(), tally(0, 0, 0));
}
