//! In the order of asking, for each limit; and many at once.

use super::till::{ADMITTED, WAITS, answer, answers, limited, nano, paused, tally, total};
use crate::rig::{PLAIN, Rig};
use ouroboros_domain::{Policy, SendAnswer, SendEnd, ShutdownKind, WorkerExit};
use ouroboros_proto::kind::LimitScope;
use std::collections::BTreeMap;

#[test]
fn who_waits_for_the_total_is_not_overtaken_by_less() {
    let mut rig = Rig::with(total(100));
    let (_, first) = rig.asking(PLAIN);
    let (_, second) = rig.asking(PLAIN);
    let (_, third) = rig.asking(PLAIN);
    rig.reserve(first, 1, 50);
    assert_eq!(rig.reserve(second, 2, 80), WAITS);
    assert_eq!(rig.reserve(third, 3, 10), WAITS, "it would fit, but the same limit holds one back that came before");
    let decision = rig.settle(1, 10);
    assert_eq!(
        answers(&decision)[1..],
        [(super::till::send_id(2), SendAnswer::Admitted), (super::till::send_id(3), SendAnswer::Admitted)]
    );
    assert_eq!(rig.sums(), tally(10, 90, 0));
}

#[test]
fn who_waits_for_its_own_limit_holds_nobody_else_back() {
    let mut rig = Rig::with(total(1_000));
    let (_, own) = rig.capped(100);
    let (_, other) = rig.asking(PLAIN);
    rig.reserve(own, 1, 60);
    assert_eq!(rig.reserve(own, 2, 60), WAITS);
    assert_eq!(rig.reserve(other, 3, 60), ADMITTED);
    assert_eq!(rig.reserve(own, 4, 10), WAITS, "of the same task, behind the first");
    assert_eq!(answer(&rig.settle(3, 60), 4), WAITS, "money of others changes nothing");
    let decision = rig.settle(1, 20);
    assert_eq!((answer(&decision, 2), answer(&decision, 4)), (ADMITTED, ADMITTED));
}

#[test]
fn who_waits_for_its_tree_holds_the_tree_back_only() {
    let mut rig = Rig::with(limited(|limits| limits.tree = Some(nano(100))));
    let (root, place) = rig.asking(PLAIN);
    let (_, child) = rig.child(root);
    let (_, stranger) = rig.asking(PLAIN);
    rig.reserve(place, 1, 60);
    assert_eq!(rig.reserve(child, 2, 60), WAITS);
    assert_eq!(rig.reserve(place, 3, 10), WAITS);
    assert_eq!(rig.reserve(stranger, 4, 100), ADMITTED);
    let decision = rig.settle(1, 0);
    assert_eq!((answer(&decision, 2), answer(&decision, 3)), (ADMITTED, ADMITTED));
}

#[test]
fn a_raised_limit_lets_those_in_who_wait() {
    let mut rig = Rig::with(total(100));
    let (_, place) = rig.asking(PLAIN);
    rig.reserve(place, 1, 60);
    rig.reserve(place, 2, 60);
    assert_eq!(answer(&rig.configure(total(120)), 2), ADMITTED);
    rig.configure(total(50));
    assert_eq!(rig.reserve(place, 3, 1), WAITS, "a lowered one counts at once, and takes nothing back");
    assert_eq!(rig.sums(), tally(0, 120, 0));
}

#[test]
fn a_worker_that_dies_takes_what_waits_along_and_its_open_sends_stay() {
    let mut rig = Rig::with(total(100));
    let (_, place) = rig.asking(Policy { rerun: true, ..PLAIN });
    let (_, other) = rig.asking(PLAIN);
    rig.reserve(place, 1, 60);
    rig.dispatch(1);
    assert_eq!(rig.reserve(place, 2, 60), WAITS);
    assert_eq!(rig.reserve(other, 3, 40), WAITS);
    let decision = rig.gone(place, WorkerExit::Signal(9));
    assert_eq!((answer(&decision, 2), answer(&decision, 3)), (None, ADMITTED), "nothing is before it any more");
    assert_eq!(rig.sums(), tally(0, 100, 0));
    rig.settle(1, 10);
    assert_eq!(rig.sums(), tally(10, 40, 0), "the gateway settles what the dead one sent");
}

#[test]
fn who_waits_while_its_worker_is_stopped_is_told_so() {
    let mut rig = Rig::with(total(100));
    let (task, place) = rig.asking(PLAIN);
    rig.reserve(place, 1, 60);
    rig.reserve(place, 2, 60);
    assert_eq!(answer(&rig.cancel(task, 1_000), 2), Some(SendAnswer::Ending));
    let (_, place) = rig.asking(PLAIN);
    rig.reserve(place, 3, 60);
    rig.shut_down(ShutdownKind::Stop, false);
    assert_eq!(answer(&rig.tick(), 3), Some(SendAnswer::Ending));
}

#[test]
fn sixty_four_workers_and_the_last_dollar() {
    const DOLLAR: u64 = 1_000_000_000;
    for (bound, cost) in [(70_000_001, 70_000_001), (70_000_001, 3), (DOLLAR, 1), (DOLLAR / 64, 0), (DOLLAR, DOLLAR)] {
        let mut rig = Rig::with(total(DOLLAR));
        let places: Vec<_> = (0..64).map(|_| rig.asking(PLAIN).1).collect();
        let mut told: BTreeMap<u8, SendAnswer> = BTreeMap::new();
        let mut under_way: Vec<u8> = Vec::new();
        let mut hear = |rig: &Rig, decision: &ouroboros_domain::Decision, under_way: &mut Vec<u8>| {
            assert!(rig.sums().accounted() <= nano(DOLLAR), "{:?}", rig.sums());
            for (send, answer) in answers(decision) {
                let n = send.as_bytes()[0];
                if answer != SendAnswer::Recorded {
                    assert_eq!(told.insert(n, answer), None, "answered once");
                    under_way.extend((answer == SendAnswer::Admitted).then_some(n));
                }
            }
            told.len()
        };
        for (n, place) in (1..).zip(&places) {
            let decision = rig.reserves(*place, n, bound);
            hear(&rig, &decision, &mut under_way);
        }
        let mut answered = 0;
        while let Some(send) = under_way.pop() {
            let end = match send % 3 {
                0 => SendEnd::Unresolved,
                _ => SendEnd::Settled(super::till::receipt(Some(cost))),
            };
            let decision = rig.over(send, end);
            answered = hear(&rig, &decision, &mut under_way);
        }
        assert_eq!(answered, 64, "nobody waits for ever");
        assert!(told.values().all(|it| Some(*it) == ADMITTED || Some(*it) == paused(LimitScope::Total)), "{told:?}");
        assert!(rig.sums().accounted() <= nano(DOLLAR));
    }
}
