//! Which facts must reach the disk before anything follows from them.

use crate::rig::{PLAIN, Rig};
use ouroboros_domain::{Change, WorkerEvent, WorkerExit};
use ouroboros_proto::kind::Ending;

fn syncs(changes: &[Change]) -> bool {
    changes.iter().any(Change::needs_sync)
}

#[test]
fn a_worker_and_a_recorded_end_need_only_survive_the_server() {
    let mut rig = Rig::new();
    rig.submit(|_| ());
    let process = rig.process();
    let identity = crate::rig::identity(1);
    let worker = ouroboros_proto::kind::WorkerId::new(1);
    let spawned = rig.worker(worker, WorkerEvent::Spawned { process, identity });
    assert!(!spawned.changes.is_empty() && !syncs(&spawned.changes));
    rig.worker(worker, WorkerEvent::Ready);
    let place = rig.place(rig.core.rows().tasks[0].id).expect("it runs");
    rig.started(place, 1);
    rig.terminal(place, 2, Ending::Exited { code: 0 });
    let gone = rig.gone(place, WorkerExit::Code(0));
    assert!(!gone.changes.is_empty() && !syncs(&gone.changes));
}

#[test]
fn everything_else_is_synced() {
    let mut rig = Rig::new();
    let (task, place) = rig.start(PLAIN);
    let started = rig.started(place, 1);
    for change in &started.changes {
        assert!(change.needs_sync(), "a program runs after this: {change:?}");
    }
    assert!(syncs(&rig.cancel(task, 1_000).changes));
    let reported = rig.terminal(place, 2, Ending::Stopped);
    assert!(syncs(&reported.changes));
    let (_, lost) = rig.start(PLAIN);
    let closed = rig.gone(lost, WorkerExit::Signal(9)).changes;
    let of_attempt = closed.iter().find(|change| matches!(change, Change::Attempt(_)));
    assert!(of_attempt.is_some_and(Change::needs_sync), "a loss is told by nothing else");
    assert!(syncs(&rig.queue(ouroboros_domain::QueueCommand::Hold).changes));
}
