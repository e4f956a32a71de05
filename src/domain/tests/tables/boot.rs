//! What a start makes of every combination of rows that a dead life can leave.

use crate::rig::{PLAIN, Place, Rig, SETTINGS, boot_input, empty, process_row, report};
use ouroboros_domain::{
    AttemptRow, Boot, CancelIntent, Effect, Input, KeptReport, Loaded, Policy, Reap, TaskRow, TaskState,
};
use ouroboros_proto::kind::{
    AttemptId, CancelReason, Ending, Failure, Generation, HoldReason, Isolation, Millis, Outcome, Priority, ProcessId,
    TaskId, TaskNumber, UtcMicros, WorkKind, WorkerId,
};

const PLACE: Place = Place { worker: WorkerId::new(1), attempt: AttemptId::from_bytes([5; 16]) };
const TASK: TaskId = TaskId::from_bytes([6; 16]);
const WORKER: ProcessId = ProcessId::from_bytes([7; 16]);
const TOOL: ProcessId = ProcessId::from_bytes([8; 16]);

#[derive(Debug, Clone, Copy)]
struct Left {
    released: bool,
    rerun: bool,
    cancel: bool,
    report: Option<Ending>,
    worker_row: bool,
    tool_row: bool,
}

fn rows(left: Left) -> Loaded {
    let task = TaskRow {
        id: TASK,
        number: TaskNumber::new(1),
        kind: WorkKind::Command,
        priority: Priority::Normal,
        state: TaskState::Running { attempt: PLACE.attempt },
        hold: None,
        not_before: None,
        after: Box::default(),
        policy: Policy { rerun: left.rerun, ..PLAIN },
        attempts: 1,
        retried: 0,
        crashes: 0,
        cancel: left.cancel.then_some(CancelIntent { at: UtcMicros::new(1), grace: Millis::ZERO }),
        retry_of: None,
        submitted_at: UtcMicros::new(1),
        inherited: 0,
        root: TASK,
        park: None,
        workspace: None,
    };
    let attempt = AttemptRow {
        id: PLACE.attempt,
        task: TASK,
        ordinal: 1,
        generation: Generation::new(1),
        worker: PLACE.worker,
        started_at: UtcMicros::new(1),
        isolation: Isolation::Namespace,
        released: left.released,
        delivered: false,
        sequence: 1,
        report: left.report.map(report),
        ended_at: None,
        workspace: None,
    };
    let worker = left.worker_row.then(|| process_row(WORKER, 1, PLACE, false));
    let tool = left.tool_row.then(|| process_row(TOOL, 1, PLACE, true));
    Loaded {
        generation: Generation::new(1),
        next_number: TaskNumber::new(2),
        tasks: vec![task],
        attempts: vec![attempt],
        processes: worker.into_iter().chain(tool).collect(),
        ..empty()
    }
}

fn expected(left: Left) -> Option<Outcome> {
    match left.report {
        Some(Ending::Exited { code: 0 }) => return Some(Outcome::Completed),
        Some(ending @ Ending::Exited { .. }) => return Some(Outcome::Failed(Failure::Ended(ending))),
        _ => {}
    }
    if left.cancel {
        Some(Outcome::Cancelled(CancelReason::Requested))
    } else if left.released && !left.rerun {
        Some(Outcome::Failed(Failure::Interrupted))
    } else {
        None
    }
}

fn all() -> Vec<Left> {
    let endings = [None, Some(Ending::Exited { code: 0 }), Some(Ending::Exited { code: 4 }), Some(Ending::Stopped)];
    let mut all = Vec::new();
    for bits in 0..32_u32 {
        for report in endings {
            let bit = |at: u32| bits >> at & 1 == 1;
            let (released, rerun, cancel, worker_row, tool_row) = (bit(0), bit(1), bit(2), bit(3), bit(4));
            all.push(Left { released, rerun, cancel, report, worker_row, tool_row });
        }
    }
    all
}

