//! The ladder of a cancel: intent, stop, kill, settle.

use crate::rig::{PLAIN, Place, Rig};
use ouroboros_domain::{Change, Decision, Effect, TaskState, WorkerEvent, WorkerExit};
use ouroboros_proto::kind::{CancelReason, Ending, Millis, Outcome, TaskId};

const CANCELLED: Outcome = Outcome::Cancelled(CancelReason::Requested);

fn stops(decision: &Decision) -> Vec<u64> {
    let grace = |effect: &Effect| match effect {
        Effect::Stop { grace, .. } => Some(grace.get()),
        _ => None,
    };
    decision.effects.iter().filter_map(grace).collect()
}

fn ends(decision: &Decision, place: Place) -> bool {
    decision.effects.contains(&Effect::EndWorker { worker: place.worker })
}

fn intent(rig: &Rig, task: TaskId) -> Option<u64> {
    rig.core.task(task).and_then(|row| row.cancel).map(|intent| intent.grace.get())
}

#[test]
fn a_queued_task_settles_in_the_same_commit() {
    for hold in [false, true] {
        let mut rig = Rig::new();
        let task = rig.submit(|task| task.hold = hold);
        let decision = rig.cancel(task, 9_000);
        assert_eq!(rig.outcome(task), Some(CANCELLED));
        assert!(decision.changes.iter().any(|change| matches!(change, Change::Task(row) if row.cancel.is_some())));
    }
}

#[test]
fn a_running_task_is_asked_then_killed_then_settles() {
    let mut rig = Rig::new();
    let (task, place) = rig.run(PLAIN);
    let asked = rig.cancel(task, 3_000);
    assert_eq!((stops(&asked), ends(&asked, place)), (vec![3_000], false));
    assert_eq!(intent(&rig, task), Some(3_000));
    let early = rig.pass(Millis::new(4_999));
    assert!(!ends(&early, place));
    let killed = rig.pass(Millis::new(1));
    assert!(ends(&killed, place), "grace and margin are over");
    assert_eq!(rig.outcome(task), None, "asked is not done");
    rig.gone(place, WorkerExit::Signal(9));
    assert_eq!(rig.outcome(task), Some(CANCELLED));
}

#[test]
fn without_a_grace_it_is_killed_at_once() {
    let mut rig = Rig::new();
    let (task, place) = rig.run(PLAIN);
    let killed = rig.cancel(task, 0);
    assert!(ends(&killed, place) && stops(&killed).is_empty());
    assert!(!ends(&rig.cancel(task, 0), place), "once");
}

#[test]
fn a_later_wish_only_shortens() {
    let mut rig = Rig::new();
    let (task, place) = rig.run(PLAIN);
    rig.cancel(task, 60_000);
    let longer = rig.cancel(task, 90_000);
    assert_eq!((longer.changes.len(), stops(&longer)), (0, vec![]));
    let shorter = rig.cancel(task, 10_000);
    assert_eq!((intent(&rig, task), stops(&shorter)), (Some(10_000), vec![10_000]));
    rig.pass(Millis::new(9_000));
    let useless = rig.cancel(task, 8_000);
    assert_eq!(stops(&useless), Vec::<u64>::new(), "it would end later than it was told before");
    assert!(ends(&rig.pass(Millis::new(3_000)), place), "the earlier deadline stays");
    rig.gone(place, WorkerExit::Signal(9));
    assert_eq!(rig.outcome(task), Some(CANCELLED));
}

#[test]
fn a_process_that_starts_after_the_cancel_is_recorded_and_never_released() {
    let mut rig = Rig::new();
    let (task, place) = rig.start(PLAIN);
    rig.cancel(task, 1_000);
    let started = rig.started(place, 1);
    assert!(started.changes.iter().any(|change| matches!(change, Change::Process(_))));
    assert!(!started.effects.iter().any(|effect| matches!(effect, Effect::Release { .. })));
    assert!(!rig.attempts[&place.attempt].released);
}

#[test]
fn a_wedged_attempt_settles_only_when_it_is_gone_at_last() {
    let mut rig = Rig::new();
    let (task, place) = rig.run(PLAIN);
    let free = rig.core.free_slots();
    rig.cancel(task, 0);
    rig.worker(place.worker, WorkerEvent::Wedged { survivors: vec![crate::rig::identity(500)] });
    rig.pass(Millis::seconds(3_600));
    assert!(matches!(rig.core.task(task).map(|row| &row.state), Some(TaskState::Running { .. })));
    assert_eq!(rig.core.free_slots(), free, "its slot is given up");
    rig.gone(place, WorkerExit::Signal(9));
    assert_eq!(rig.outcome(task), Some(CANCELLED));
    assert_eq!(rig.core.free_slots(), free + 1);
}

#[test]
fn an_ending_that_was_on_its_way_wins_over_the_kill() {
    let mut rig = Rig::new();
    let (task, place) = rig.run(PLAIN);
    rig.cancel(task, 0);
    rig.terminal(place, 2, Ending::Exited { code: 0 });
    rig.gone(place, WorkerExit::Signal(9));
    assert_eq!(rig.outcome(task), Some(Outcome::Completed));
}
