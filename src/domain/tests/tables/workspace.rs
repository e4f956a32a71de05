//! Two tasks that act in overlapping folders are not at work at once.

use crate::rig::{PLAIN, Rig};
use ouroboros_domain::{Core, Policy, TaskCommand, TaskState, Term, WorkerExit};
use ouroboros_proto::kind::{Ending, Priority, TaskId};

fn acts(rig: &mut Rig, folder: &str) -> TaskId {
    submit(rig, Some(folder), Priority::Normal)
}

fn submit(rig: &mut Rig, folder: Option<&str>, priority: Priority) -> TaskId {
    let task = rig.submit(|task| {
        task.workspace = folder.map(Into::into);
        task.priority = priority;
    });
    rig.workers();
    task
}

fn runs(rig: &Rig, task: TaskId) -> bool {
    rig.core.task(task).is_some_and(|row| matches!(row.state, TaskState::Running { .. }))
}

/// Ends the task's attempt well, and proves its tree gone.
fn end(rig: &mut Rig, task: TaskId) {
    let place = rig.place(task).expect("it runs");
    rig.terminal(place, 1, Ending::Exited { code: 0 });
    rig.gone(place, WorkerExit::Code(0));
    rig.workers();
}

#[test]
fn overlapping_folders_exclude_each_other_and_no_others() {
    for (first, second, waits) in [
        ("/p", "/p", true),
        ("/p", "/p/x", true),
        ("/p/x", "/p", true),
        ("/", "/p", true),
        ("/p", "/q", false),
        ("/p", "/p-x", false),
        ("/p/x", "/p/y", false),
    ] {
        let mut rig = Rig::new();
        rig.workers();
        let one = acts(&mut rig, first);
        let other = acts(&mut rig, second);
        assert!(runs(&rig, one));
        assert_eq!(runs(&rig, other), !waits, "{first} {second}");
        assert_eq!(rig.core.waits_for_workspace(other), waits.then_some(one), "{first} {second}");
        if waits {
            assert_eq!(rig.core.obstacles(other), [Term::WorkspaceFree]);
            assert_eq!(rig.core.counts().waiting, 1);
            end(&mut rig, one);
            assert!(runs(&rig, other), "{first} {second}: it is free now");
            assert_eq!(rig.core.counts().waiting, 0);
        }
    }
}

#[test]
fn who_names_no_folder_neither_waits_nor_is_waited_for() {
    let mut rig = Rig::new();
    rig.workers();
    for folder in [Some("/p"), None, None] {
        let task = submit(&mut rig, folder, Priority::Normal);
        assert!(runs(&rig, task));
    }
}

#[test]
fn who_waits_for_a_folder_holds_nobody_else_back() {
    let mut rig = Rig::new();
    rig.workers();
    let first = acts(&mut rig, "/p");
    let waits = submit(&mut rig, Some("/p"), Priority::Urgent);
    let elsewhere = acts(&mut rig, "/q");
    assert!(runs(&rig, first) && !runs(&rig, waits) && runs(&rig, elsewhere));
}

#[test]
fn the_order_in_a_folder_is_that_of_the_queue() {
    let mut rig = Rig::new();
    rig.workers();
    let first = acts(&mut rig, "/p");
    let second = acts(&mut rig, "/p");
    let third = acts(&mut rig, "/p");
    let urgent = submit(&mut rig, Some("/p"), Priority::Urgent);
    for (task, next) in [(first, urgent), (urgent, second), (second, third)] {
        end(&mut rig, task);
        assert!(runs(&rig, next));
    }
}

#[test]
fn who_waits_for_a_larger_folder_is_not_overtaken_from_beneath_it() {
    let mut rig = Rig::new();
    rig.workers();
    let beneath = acts(&mut rig, "/p/x");
    let whole = acts(&mut rig, "/p");
    let later = acts(&mut rig, "/p/y");
    assert!(!runs(&rig, later));
    assert_eq!(rig.core.waits_for_workspace(later), Some(whole));
    rig.order(whole, TaskCommand::Hold);
    rig.workers();
    assert!(runs(&rig, later), "who is held keeps no place");
    rig.order(whole, TaskCommand::Release);
    let last = acts(&mut rig, "/p/z");
    end(&mut rig, beneath);
    assert!(!runs(&rig, whole) && !runs(&rig, last));
    end(&mut rig, later);
    assert!(runs(&rig, whole) && !runs(&rig, last));
    end(&mut rig, whole);
    assert!(runs(&rig, last));
}

#[test]
fn a_settled_task_holds_its_folder_until_its_tree_is_gone() {
    let mut rig = Rig::new();
    rig.workers();
    let first = acts(&mut rig, "/p");
    let second = acts(&mut rig, "/p");
    let place = rig.place(first).expect("it runs");
    rig.terminal(place, 1, Ending::Exited { code: 0 });
    rig.workers();
    assert!(rig.settled.contains_key(&first));
    assert!(!runs(&rig, second), "what is left of it may still write");
    assert_eq!(Core::load(rig.loaded()).waits_for_workspace(second), Some(first), "also in the next life");
    rig.gone(place, WorkerExit::Code(0));
    rig.workers();
    assert!(runs(&rig, second));
}

#[test]
fn a_lost_attempt_frees_its_folder_and_goes_on_first() {
    let mut rig = Rig::new();
    rig.workers();
    let policy = Policy { rerun: true, ..PLAIN };
    let first = rig.submit(|task| {
        task.workspace = Some("/p".into());
        task.policy = policy;
    });
    rig.workers();
    let second = acts(&mut rig, "/p");
    let mut rig = rig.reborn(crate::rig::SETTINGS);
    assert!(runs(&rig, first) && !runs(&rig, second));
    end(&mut rig, first);
    assert!(runs(&rig, second));
}

#[test]
fn a_cancelled_task_leaves_its_place_to_the_next() {
    let mut rig = Rig::new();
    rig.workers();
    let first = acts(&mut rig, "/p");
    let second = acts(&mut rig, "/p");
    let third = acts(&mut rig, "/p");
    rig.cancel(second, 0);
    end(&mut rig, first);
    assert!(runs(&rig, third));
}

#[test]
fn paths_are_held_once() {
    let mut rig = Rig::new();
    let tasks: Vec<TaskId> = (0..3).map(|_| acts(&mut rig, "/a/rather/long/path/to/a/project")).collect();
    let paths: Vec<_> = tasks.iter().filter_map(|task| rig.core.task(*task)?.workspace.clone()).collect();
    assert!(paths.windows(2).all(|pair| std::sync::Arc::ptr_eq(&pair[0], &pair[1])));
    let rig = rig.reborn(crate::rig::SETTINGS);
    let paths: Vec<_> = tasks.iter().filter_map(|task| rig.core.task(*task)?.workspace.clone()).collect();
    assert_eq!(paths.len(), 3);
    assert!(paths.windows(2).all(|pair| std::sync::Arc::ptr_eq(&pair[0], &pair[1])));
}