fn reaps(effects: &[Effect]) -> Vec<ProcessId> {
    let reaps = effects.iter().filter_map(|effect| match effect {
        Effect::Reap { process, attempt, .. } => {
            assert_eq!(*attempt, Some(PLACE.attempt), "where a report may lie");
            Some(*process)
        }
        _ => None,
    });
    reaps.collect()
}

#[test]
fn nothing_is_decided_before_the_last_process_is_gone() {
    for left in all() {
        for result in [Reap::Gone, Reap::Stranger] {
            let mut rig = Rig::cold(rows(left));
            let decision = rig.step(Input::Boot(boot_input(2, SETTINGS)));
            let reaps = reaps(&decision.effects);
            assert_eq!(reaps.len(), usize::from(left.worker_row) + usize::from(left.tool_row), "{left:?}");
            for process in reaps {
                assert!(rig.core.attempt(PLACE.attempt).is_some(), "{left:?}");
                assert!(
                    rig.outcome(TASK).is_none()
                        && rig.core.task(TASK).is_some_and(|row| row.state != TaskState::Queued)
                );
                rig.step(Input::Reaped { process, result, kept: None });
            }
            assert!(rig.core.attempt(PLACE.attempt).is_none(), "{left:?}");
            assert_eq!(rig.outcome(TASK), expected(left), "{left:?}");
            if expected(left).is_none() {
                assert_eq!(rig.core.task(TASK).map(|row| row.state.clone()), Some(TaskState::Queued), "{left:?}");
            }
            let rows = rig.loaded();
            let mut again = Rig::cold(rows);
            let decision = again.step(Input::Boot(boot_input(3, SETTINGS)));
            assert_eq!(decision.changes.len(), 2, "only its generation and event: {:?}", decision.changes);
        }
    }
}

#[test]
fn the_end_of_a_namespace_is_the_end_of_everything_in_it() {
    let left = Left { released: true, rerun: false, cancel: false, report: None, worker_row: true, tool_row: true };
    let mut inside = rows(left);
    for row in inside.processes.iter_mut().filter(|row| row.id == TOOL) {
        row.identity.namespace += 1;
    }
    let mut rig = Rig::cold(inside.clone());
    let decision = rig.step(Input::Boot(boot_input(2, SETTINGS)));
    assert_eq!(reaps(&decision.effects), [WORKER], "its init is enough");
    rig.step(Input::Reaped { process: WORKER, result: Reap::Survives, kept: None });
    assert_eq!(rig.outcome(TASK), None);
    rig.step(Input::Reaped { process: WORKER, result: Reap::Gone, kept: None });
    assert_eq!(rig.core.rows().processes, []);
    assert_eq!(rig.outcome(TASK), Some(Outcome::Failed(Failure::Interrupted)));
    // Without its init's row, a process is looked for by itself.
    inside.processes.retain(|row| row.id == TOOL);
    let mut rig = Rig::cold(inside);
    assert_eq!(reaps(&rig.step(Input::Boot(boot_input(2, SETTINGS))).effects), [TOOL]);
}

#[test]
fn an_ending_found_on_disk_wins() {
    let kept = |ending| KeptReport { attempt: PLACE.attempt, sequence: 2, report: report(ending) };
    for left in all().into_iter().filter(|left| left.report.is_none() && left.worker_row) {
        let mut rig = Rig::cold(rows(left));
        let decision = rig.step(Input::Boot(boot_input(2, SETTINGS)));
        for process in reaps(&decision.effects) {
            let kept = (process == WORKER).then(|| kept(Ending::Exited { code: 0 }));
            rig.step(Input::Reaped { process, result: Reap::Gone, kept });
        }
        assert_eq!(rig.outcome(TASK), Some(Outcome::Completed), "{left:?}");
    }
}

