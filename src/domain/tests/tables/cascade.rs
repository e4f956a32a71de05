//! A task that did not complete takes along what comes after it, in bounded steps.

use crate::rig::{PLAIN, Rig, SETTINGS, boot_input};
use ouroboros_domain::{Input, Refusal, Reply, TaskCommand, WorkerExit};
use ouroboros_proto::kind::{BootMicros, Ending, Failure, Outcome, TaskId};

const MANY: usize = 500;
const STEP: usize = 64;

fn settle_the_rest(rig: &mut Rig, mut settled: usize, total: usize) {
    while rig.core.due().boot == Some(BootMicros::new(0)) {
        rig.tick();
        let now = rig.settled.len();
        assert!(now > settled && now - settled <= STEP, "{settled} then {now}");
        settled = now;
    }
    assert_eq!(settled, total);
}

fn failed_because_of(task: TaskId) -> Option<Outcome> {
    Some(Outcome::Failed(Failure::Dependency { task }))
}

#[test]
fn five_hundred_dependents_settle_in_bounded_steps() {
    let mut rig = Rig::new();
    let (first, place) = rig.run(PLAIN);
    let others: Vec<TaskId> = (0..MANY).map(|_| rig.submit(|task| task.after = vec![first])).collect();
    rig.terminal(place, 2, Ending::Exited { code: 1 });
    let settled = rig.settled.len();
    assert!(settled <= 1 + STEP);
    settle_the_rest(&mut rig, settled, 1 + MANY);
    assert!(others.iter().all(|task| rig.outcome(*task) == failed_because_of(first)));
}

#[test]
fn a_chain_falls_to_its_end() {
    let mut rig = Rig::new();
    let (first, place) = rig.run(PLAIN);
    let mut last = first;
    let mut chain = vec![first];
    for _ in 0..MANY {
        last = rig.submit(|task| task.after = vec![last]);
        chain.push(last);
    }
    rig.terminal(place, 2, Ending::Exited { code: 1 });
    let settled = rig.settled.len();
    settle_the_rest(&mut rig, settled, 1 + MANY);
    assert!(chain.windows(2).all(|pair| rig.outcome(pair[1]) == failed_because_of(pair[0])));
}

#[test]
fn a_cascade_cut_short_goes_on_after_a_start_and_starts_nothing() {
    let mut rig = Rig::new();
    let (first, place) = rig.run(PLAIN);
    let others: Vec<TaskId> = (0..MANY).map(|_| rig.submit(|task| task.after = vec![first])).collect();
    rig.terminal(place, 2, Ending::Exited { code: 1 });
    rig.gone(place, WorkerExit::Code(0));
    let open = others.iter().filter(|task| rig.outcome(**task).is_none()).count();
    assert!(open > STEP);
    let mut after = Rig::cold(rig.loaded());
    assert_eq!(after.core.counts().queued, 0);
    after.step(Input::Boot(boot_input(2, SETTINGS)));
    after.workers();
    while after.core.due().boot == Some(BootMicros::new(0)) {
        after.tick();
        after.workers();
    }
    assert_eq!(after.attempts.len(), 0, "none of them starts");
    assert_eq!(after.settled.len(), open);
}

#[test]
fn a_failed_task_stays_while_others_fall_because_of_it() {
    let mut rig = Rig::new();
    let (first, place) = rig.run(PLAIN);
    for _ in 0..MANY {
        rig.submit(|task| task.after = vec![first]);
    }
    rig.terminal(place, 2, Ending::Exited { code: 1 });
    rig.gone(place, WorkerExit::Code(0));
    // The step that answers also moves the cascade on.
    assert_eq!(rig.order(first, TaskCommand::Remove).0, Reply::Refused(Refusal::HasDependents));
    rig.step(Input::Forget { tasks: vec![first] });
    assert!(rig.settled.contains_key(&first));
    let settled = rig.settled.len();
    settle_the_rest(&mut rig, settled, 1 + MANY);
    assert_eq!(rig.order(first, TaskCommand::Remove).0, Reply::Done);
}

#[test]
fn all_of_several_must_complete() {
    let mut rig = Rig::new();
    let (one, at_one) = rig.run(PLAIN);
    let (two, at_two) = rig.run(PLAIN);
    let task = rig.submit(|task| task.after = vec![one, two]);
    rig.terminal(at_one, 2, Ending::Exited { code: 0 });
    rig.gone(at_one, WorkerExit::Code(0));
    rig.workers();
    assert_eq!(rig.place(task), None);
    rig.terminal(at_two, 2, Ending::Exited { code: 0 });
    rig.workers();
    assert!(rig.place(task).is_some());
}
