//! Tasks that others started: one tree, one limit.

use super::till::{ADMITTED, limited, nano, paused, tally};
use crate::rig::{PLAIN, Rig, assert_refused};
use ouroboros_domain::{Core, NewTask, Refusal, SendEnd, TaskCommand, WorkerExit};
use ouroboros_proto::kind::{Ending, LimitScope, TaskId};

fn rig() -> Rig {
    Rig::with(limited(|limits| limits.tree = Some(nano(100))))
}

#[test]
fn the_root_goes_down_through_all_generations() {
    let mut rig = rig();
    let (root, _) = rig.asking(PLAIN);
    let (child, _) = rig.child(root);
    let (grandchild, _) = rig.child(child);
    let roots = [root, child, grandchild].map(|task| rig.core.task(task).map(|row| row.root));
    assert_eq!(roots, [Some(root); 3]);
}

#[test]
fn the_limit_is_on_the_whole_tree_and_on_each_tree() {
    let mut rig = rig();
    let (root, first) = rig.asking(PLAIN);
    let (child, second) = rig.child(root);
    let (_, third) = rig.child(child);
    let (_, stranger) = rig.asking(PLAIN);
    assert_eq!((rig.reserve(first, 1, 40), rig.reserve(second, 2, 40)), (ADMITTED, ADMITTED));
    rig.settle(1, 40);
    rig.settle(2, 40);
    assert_eq!(rig.reserve(third, 3, 40), paused(LimitScope::Tree));
    assert_eq!(rig.reserve(stranger, 4, 100), ADMITTED);
    assert_eq!(rig.core.spent().trees[&root], tally(80, 0, 0));
}

#[test]
fn a_tree_counts_as_long_as_anything_of_it_lives() {
    let mut rig = rig();
    let (root, place) = rig.asking(PLAIN);
    let (child, below) = rig.child(root);
    rig.reserve(place, 1, 60);
    rig.settle(1, 60);
    rig.terminal(place, 1, Ending::Answered);
    rig.gone(place, WorkerExit::Code(0));
    assert_eq!(rig.reserve(below, 2, 41), paused(LimitScope::Tree), "its root is over, its money is not");
    rig.core = Core::load(rig.loaded());
    assert_eq!(rig.core.spent().trees[&root], tally(60, 0, 0), "and the sums come back with the tree");
    let mut rig = rig.reborn(rig_settings());
    rig.cancel(child, 0);
    assert!(rig.core.spent().trees.is_empty(), "nobody needs them any more");
}

fn rig_settings() -> ouroboros_domain::Settings {
    limited(|limits| limits.tree = Some(nano(100)))
}

#[test]
fn a_child_of_what_does_not_live_is_refused() {
    let mut rig = rig();
    let (root, place) = rig.asking(PLAIN);
    rig.terminal(place, 1, Ending::Answered);
    rig.gone(place, WorkerExit::Code(0));
    for parent in [root, TaskId::from_bytes([9; 16])] {
        let task = NewTask { parent: Some(parent), ..rig.new_task() };
        assert_refused(&rig.submit_all(vec![task]), Refusal::ParentNotLive { task: parent });
    }
}

#[test]
fn a_task_that_is_retried_stays_in_its_tree() {
    for (lives, late) in [(true, false), (false, false), (false, true)] {
        let mut rig = rig();
        let (root, place) = rig.asking(PLAIN);
        let (child, branch) = rig.child(root);
        rig.reserve(place, 1, 30);
        rig.settle(1, 20);
        rig.reserve(branch, 2, 50);
        rig.late = late;
        rig.over(2, SendEnd::Unresolved);
        for place in if lives { vec![branch] } else { vec![branch, place] } {
            rig.terminal(place, 1, Ending::NotFound);
            rig.gone(place, WorkerExit::Code(0));
        }
        let again = TaskId::from_bytes([200; 16]);
        rig.order(child, TaskCommand::Retry { id: again });
        rig.late = false;
        assert_eq!(rig.core.task(again).map(|row| row.root), Some(root), "lives {lives}, late {late}");
        assert_eq!(rig.core.spent().trees.get(&root), Some(&tally(20, 0, 50)), "lives {lives}, late {late}");
        rig.workers();
        let place = rig.place(again).expect("it runs");
        assert_eq!(rig.reserve(place, 3, 31), paused(LimitScope::Tree));
    }
}

#[test]
fn a_task_that_is_retried_again_and_again_has_one_limit() {
    let mut rig = rig();
    let (mut task, mut place) = rig.asking(PLAIN);
    for send in 1..=4 {
        assert_eq!(rig.reserve(place, send, 25), ADMITTED);
        rig.settle(send, 25);
        rig.terminal(place, 1, Ending::NotFound);
        rig.gone(place, WorkerExit::Code(0));
        let again = TaskId::from_bytes([200 + send; 16]);
        rig.order(task, TaskCommand::Retry { id: again });
        rig.workers();
        (task, place) = (again, rig.place(again).expect("it runs"));
    }
    assert_eq!(rig.reserve(place, 5, 1), paused(LimitScope::Tree));
}