/// Numbers of workers start again in each life: what a dead one left is not about the living one of the same number.
#[test]
fn an_ending_found_on_disk_leaves_this_lifes_workers_alone() {
    let left = Left { released: true, rerun: false, cancel: false, report: None, worker_row: true, tool_row: false };
    let mut rig = Rig::cold(rows(left));
    rig.step(Input::Boot(boot_input(2, SETTINGS)));
    let (task, place) = rig.run(PLAIN);
    assert_eq!(place.worker, PLACE.worker);
    let kept = KeptReport { attempt: PLACE.attempt, sequence: 2, report: report(Ending::Exited { code: 0 }) };
    rig.step(Input::Reaped { process: WORKER, result: Reap::Gone, kept: Some(kept) });
    rig.terminal(place, 2, Ending::Exited { code: 0 });
    rig.gone(place, ouroboros_domain::WorkerExit::Code(0));
    assert_eq!((rig.outcome(TASK), rig.outcome(task)), (Some(Outcome::Completed), Some(Outcome::Completed)));
    assert_eq!(rig.core.rows().attempts, []);
}

#[test]
fn a_survivor_keeps_its_slot_and_is_looked_at_again() {
    let left = Left { released: true, rerun: true, cancel: false, report: None, worker_row: true, tool_row: true };
    let mut rig = Rig::cold(rows(left));
    rig.step(Input::Boot(boot_input(2, SETTINGS)));
    rig.step(Input::Reaped { process: WORKER, result: Reap::Gone, kept: None });
    rig.step(Input::Reaped { process: TOOL, result: Reap::Survives, kept: None });
    assert_eq!(rig.core.free_slots(), SETTINGS.slots - 1);
    assert_eq!(reaps(&rig.pass(Millis::seconds(59)).effects), []);
    assert_eq!(reaps(&rig.pass(Millis::seconds(1)).effects), [TOOL]);
    rig.step(Input::Reaped { process: TOOL, result: Reap::Gone, kept: None });
    assert_eq!(rig.core.free_slots(), SETTINGS.slots);
    assert_eq!(rig.core.task(TASK).map(|row| row.state.clone()), Some(TaskState::Queued));
}

#[test]
fn a_running_task_without_its_attempt_is_interrupted() {
    let left = Left { released: true, rerun: true, cancel: false, report: None, worker_row: false, tool_row: false };
    let mut rig = Rig::cold(Loaded { attempts: Vec::new(), ..rows(left) });
    rig.step(Input::Boot(boot_input(2, SETTINGS)));
    assert_eq!(rig.outcome(TASK), Some(Outcome::Failed(Failure::Interrupted)));
}

#[test]
fn a_copied_directory_signals_nobody_and_holds_the_queue() {
    let left = Left { released: false, rerun: false, cancel: false, report: None, worker_row: true, tool_row: true };
    let mut rig = Rig::cold(rows(left));
    let boot = Boot { disown: true, hold: Some(HoldReason::Copied), ..boot_input(2, SETTINGS) };
    let decision = rig.step(Input::Boot(boot));
    assert_eq!(reaps(&decision.effects), []);
    assert_eq!(rig.core.rows().processes, []);
    rig.workers();
    assert_eq!(rig.place(TASK), None, "the queue is held");
    assert_eq!(rig.core.queue_hold(), Some(HoldReason::Copied));
}

#[test]
fn a_panic_holds_everything_until_it_is_released() {
    let mut rig = Rig::cold(empty());
    rig.step(Input::Boot(Boot { hold: Some(HoldReason::Panic), ..boot_input(1, SETTINGS) }));
    let task = rig.submit(|_| ());
    rig.workers();
    assert_eq!(rig.place(task), None);
    let rows = rig.loaded();
    let mut after = Rig::cold(rows);
    after.step(Input::Boot(boot_input(2, SETTINGS)));
    after.workers();
    assert_eq!(after.place(task), None, "a second start forgets nothing");
    after.queue(ouroboros_domain::QueueCommand::Release { all: true });
    after.workers();
    assert!(after.place(task).is_some());
}
