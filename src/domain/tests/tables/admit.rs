//! Admission: all or nothing, every refusal without a trace, and what keys mean.

use crate::rig::{PLAIN, Rig, SETTINGS, assert_refused};
use ouroboros_domain::{Change, NewTask, Refusal, Reply, Settings, ShutdownKind, TaskCommand, WorkerExit};
use ouroboros_proto::kind::{Ending, TaskId, TaskNumber};

const DONE: Ending = Ending::Exited { code: 0 };
const UNKNOWN: TaskId = TaskId::from_bytes([9; 16]);

fn finish(rig: &mut Rig, ending: Ending) -> TaskId {
    let (task, place) = rig.run(PLAIN);
    rig.terminal(place, 2, ending);
    rig.gone(place, WorkerExit::Code(0));
    task
}

fn with(rig: &mut Rig, change: impl FnOnce(&mut NewTask)) -> NewTask {
    let mut task = rig.new_task();
    change(&mut task);
    task
}

#[test]
fn a_full_queue_refuses_the_whole_request() {
    let mut rig = Rig::with(Settings { max_tasks: 2, ..SETTINGS });
    let three = (0..3).map(|_| rig.new_task()).collect();
    assert_refused(&rig.submit_all(three), Refusal::QueueFull { max: 2 });
    let two = (0..2).map(|_| rig.new_task()).collect();
    assert!(matches!(rig.submit_all(two).0, Reply::Accepted(_)));
    let one = vec![rig.new_task()];
    assert_refused(&rig.submit_all(one), Refusal::QueueFull { max: 2 });
}

#[test]
fn a_stopping_server_refuses_new_work_but_answers_for_old() {
    let mut rig = Rig::new();
    let task = with(&mut rig, |task| task.key = Some(([1; 16], [2; 16])));
    rig.submit_all(vec![task.clone()]);
    rig.workers();
    rig.shut_down(ShutdownKind::Stop, true);
    let fresh = vec![rig.new_task()];
    assert_refused(&rig.submit_all(fresh), Refusal::Stopping);
    let again = NewTask { id: UNKNOWN, ..task.clone() };
    assert_eq!(rig.submit_all(vec![again]).0, Reply::Accepted(vec![(task.id, TaskNumber::new(1), true)]));
}

#[test]
fn dependencies_must_exist_and_must_not_have_failed() {
    let mut rig = Rig::new();
    let failed = finish(&mut rig, Ending::Exited { code: 1 });
    let completed = finish(&mut rig, DONE);
    let good = rig.new_task();
    let bad = with(&mut rig, |task| task.after = vec![UNKNOWN]);
    assert_refused(&rig.submit_all(vec![good.clone(), bad]), Refusal::UnknownDependency { task: UNKNOWN });
    let bad = with(&mut rig, |task| task.after = vec![completed, failed]);
    assert_refused(&rig.submit_all(vec![good, bad]), Refusal::DependencyFailed { task: TaskNumber::new(1) });
    let fine = rig.submit(|task| task.after = vec![completed, completed]);
    assert_eq!(rig.core.task(fine).map(|row| row.after.len()), Some(0), "met before it came");
}

#[test]
fn a_forgotten_task_is_unknown_before_the_store_knows_it() {
    let mut rig = Rig::new();
    let task = finish(&mut rig, DONE);
    rig.late = true;
    assert_eq!(rig.order(task, TaskCommand::Remove).0, Reply::Done);
    for command in [TaskCommand::Remove, TaskCommand::Retry { id: UNKNOWN }, TaskCommand::Release] {
        assert_refused(&rig.order(task, command), Refusal::UnknownTask);
    }
    let after = with(&mut rig, |new| new.after = vec![task]);
    assert_refused(&rig.submit_all(vec![after]), Refusal::UnknownDependency { task });
}

