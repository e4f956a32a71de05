//! Tasks in words that begin with what another one did and heard.

use crate::rig::{PLAIN, Rig};
use ouroboros_domain::{Change, Decision, Effect, Inherit, NewTask, Refusal, Reply, TaskCommand};
use ouroboros_proto::kind::{Ending, TaskId, TaskNumber, WorkKind};

fn after(rig: &mut Rig, task: TaskId, entries: Option<u32>) -> NewTask {
    NewTask { kind: WorkKind::Agent, inherit: Some(Inherit { task, entries }), ..rig.new_task() }
}

fn submit(rig: &mut Rig, task: NewTask) -> (Reply, Decision) {
    rig.submit_all(vec![task])
}

fn inherited(decision: &Decision) -> Vec<(TaskId, u32)> {
    let of = |change: &Change| match change {
        Change::Inherited { from, entries, .. } => Some((*from, *entries)),
        _ => None,
    };
    decision.changes.iter().filter_map(of).collect()
}

#[test]
fn what_is_taken_over_is_copied_with_the_acceptance_and_told_to_the_worker() {
    let mut rig = Rig::new();
    let (first, place) = rig.start_of(WorkKind::Agent, PLAIN);
    rig.terminal(place, 1, Ending::Answered);
    rig.gone(place, ouroboros_domain::WorkerExit::Code(0));
    let task = after(&mut rig, first, Some(5));
    let id = task.id;
    let (reply, decision) = submit(&mut rig, task);
    assert!(matches!(reply, Reply::Accepted(_)), "{reply:?}");
    assert_eq!(inherited(&decision), [(first, 5)]);
    assert_eq!(rig.core.task(id).map(|row| (row.inherited, row.root)), Some((5, id)), "its limits are its own");
    rig.workers();
    let place = rig.place(id).expect("it runs");
    let (_, removal) = rig.order(first, TaskCommand::Remove);
    assert!(removal.changes.contains(&Change::TaskRemoved(first)), "it depends on nothing");
    rig.terminal(place, 1, Ending::Answered);
    let again = TaskId::from_bytes([9; 16]);
    let (_, decision) = rig.order(id, TaskCommand::Retry { id: again });
    assert_eq!(inherited(&decision), [(id, 5)], "what repeats it begins where it began");
    rig.workers();
    let told = |effect: &Effect| matches!(effect, Effect::Assign { inherited: 5, .. });
    assert!(decision.effects.iter().any(told) || rig.place(again).is_some());
}

#[test]
fn only_what_is_in_words_and_over_is_continued() {
    let mut rig = Rig::new();
    let (running, _) = rig.start_of(WorkKind::Agent, PLAIN);
    let (command, _) = rig.run(PLAIN);
    let cases = [
        (running, None, Refusal::StillAtWork { task: TaskNumber::new(1) }),
        (command, Some(1), Refusal::NotInWords),
        (TaskId::from_bytes([9; 16]), Some(1), Refusal::UnknownTask),
    ];
    for (task, entries, refusal) in cases {
        let task = after(&mut rig, task, entries);
        let (reply, decision) = submit(&mut rig, task);
        assert_eq!((reply, decision.changes), (Reply::Refused(refusal), Vec::new()));
    }
    let fork = after(&mut rig, running, Some(2));
    assert_eq!(inherited(&submit(&mut rig, fork).1), [(running, 2)], "what is recorded can be forked while it runs");
}

#[test]
fn a_key_is_looked_at_before_what_is_continued() {
    let mut rig = Rig::new();
    let (first, place) = rig.start_of(WorkKind::Agent, PLAIN);
    rig.terminal(place, 1, Ending::Answered);
    let key = Some(([1; 16], [2; 16]));
    let task = NewTask { key, ..after(&mut rig, first, Some(1)) };
    assert!(matches!(submit(&mut rig, task.clone()).0, Reply::Accepted(_)));
    // The word `last` means the new task now, which is at work.
    let again = NewTask { inherit: Some(Inherit { task: task.id, entries: None }), ..task.clone() };
    let Reply::Accepted(accepted) = submit(&mut rig, again).0 else { panic!("refused") };
    assert_eq!((accepted[0].0, accepted[0].2), (task.id, true));
}
