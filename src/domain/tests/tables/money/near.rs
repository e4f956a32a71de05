//! The owner is told when a limit is nearly used up.

use super::till::{limited, nano};
use crate::rig::{PLAIN, Place, Rig};
use ouroboros_proto::kind::{Event, LimitScope, NanoDollars};

fn near(rig: &Rig) -> Vec<(LimitScope, NanoDollars, NanoDollars)> {
    let told = |event: &Event| match event {
        Event::LimitNear { limit, spent, of } => Some((*limit, *spent, *of)),
        _ => None,
    };
    rig.events.iter().filter_map(told).collect()
}

fn eighty_of_a_hundred(scope: LimitScope) -> (Rig, Place) {
    let mut rig = Rig::with(limited(|limits| {
        limits.soft_percent = 80;
        let limit = Some(nano(100));
        match scope {
            LimitScope::Total => limits.total = limit,
            LimitScope::Hour => limits.hour = limit,
            LimitScope::Tree => limits.tree = limit,
            LimitScope::Task => limits.task = limit,
        }
    }));
    let place = rig.asking(PLAIN).1;
    (rig, place)
}

#[test]
fn once_for_each_crossing() {
    for scope in LimitScope::ALL {
        let (mut rig, place) = eighty_of_a_hundred(scope);
        rig.reserve(place, 1, 79);
        assert_eq!(near(&rig), [], "{scope:?}");
        rig.reserve(place, 2, 1);
        assert_eq!(near(&rig), [(scope, nano(80), nano(100))]);
        rig.reserve(place, 3, 10);
        rig.settle(3, 10);
        assert_eq!(near(&rig).len(), 1, "above it nothing more is said");
        rig.settle(1, 0);
        rig.reserve(place, 4, 75);
        assert_eq!(near(&rig).len(), 2, "it had fallen below, and crosses it again");
    }
}

#[test]
fn not_without_a_limit_and_not_for_what_is_turned_down() {
    let mut rig = Rig::with(limited(|limits| limits.soft_percent = 80));
    let (_, place) = rig.asking(PLAIN);
    rig.reserve(place, 1, 1_000_000);
    let (mut other, place) = eighty_of_a_hundred(LimitScope::Total);
    other.reserve(place, 1, 101);
    assert_eq!((near(&rig), near(&other)), (vec![], vec![]));
}