#[test]
fn a_task_that_settled_is_known_before_the_store_knows_it() {
    let mut rig = Rig::new();
    let task = rig.submit(|_| ());
    rig.late = true;
    rig.cancel(task, 0);
    rig.settled.clear();
    assert_refused(&rig.order(task, TaskCommand::Hold), Refusal::AlreadySettled);
    let after = with(&mut rig, |new| new.after = vec![task]);
    assert_refused(&rig.submit_all(vec![after]), Refusal::DependencyFailed { task: TaskNumber::new(1) });
    assert!(matches!(rig.order(task, TaskCommand::Retry { id: UNKNOWN }).0, Reply::Accepted(_)));
}

#[test]
fn keys_in_one_request() {
    let mut rig = Rig::new();
    let key = |key: u8, body: u8| Some(([key; 16], [body; 16]));
    let first = with(&mut rig, |task| task.key = key(1, 1));
    let same = with(&mut rig, |task| task.key = key(1, 1));
    let other = with(&mut rig, |task| task.key = key(2, 1));
    let (reply, decision) = rig.submit_all(vec![first.clone(), same, other.clone()]);
    let (one, two) = (TaskNumber::new(1), TaskNumber::new(2));
    assert_eq!(reply, Reply::Accepted(vec![(first.id, one, false), (first.id, one, true), (other.id, two, false)]));
    let keys = decision.changes.iter().filter(|change| matches!(change, Change::Key(_))).count();
    assert_eq!(keys, 2);
    let fresh = rig.new_task();
    let clash = with(&mut rig, |task| task.key = key(3, 1));
    let clashes = with(&mut rig, |task| task.key = key(3, 2));
    let refused = rig.submit_all(vec![fresh, clash, clashes]);
    assert_refused(&refused, Refusal::KeyConflict { task: TaskNumber::new(4) });
    let stored = with(&mut rig, |task| task.key = key(2, 9));
    assert_refused(&rig.submit_all(vec![stored]), Refusal::KeyConflict { task: two });
}

#[test]
fn a_key_outlives_its_task_and_a_reload() {
    let mut rig = Rig::new();
    let (task, place) = rig.run(PLAIN);
    rig.terminal(place, 2, DONE);
    rig.gone(place, WorkerExit::Code(0));
    let keyed = with(&mut rig, |task| task.key = Some(([1; 16], [1; 16])));
    rig.submit_all(vec![keyed.clone()]);
    rig.cancel(keyed.id, 0);
    rig.order(keyed.id, TaskCommand::Remove);
    let mut after = Rig::cold(rig.loaded());
    let again = NewTask { id: UNKNOWN, ..keyed.clone() };
    assert_eq!(after.submit_all(vec![again]).0, Reply::Accepted(vec![(keyed.id, TaskNumber::new(2), true)]));
    assert!(rig.outcome(task).is_some());
}

#[test]
fn owners_refusals() {
    let mut rig = Rig::new();
    let settled = finish(&mut rig, DONE);
    let (running, place) = rig.run(PLAIN);
    let waiting = rig.submit(|task| task.after = vec![running]);
    let retry = TaskCommand::Retry { id: UNKNOWN };
    let cancel = TaskCommand::Cancel { grace: None };
    for (task, command, refusal) in [
        (UNKNOWN, cancel, Refusal::UnknownTask),
        (settled, cancel, Refusal::AlreadySettled),
        (settled, TaskCommand::Hold, Refusal::AlreadySettled),
        (settled, TaskCommand::Release, Refusal::AlreadySettled),
        (running, TaskCommand::Hold, Refusal::AlreadyRunning),
        (running, TaskCommand::Reprioritise(ouroboros_proto::kind::Priority::High), Refusal::AlreadyRunning),
        (running, retry, Refusal::NotSettled),
        (waiting, TaskCommand::Remove, Refusal::NotSettled),
    ] {
        assert_refused(&rig.order(task, command), refusal);
    }
    rig.terminal(place, 2, DONE);
    assert_refused(&rig.order(running, TaskCommand::Remove), Refusal::HasDependents);
    rig.gone(place, WorkerExit::Code(0));
    assert_eq!(rig.order(running, TaskCommand::Remove).0, Reply::Done, "met dependents do not need it");
}
