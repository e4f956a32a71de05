//! The order of starting, before and after a reload.

use crate::rig::{PLAIN, Rig, SETTINGS, boot_input};
use ouroboros_domain::{Input, QueueCommand, Settings, TaskCommand, WorkerExit};
use ouroboros_proto::kind::{Ending, Priority, TaskId};

const ONE: Settings = Settings { slots: 1, ..SETTINGS };

/// Runs everything, one after another, and tells the order.
fn order(rig: &mut Rig, tasks: &[TaskId]) -> Vec<usize> {
    let mut order = Vec::new();
    rig.queue(QueueCommand::Release { all: true });
    rig.workers();
    while let Some((at, place)) = tasks.iter().enumerate().find_map(|(at, task)| Some((at, rig.place(*task)?))) {
        order.push(at);
        rig.started(place, 1);
        rig.terminal(place, 2, Ending::Exited { code: 0 });
        rig.gone(place, WorkerExit::Code(0));
        rig.workers();
    }
    order
}

fn prepared() -> (Rig, Vec<TaskId>) {
    let mut rig = Rig::with(ONE);
    rig.queue(QueueCommand::Hold);
    let priorities =
        [Priority::Low, Priority::Normal, Priority::Urgent, Priority::Normal, Priority::High, Priority::Low];
    let tasks = priorities.map(|priority| rig.submit(|task| task.priority = priority)).to_vec();
    (rig, tasks)
}

#[test]
fn higher_priority_first_then_arrival() {
    let (mut rig, tasks) = prepared();
    assert_eq!(order(&mut rig, &tasks), [2, 4, 1, 3, 0, 5]);
}

#[test]
fn a_reload_keeps_the_order() {
    let (rig, tasks) = prepared();
    let mut after = Rig::cold(rig.loaded());
    after.step(Input::Boot(boot_input(2, ONE)));
    assert_eq!(order(&mut after, &tasks), [2, 4, 1, 3, 0, 5]);
}

#[test]
fn a_new_priority_keeps_the_place_of_arrival() {
    let (mut rig, tasks) = prepared();
    rig.order(tasks[0], TaskCommand::Reprioritise(Priority::Normal));
    rig.order(tasks[3], TaskCommand::Reprioritise(Priority::Urgent));
    assert_eq!(order(&mut rig, &tasks), [2, 3, 4, 0, 1, 5]);
}

#[test]
fn a_hold_keeps_the_place_and_an_interrupted_task_comes_back_to_its_own() {
    let (mut rig, tasks) = prepared();
    rig.order(tasks[2], TaskCommand::Hold);
    rig.queue(QueueCommand::Release { all: false });
    rig.workers();
    let place = rig.place(tasks[4]).expect("the next one runs");
    rig.order(tasks[2], TaskCommand::Release);
    rig.gone(place, WorkerExit::Signal(9));
    assert_eq!(order(&mut rig, &tasks), [2, 4, 1, 3, 0, 5]);
}

#[test]
fn numbers_go_on_after_a_reload() {
    let (rig, tasks) = prepared();
    let mut after = Rig::cold(rig.loaded());
    after.step(Input::Boot(boot_input(2, ONE)));
    let next = after.submit(|task| task.policy = PLAIN);
    assert_eq!(after.core.task(next).map(|row| row.number.get()), Some(tasks.len() as u64 + 1));
}
