//! Worker deaths that count: back to the queue, then alone, then quarantine.

use crate::rig::{PLAIN, Place, Rig};
use ouroboros_domain::{Policy, Term, WorkerExit};
use ouroboros_proto::kind::{Failure, Millis, Outcome, Requeue, TaskId};

const FAULT: WorkerExit = WorkerExit::Signal(11);

/// A task whose workers died twice by their own fault before it ran; it is held when this returns.
pub fn twice_crashed(rig: &mut Rig) -> (TaskId, Place) {
    let (task, first) = rig.start(PLAIN);
    rig.gone(first, FAULT);
    rig.workers();
    let second = rig.place(task).expect("it starts again");
    rig.queue(ouroboros_domain::QueueCommand::Hold);
    rig.gone(second, FAULT);
    rig.order(task, ouroboros_domain::TaskCommand::Hold);
    rig.queue(ouroboros_domain::QueueCommand::Release { all: false });
    rig.workers();
    (task, second)
}

#[test]
fn after_two_deaths_it_runs_alone_and_the_third_quarantines_it() {
    let mut rig = Rig::new();
    let (task, _) = twice_crashed(&mut rig);
    let (_, beside) = rig.run(PLAIN);
    rig.order(task, ouroboros_domain::TaskCommand::Release);
    assert_eq!(rig.core.task(task).map(|row| row.crashes), Some(2));
    assert!(rig.core.obstacles(task).contains(&Term::AloneIfNeeded));
    rig.terminal(beside, 2, ouroboros_proto::kind::Ending::Exited { code: 0 });
    rig.gone(beside, WorkerExit::Code(0));
    rig.workers();
    let third = rig.place(task).expect("it runs alone");
    let other = rig.submit(|_| ());
    rig.workers();
    assert!(rig.core.obstacles(other).contains(&Term::AloneIfNeeded), "nothing runs beside it");
    rig.gone(third, FAULT);
    assert_eq!(rig.outcome(task), Some(Outcome::Failed(Failure::Quarantined { crashes: 3 })));
    rig.pass(Millis::seconds(60));
    rig.workers();
    assert!(rig.place(other).is_some(), "the queue goes on");
}

#[test]
fn a_death_from_outside_before_the_program_ran_does_not_count() {
    let mut rig = Rig::new();
    let (task, mut place) = rig.start(PLAIN);
    for _ in 0..5 {
        rig.gone(place, WorkerExit::Signal(9));
        rig.pass(Millis::seconds(60));
        rig.workers();
        place = rig.place(task).expect("it starts again");
    }
    assert_eq!(rig.core.task(task).map(|row| (row.crashes, row.attempts)), Some((0, 6)));
}

#[test]
fn a_rerun_task_that_always_crashes_is_quarantined() {
    let mut rig = Rig::new();
    let (task, mut place) = rig.run(Policy { rerun: true, ..PLAIN });
    for round in 1..=3 {
        rig.gone(place, FAULT);
        rig.pass(Millis::seconds(60));
        rig.workers();
        match rig.place(task) {
            Some(next) => place = next,
            None => assert_eq!(round, 3),
        }
        if round < 3 {
            rig.started(place, 1);
        }
    }
    assert_eq!(rig.outcome(task), Some(Outcome::Failed(Failure::Quarantined { crashes: 3 })));
    let counted = rig.events.iter().filter(|event| {
        matches!(event, ouroboros_proto::kind::Event::AttemptEnded { why: Requeue::WorkerCrashed, .. })
    });
    assert_eq!(counted.count(), 2);
}

#[test]
fn what_cannot_be_ended_does_not_keep_the_lonely_waiting() {
    let mut rig = Rig::new();
    let (task, _) = twice_crashed(&mut rig);
    let (_, stuck) = rig.run(PLAIN);
    rig.order(task, ouroboros_domain::TaskCommand::Release);
    assert_eq!(rig.place(task), None);
    rig.worker(stuck.worker, ouroboros_domain::WorkerEvent::Wedged { survivors: Vec::new() });
    rig.pass(Millis::seconds(60));
    rig.workers();
    assert!(rig.place(task).is_some());
}
