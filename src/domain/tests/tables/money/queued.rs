//! Queued tasks when nothing is left: each comes as far as asking for money, and what costs nothing goes on.

use super::till::{ADMITTED, WAITS, limited, nano, paused, total};
use crate::rig::{PLAIN, Rig, SETTINGS};
use ouroboros_domain::{Limits, Park, Reply, SendAnswer, SendEnd, Settings, WorkerExit};
use ouroboros_proto::kind::{Ending, Event, LimitScope, WaitReason};

/// Settings in which nothing at all may be spent by this limit.
fn nothing(scope: LimitScope) -> Settings {
    let none = Some(nano(0));
    let mut limits = Limits { soft_percent: 80, ..Limits::default() };
    match scope {
        LimitScope::Total => limits.total = none,
        LimitScope::Hour => limits.hour = none,
        LimitScope::Tree => limits.tree = none,
        LimitScope::Task => limits.task = none,
    }
    Settings { slots: 1, limits, ..SETTINGS }
}

#[test]
fn three_with_a_limit_of_nothing_are_all_paused_when_they_want_to_spend() {
    for scope in LimitScope::ALL {
        let mut rig = Rig::with(nothing(scope));
        let tasks: Vec<_> = (0..3).map(|_| rig.submit_ask(PLAIN)).collect();
        let command = rig.submit(|_| ());
        for (send, task) in (1..).zip(&tasks) {
            rig.workers();
            let place = rig.place(*task).expect("it starts: what it needs is not known yet");
            assert_eq!(rig.reserve(place, send, 1), paused(scope));
            rig.parks(place);
            assert!(matches!(rig.park(*task), Some(Park::Paused(pause)) if pause.limit == scope), "{scope:?}");
        }
        assert_eq!((rig.core.counts().paused, rig.settled.len()), (3, 0));
        rig.workers();
        assert!(rig.place(command).is_some(), "the slot is free");
        assert!(!rig.events.iter().any(|event| matches!(event, Event::Settled { .. })));
    }
}

#[test]
fn what_costs_nothing_is_sent_under_a_limit_of_nothing() {
    for scope in LimitScope::ALL {
        let mut rig = Rig::with(nothing(scope));
        let (task, place) = rig.asking(PLAIN);
        assert_eq!(rig.reserve(place, 1, 0), ADMITTED, "{scope:?}");
        rig.settle(1, 0);
        rig.terminal(place, 1, Ending::Answered);
        rig.gone(place, WorkerExit::Code(0));
        assert!(rig.settled.contains_key(&task) && !rig.events.iter().any(|it| matches!(it, Event::Paused { .. })));
    }
}

#[test]
fn what_costs_nothing_is_sent_when_a_limit_is_used_up_or_passed() {
    for scope in LimitScope::ALL {
        let only = |limit: u64| {
            limited(|limits| match scope {
                LimitScope::Total => limits.total = Some(nano(limit)),
                LimitScope::Hour => limits.hour = Some(nano(limit)),
                LimitScope::Tree => limits.tree = Some(nano(limit)),
                LimitScope::Task => limits.task = Some(nano(limit)),
            })
        };
        let mut rig = Rig::with(only(100));
        let (_, place) = rig.asking(PLAIN);
        rig.reserve(place, 1, 100);
        assert_eq!(rig.reserve(place, 2, 0), ADMITTED, "all of {scope:?} is set aside");
        rig.over(1, SendEnd::Unresolved);
        assert_eq!(rig.reserve(place, 3, 0), ADMITTED, "{scope:?} is used up");
        rig.configure(only(50));
        assert_eq!(rig.reserve(place, 4, 0), ADMITTED, "{scope:?} is passed");
    }
}

#[test]
fn what_costs_nothing_waits_behind_nobody() {
    let mut rig = Rig::with(total(100));
    let (_, place) = rig.asking(PLAIN);
    rig.reserve(place, 1, 60);
    assert_eq!(rig.reserve(place, 2, 60), WAITS);
    assert_eq!(rig.reserve(place, 3, 0), ADMITTED);
}

#[test]
fn what_is_used_up_by_one_pauses_the_others() {
    let mut rig = Rig::with(Settings { slots: 1, ..total(100) });
    let (_, place) = rig.asking(PLAIN);
    let waiting: Vec<_> = (0..2).map(|_| rig.submit_ask(PLAIN)).collect();
    rig.reserve(place, 1, 100);
    rig.settle(1, 100);
    rig.terminal(place, 1, Ending::Answered);
    rig.gone(place, WorkerExit::Code(0));
    for (send, task) in (2..).zip(&waiting) {
        rig.workers();
        let place = rig.place(*task).expect("it starts");
        assert_eq!(rig.reserve(place, send, 1), paused(LimitScope::Total));
        rig.parks(place);
    }
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
    assert_eq!(rig.reserve(other, 2, 1), WAITS);
}

#[test]
fn who_wants_to_spend_in_a_full_hour_waits_for_the_next() {
    let mut rig = Rig::with(limited(|limits| limits.hour = Some(nano(100))));
    let (_, place) = rig.asking(PLAIN);
    rig.reserve(place, 1, 100);
    rig.settle(1, 100);
    let (task, other) = rig.asking(PLAIN);
    let Some(SendAnswer::Waiting { reason: WaitReason::HourLimit, until }) = rig.reserve(other, 2, 1) else {
        panic!("{:?}", rig.park(task))
    };
    rig.parks(other);
    assert_eq!(rig.core.due().wall, Some(until));
    assert_eq!((rig.core.counts().paused, rig.core.counts().waiting), (0, 1));
    rig.wall = until.get();
    rig.tick();
    rig.workers();
    let again = rig.place(task).expect("nobody had to ask");
    assert_eq!(rig.reserve(again, 3, 1), ADMITTED);
}
