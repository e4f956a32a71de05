//! The end of a life, and how it only hardens.

use crate::rig::{PLAIN, Place, Rig, reply};
use ouroboros_domain::{Decision, Effect, Reply, ShutdownKind, WorkerEvent, WorkerExit};
use ouroboros_proto::kind::{Ending, ExitCode, Millis, TaskNumber};

fn exit(decision: &Decision) -> Option<ExitCode> {
    decision.effects.iter().find_map(|effect| match effect {
        Effect::Exit(code) => Some(*code),
        _ => None,
    })
}

fn ended(decision: &Decision) -> Vec<u64> {
    let ended = decision.effects.iter().filter_map(|effect| match effect {
        Effect::EndWorker { worker } => Some(worker.get()),
        _ => None,
    });
    ended.collect()
}

fn stopped(decision: &Decision, place: Place) -> bool {
    decision.effects.iter().any(|effect| matches!(effect, Effect::Stop { worker, .. } if *worker == place.worker))
}

/// A server with one task running and one spare.
fn busy() -> (Rig, Place) {
    let mut rig = Rig::new();
    let (_, place) = rig.run(PLAIN);
    rig.workers();
    (rig, place)
}

/// Every worker but this one goes.
fn others_go(rig: &mut Rig, decision: &Decision) -> Option<ExitCode> {
    let mut last = exit(decision);
    for worker in ended(decision) {
        let event = WorkerEvent::Gone { exit: WorkerExit::Signal(9), kept: None };
        last = last.or(exit(&rig.worker(ouroboros_proto::kind::WorkerId::new(worker), event)));
    }
    last
}

#[test]
fn with_nothing_alive_it_leaves_at_once() {
    for (kind, code) in [(ShutdownKind::Stop, ExitCode::Stopped), (ShutdownKind::Restart, ExitCode::Restart)] {
        for drain in [false, true] {
            let mut rig = Rig::with(ouroboros_domain::Settings { spares: 0, ..crate::rig::SETTINGS });
            assert_eq!(exit(&rig.shut_down(kind, drain)), Some(code));
            assert_eq!(exit(&rig.tick()), None, "once");
        }
    }
}

#[test]
fn a_stop_ends_running_work_within_the_grace() {
    let (mut rig, place) = busy();
    let decision = rig.shut_down(ShutdownKind::Stop, false);
    assert_eq!(reply(&decision), Reply::Ending(vec![TaskNumber::new(1)]));
    assert!(stopped(&decision, place));
    assert_eq!(others_go(&mut rig, &decision), None);
    assert_eq!(ended(&rig.pass(Millis::seconds(7))), [place.worker.get()], "grace and margin are over");
    let last = rig.gone(place, WorkerExit::Signal(9));
    assert_eq!(exit(&last), Some(ExitCode::Stopped));
}

#[test]
fn a_drain_waits_and_can_become_a_stop() {
    let (mut rig, place) = busy();
    let decision = rig.shut_down(ShutdownKind::Restart, true);
    assert!(!stopped(&decision, place));
    assert_eq!(others_go(&mut rig, &decision), None);
    assert_eq!(rig.pass(Millis::seconds(3_600)).effects, [], "as long as it takes");
    let hard = rig.shut_down(ShutdownKind::Restart, false);
    assert!(stopped(&hard, place));
    rig.terminal(place, 2, Ending::Stopped);
    assert_eq!(exit(&rig.gone(place, WorkerExit::Code(0))), Some(ExitCode::Restart));
}

#[test]
fn it_only_hardens() {
    use ShutdownKind::{Restart, Stop};
    for (first, second, code) in
        [(Restart, Stop, ExitCode::Stopped), (Stop, Restart, ExitCode::Stopped), (Restart, Restart, ExitCode::Restart)]
    {
        let (mut rig, place) = busy();
        let decision = rig.shut_down(first, false);
        others_go(&mut rig, &decision);
        let again = rig.shut_down(second, true);
        assert!(!stopped(&again, place), "asked once");
        rig.terminal(place, 2, Ending::Stopped);
        assert_eq!(exit(&rig.gone(place, WorkerExit::Code(0))), Some(code), "{first:?} {second:?}");
    }
}

#[test]
fn a_drained_task_may_still_open_its_barrier_and_a_stopped_one_may_not() {
    for drain in [true, false] {
        let mut rig = Rig::new();
        let (_, place) = rig.start(PLAIN);
        rig.shut_down(ShutdownKind::Stop, drain);
        let started = rig.started(place, 1);
        let released = started.effects.iter().any(|effect| matches!(effect, Effect::Release { .. }));
        assert_eq!(released, drain);
    }
}

#[test]
fn a_stop_shortens_the_grace_of_a_cancel() {
    let (mut rig, place) = busy();
    let task = rig.core.rows().tasks[0].id;
    rig.cancel(task, 600_000);
    let decision = rig.shut_down(ShutdownKind::Stop, false);
    assert!(stopped(&decision, place));
    assert!(!stopped(&rig.tick(), place), "asked once");
    assert_eq!(ended(&rig.pass(Millis::seconds(7))), [place.worker.get()]);
}

#[test]
fn what_is_wedged_is_left_behind() {
    let (mut rig, place) = busy();
    let decision = rig.shut_down(ShutdownKind::Stop, false);
    others_go(&mut rig, &decision);
    let last = rig.worker(place.worker, WorkerEvent::Wedged { survivors: Vec::new() });
    assert_eq!(exit(&last), Some(ExitCode::Stopped));
}
