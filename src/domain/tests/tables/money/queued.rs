//! Queued tasks when nothing is left: parked instead of started, and never failed.

use super::till::{nano, total};
use crate::rig::{PLAIN, Rig, SETTINGS};
use ouroboros_domain::{Change, Limits, NewTask, Park, QueueCommand, Reply, Settings};
use ouroboros_proto::kind::{BootMicros, Event, LimitScope, Millis, WorkKind};

#[test]
fn three_with_a_limit_of_nothing_are_all_paused() {
    for scope in LimitScope::ALL {
        let none = Some(nano(0));
        let mut limits = Limits { soft_percent: 80, ..Limits::default() };
        match scope {
            LimitScope::Total => limits.total = none,
            LimitScope::Hour => limits.hour = none,
            LimitScope::Tree => limits.tree = none,
            LimitScope::Task => limits.task = none,
        }
        let mut rig = Rig::with(Settings { slots: 1, limits, ..SETTINGS });
        let tasks: Vec<_> = (0..3).map(|_| rig.submit_ask(PLAIN)).collect();
        let command = rig.submit(|_| ());
        rig.workers();
        for task in tasks {
            assert!(
                matches!(rig.park(task), Some(Park::Paused(pause)) if pause.limit == scope),
                "{:?}",
                rig.park(task)
            );
            assert_eq!(rig.core.task(task).map(|row| row.attempts), Some(0));
        }
        assert_eq!((rig.core.counts().paused, rig.settled.len()), (3, 0));
        assert!(rig.place(command).is_some(), "what needs no model goes past them");
        assert!(!rig.events.iter().any(|event| matches!(event, Event::Settled { .. })));
    }
}

#[test]
fn what_is_used_up_by_one_parks_the_others() {
    let mut rig = Rig::with(Settings { slots: 1, ..total(100) });
    let (_, place) = rig.asking(PLAIN);
    let waiting: Vec<_> = (0..2).map(|_| rig.submit_ask(PLAIN)).collect();
    rig.reserve(place, 1, 100);
    rig.settle(1, 100);
    rig.terminal(place, 1, ouroboros_proto::kind::Ending::Answered);
    rig.gone(place, ouroboros_domain::WorkerExit::Code(0));
    rig.workers();
    assert_eq!(rig.core.counts().paused, 2);
    rig.configure(total(101));
    assert_eq!(rig.core.counts().paused, 2, "more money wakes nothing");
    assert_eq!(rig.resume(waiting[1], None, None).0, Reply::Done);
    rig.workers();
    assert!(rig.place(waiting[1]).is_some() && rig.place(waiting[0]).is_none());
}

#[test]
fn money_that_is_only_set_aside_keeps_nobody_from_starting() {
    let mut rig = Rig::with(total(100));
    let (_, place) = rig.asking(PLAIN);
    rig.reserve(place, 1, 100);
    let (_, other) = rig.asking(PLAIN);
    assert_eq!(rig.reserve(other, 2, 1), super::till::WAITS);
}

#[test]
fn a_queued_task_waits_for_a_full_hour() {
    let mut rig = Rig::with(super::till::limited(|limits| limits.hour = Some(nano(100))));
    let (_, place) = rig.asking(PLAIN);
    rig.reserve(place, 1, 100);
    rig.settle(1, 100);
    let task = rig.submit_ask(PLAIN);
    rig.workers();
    let Some(Park::Waiting(wait)) = rig.park(task) else { panic!("{:?}", rig.park(task)) };
    assert_eq!(rig.core.due().wall, Some(wait.until));
    assert_eq!((rig.core.counts().paused, rig.core.counts().waiting), (0, 1));
    rig.wall = wait.until.get();
    rig.tick();
    rig.workers();
    assert!(rig.place(task).is_some(), "nobody had to ask");
}

#[test]
fn a_thousand_are_parked_a_few_at_a_time() {
    let mut rig = Rig::with(total(0));
    rig.workers();
    rig.queue(QueueCommand::Hold);
    let tasks = (0..1_000).map(|_| NewTask { kind: WorkKind::Ask, ..rig.new_task() }).collect();
    rig.submit_all(tasks);
    let mut decision = rig.queue(QueueCommand::Release { all: false });
    let mut steps = 1;
    loop {
        let parked = decision.changes.iter().filter(|change| matches!(change, Change::Task(_))).count();
        assert!(parked <= 64, "a step stays small: {parked}");
        if rig.core.due().boot != Some(BootMicros::new(0)) {
            break;
        }
        decision = rig.tick();
        steps += 1;
    }
    assert_eq!(steps, 1_000_usize.div_ceil(64));
    assert_eq!(rig.core.counts().paused, 1_000);
    assert_eq!(rig.pass(Millis::seconds(1)).changes, [], "and then there is peace");
}
