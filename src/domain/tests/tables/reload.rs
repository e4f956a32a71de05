//! The state is loaded again within one life, after a failed commit.

use crate::rig::{PLAIN, Place, Rig, SETTINGS, boot_input};
use ouroboros_domain::{Boot, Decision, Effect, Input, Living, ShutdownKind, WorkerExit};
use ouroboros_proto::kind::{Ending, ExitCode, Isolation, Outcome, ProcessId};

/// The worker of `place`, as the process observer tells of it.
fn living(rig: &Rig, place: Place, sent: bool) -> Living {
    let rows = rig.core.rows();
    let row = rows.processes.iter().find(|row| row.worker == place.worker && row.attempt.is_none());
    Living {
        worker: place.worker,
        process: row.map_or(ProcessId::from_bytes([3; 16]), |row| row.id),
        identity: crate::rig::identity(1),
        isolation: Isolation::Namespace,
        ready: true,
        attempt: sent.then_some(place.attempt),
    }
}

fn reload(rig: &mut Rig, living: Vec<Living>) -> Decision {
    rig.core = rig.core.reload(rig.loaded());
    rig.step(Input::Boot(Boot { living, ..boot_input(1, SETTINGS) }))
}

fn releases(decision: &Decision) -> usize {
    decision.effects.iter().filter(|effect| matches!(effect, Effect::Release { .. })).count()
}

#[test]
fn a_running_attempt_goes_on() {
    let mut rig = Rig::new();
    let (task, place) = rig.run(PLAIN);
    let alive = living(&rig, place, true);
    let decision = reload(&mut rig, vec![alive]);
    let (worker, attempt) = (place.worker, place.attempt);
    assert!(decision.effects.contains(&Effect::Resend { worker, attempt, after: 1 }));
    assert_eq!(releases(&decision), 1, "whether it was told is not known");
    rig.terminal(place, 2, Ending::Exited { code: 0 });
    rig.gone(place, WorkerExit::Code(0));
    assert_eq!(rig.outcome(task), Some(Outcome::Completed));
}

#[test]
fn a_cancelled_attempt_is_stopped_again_and_not_released() {
    let mut rig = Rig::new();
    let (task, place) = rig.run(PLAIN);
    rig.cancel(task, 1_000);
    let alive = living(&rig, place, true);
    let decision = reload(&mut rig, vec![alive]);
    assert_eq!(releases(&decision), 0);
    assert!(decision.effects.iter().any(|effect| matches!(effect, Effect::Stop { .. })));
}

#[test]
fn an_attempt_that_was_never_sent_is_queued_again() {
    let mut rig = Rig::new();
    let (task, place) = rig.start(PLAIN);
    let alive = living(&rig, place, false);
    reload(&mut rig, vec![alive]);
    assert!(rig.attempts[&place.attempt].ended_at.is_some());
    let again = rig.place(task).expect("the worker is still there");
    assert_eq!((again.worker, again.attempt == place.attempt), (place.worker, false));
}

#[test]
fn a_recorded_report_is_acknowledged_again() {
    let mut rig = Rig::new();
    let (_, place) = rig.run(PLAIN);
    rig.terminal(place, 2, Ending::Exited { code: 0 });
    let alive = living(&rig, place, true);
    let decision = reload(&mut rig, vec![alive]);
    let (worker, attempt) = (place.worker, place.attempt);
    assert!(decision.effects.contains(&Effect::Acknowledge { worker, attempt, sequence: 2 }));
    rig.gone(place, WorkerExit::Code(0));
    assert_eq!(rig.core.rows().attempts, []);
}

#[test]
fn an_end_under_way_goes_on_and_nothing_starts() {
    for drain in [false, true] {
        let mut rig = Rig::new();
        let (_, place) = rig.run(PLAIN);
        let waiting = rig.submit(|_| ());
        rig.shut_down(ShutdownKind::Restart, drain);
        let alive = living(&rig, place, true);
        let decision = reload(&mut rig, vec![alive]);
        assert_eq!(releases(&decision), usize::from(drain));
        assert_eq!(rig.place(waiting), None);
        assert!(!decision.effects.iter().any(|effect| matches!(effect, Effect::SpawnWorker { .. })));
        rig.terminal(place, 2, Ending::Exited { code: 0 });
        let last = rig.gone(place, WorkerExit::Code(0));
        assert!(last.effects.contains(&Effect::Exit(ExitCode::Restart)), "{:?}", last.effects);
    }
}

#[test]
fn numbers_of_workers_are_not_used_again() {
    let mut rig = Rig::new();
    let (_, place) = rig.run(PLAIN);
    rig.gone(place, WorkerExit::Signal(9));
    let highest = |decision: &Decision| {
        let ids = decision.effects.iter().filter_map(|effect| match effect {
            Effect::SpawnWorker { worker, .. } => Some(worker.get()),
            _ => None,
        });
        ids.min()
    };
    let decision = reload(&mut rig, Vec::new());
    assert!(highest(&decision).is_some_and(|lowest| lowest > place.worker.get()));
}
