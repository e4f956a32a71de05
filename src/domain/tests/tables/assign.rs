//! Each term alone keeps a task from starting.

use crate::rig::{PLAIN, Rig, SETTINGS};
use ouroboros_domain::{Input, Policy, QueueCommand, Settings, ShutdownKind, TaskCommand, Term, WorkerExit};
use ouroboros_proto::kind::{Isolation, Millis, TaskId};

/// Makes a situation, submits a task in it, and names that task.
type Case = (Term, fn(&mut Rig) -> TaskId);

const CASES: &[Case] = &[
    (Term::NotStopping, |rig| {
        // Something runs, so that the server does not leave at once.
        rig.run(PLAIN);
        let task = rig.submit(|task| task.hold = true);
        rig.shut_down(ShutdownKind::Stop, true);
        rig.order(task, TaskCommand::Release);
        task
    }),
    (Term::QueueReleased, |rig| {
        rig.queue(QueueCommand::Hold);
        rig.submit(|_| ())
    }),
    (Term::NotHeld, |rig| rig.submit(|task| task.hold = true)),
    (Term::NotPaused, |rig| {
        rig.configure(crate::money::till::total(0));
        rig.paused_task(PLAIN).0
    }),
    (Term::DelayOver, |rig| rig.submit(|task| task.delay = Some(Millis::seconds(60)))),
    (Term::DependenciesMet, |rig| {
        let (first, _) = rig.run(PLAIN);
        rig.submit(|task| task.after = vec![first])
    }),
    (Term::SlotFree, |rig| {
        for _ in 0..SETTINGS.slots {
            rig.run(PLAIN);
        }
        rig.submit(|_| ())
    }),
    (Term::AloneIfNeeded, |rig| {
        let (task, _) = crate::crash::twice_crashed(rig);
        rig.run(PLAIN);
        rig.pass(Millis::seconds(1));
        rig.order(task, TaskCommand::Release);
        task
    }),
    (Term::WorkerReady, |rig| {
        let policy = Policy { isolation: Isolation::Host, ..PLAIN };
        rig.submit(|task| task.policy = policy)
    }),
];

#[test]
fn every_term_alone_keeps_a_task_queued() {
    for (term, situation) in CASES {
        let mut rig = Rig::new();
        rig.workers();
        let task = situation(&mut rig);
        if *term != Term::WorkerReady {
            rig.workers();
        }
        let obstacles: Vec<Term> =
            rig.core.obstacles(task).into_iter().filter(|it| *it != Term::WorkerReady || it == term).collect();
        assert_eq!(obstacles, [*term]);
        assert_eq!(rig.place(task), None, "{term:?} does not hold, and it runs");
        rig.tick();
        assert_eq!(rig.place(task), None, "{term:?} does not hold, and it runs after a tick");
    }
}

#[test]
fn a_running_or_unknown_task_is_not_queued() {
    let mut rig = Rig::new();
    let (task, _) = rig.run(PLAIN);
    assert!(rig.core.obstacles(task).contains(&Term::Queued));
    assert_eq!(rig.core.obstacles(TaskId::from_bytes([9; 16])), [Term::Queued]);
}

#[test]
fn a_cancelled_task_does_not_start() {
    let mut rig = Rig::new();
    let task = rig.submit(|_| ());
    rig.cancel(task, 100);
    rig.workers();
    assert!(rig.outcome(task).is_some() && rig.place(task).is_none());
}

#[test]
fn each_obstacle_goes_and_the_task_starts() {
    let mut rig = Rig::new();
    rig.queue(QueueCommand::Hold);
    let held = rig.submit(|task| task.hold = true);
    let delayed = rig.submit(|task| task.delay = Some(Millis::seconds(60)));
    let host = rig.submit(|task| task.policy.isolation = Isolation::Host);
    rig.workers();
    assert!([held, delayed, host].iter().all(|task| rig.place(*task).is_none()));
    rig.queue(QueueCommand::Release { all: true });
    rig.workers();
    assert!(rig.place(held).is_some() && rig.place(host).is_some() && rig.place(delayed).is_none());
    rig.pass(Millis::seconds(60));
    rig.workers();
    assert!(rig.place(delayed).is_some());
}

#[test]
fn a_slot_is_free_only_when_the_worker_is_gone() {
    let mut rig = Rig::with(Settings { slots: 1, ..SETTINGS });
    let (_, place) = rig.run(PLAIN);
    let next = rig.submit(|_| ());
    rig.workers();
    rig.terminal(place, 2, ouroboros_proto::kind::Ending::Exited { code: 0 });
    assert_eq!(rig.place(next), None);
    rig.gone(place, WorkerExit::Code(0));
    assert!(rig.place(next).is_some());
}

#[test]
fn no_slots_no_start_and_more_slots_at_once() {
    let mut rig = Rig::with(Settings { slots: 0, ..SETTINGS });
    let task = rig.submit(|_| ());
    rig.workers();
    assert_eq!(rig.place(task), None);
    rig.queue(QueueCommand::SetSlots(1));
    rig.workers();
    assert!(rig.place(task).is_some());
    rig.step(Input::Configure(Settings { slots: 0, ..SETTINGS }));
    assert!(rig.place(task).is_some(), "fewer slots end nothing");
}
