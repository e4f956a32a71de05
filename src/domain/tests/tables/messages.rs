//! Speaking to a task in words, and stopping its turn.

use crate::rig::{PLAIN, Place, Rig, assert_refused, reply};
use ouroboros_domain::{
    Change, Decision, Effect, Input, KeyHash, Living, NewMessage, Refusal, Reply, RequestId, TaskCommand, WorkerReport,
};
use ouroboros_proto::kind::{CancelReason, Ending, Event, Millis, Outcome, TaskId, TaskNumber, WorkKind};
use ouroboros_proto::limits;

const KEY: Option<(KeyHash, KeyHash)> = Some(([1; 16], [2; 16]));

fn say_with(rig: &mut Rig, task: TaskId, key: Option<(KeyHash, KeyHash)>) -> (Reply, Decision) {
    let message = NewMessage { task, text: "more".into(), key };
    let decision = rig.step(Input::Message { request: RequestId(7), message });
    (reply(&decision), decision)
}

fn say(rig: &mut Rig, task: TaskId) -> (Reply, Decision) {
    say_with(rig, task, None)
}

fn entry() -> std::sync::Arc<[u8]> {
    [b'{'][..].into()
}

fn tells(decision: &Decision, place: Place) -> bool {
    decision.effects.iter().any(|effect| matches!(effect, Effect::Tell { attempt, .. } if *attempt == place.attempt))
}

#[test]
fn a_message_is_stored_told_and_taken_with_the_entry_that_holds_it() {
    let mut rig = Rig::new();
    let (task, place) = rig.start_of(WorkKind::Agent, PLAIN);
    let (answer, decision) = say(&mut rig, task);
    assert_eq!(answer, Reply::Heard(1, false));
    assert!(matches!(decision.changes[0], Change::Message { .. }) && tells(&decision, place));
    assert_eq!(say(&mut rig, task).0, Reply::Heard(2, false));
    let decision = rig.report(place, 1, WorkerReport::Took { number: 1, entry: entry() });
    let taken = decision.changes.iter().any(|change| matches!(change, Change::MessageTaken { number: 1, .. }));
    assert!(taken && rig.events.contains(&Event::MessageTaken { number: 1 }));
    let again = rig.report(place, 1, WorkerReport::Took { number: 1, entry: entry() });
    assert_eq!(again.changes, [], "a frame that comes twice takes nothing twice");
    let other = rig.report(place, 2, WorkerReport::Took { number: 9, entry: entry() });
    assert!(!other.changes.iter().any(|change| matches!(change, Change::MessageTaken { .. })), "nobody said that");
}

#[test]
fn what_is_delivered_closes_its_ears_and_what_was_said_before_opens_them() {
    let mut rig = Rig::new();
    let (task, place) = rig.start_of(WorkKind::Agent, PLAIN);
    say(&mut rig, task);
    rig.report(place, 1, WorkerReport::Delivered(entry()));
    let refusal = Refusal::NotListening { task: TaskNumber::new(1) };
    assert_refused(&say(&mut rig, task), refusal.clone());
    assert_refused(&rig.order(task, TaskCommand::Interrupt { hold: false }), Refusal::NotRunning);
    rig.report(place, 2, WorkerReport::Took { number: 1, entry: entry() });
    assert_eq!(say(&mut rig, task).0, Reply::Heard(2, false), "it goes on, so it hears");
    rig.report(place, 3, WorkerReport::Delivered(entry()));
    rig.terminal(place, 4, Ending::Answered);
    assert_refused(&say(&mut rig, task), refusal);
    assert_eq!(rig.core.rows().messages, [], "what is over hears nothing");
}

#[test]
fn a_task_that_waits_hears_too_and_one_that_ends_does_not() {
    let mut rig = Rig::new();
    let held = rig.submit(|task| (task.kind, task.hold) = (WorkKind::Agent, true));
    let (answer, decision) = say(&mut rig, held);
    assert_eq!(answer, Reply::Heard(1, false));
    assert!(
        !decision.effects.iter().any(|effect| matches!(effect, Effect::Tell { .. })),
        "there is nobody to tell yet"
    );
    rig.cancel(held, 0);
    assert_eq!(rig.outcome(held), Some(Outcome::Cancelled(CancelReason::Requested)));
    assert_refused(&say(&mut rig, held), Refusal::NotListening { task: TaskNumber::new(1) });
    let (running, _) = rig.start_of(WorkKind::Agent, PLAIN);
    rig.order(running, TaskCommand::Cancel { grace: Some(Millis::seconds(9)) });
    assert_refused(&say(&mut rig, running), Refusal::NotListening { task: TaskNumber::new(2) });
    let (command, _) = rig.run(PLAIN);
    assert_refused(&say(&mut rig, command), Refusal::NotInWords);
    assert_refused(&say(&mut rig, TaskId::from_bytes([9; 16])), Refusal::UnknownTask);
}

#[test]
fn the_same_key_is_one_message_also_when_the_task_is_over() {
    let mut rig = Rig::new();
    let (task, place) = rig.start_of(WorkKind::Agent, PLAIN);
    assert_eq!(say_with(&mut rig, task, KEY).0, Reply::Heard(1, false));
    let (answer, decision) = say_with(&mut rig, task, KEY);
    assert_eq!((answer, decision.changes.len()), (Reply::Heard(1, true), 0));
    let other = Some(([1; 16], [3; 16]));
    assert_refused(&say_with(&mut rig, task, other), Refusal::KeyConflict { task: TaskNumber::new(1) });
    rig.terminal(place, 1, Ending::Answered);
    assert_eq!(say_with(&mut rig, task, KEY).0, Reply::Heard(1, true));
}

#[test]
fn there_is_a_bound_on_what_waits() {
    let mut rig = Rig::new();
    let (task, place) = rig.start_of(WorkKind::Agent, PLAIN);
    let most = limits::MESSAGES_WAITING.max;
    (0..most).for_each(|_| assert!(matches!(say(&mut rig, task).0, Reply::Heard(..))));
    assert_refused(&say(&mut rig, task), Refusal::TooManyMessages { limit: limits::MESSAGES_WAITING });
    rig.report(place, 1, WorkerReport::Took { number: 1, entry: entry() });
    assert!(matches!(say(&mut rig, task).0, Reply::Heard(..)));
}

#[test]
fn what_was_said_is_told_again_after_the_state_was_loaded_again() {
    let mut rig = Rig::new();
    let (task, place) = rig.start_of(WorkKind::Agent, PLAIN);
    say(&mut rig, task);
    let process = rig.core.rows().processes.iter().find(|row| row.worker == place.worker).cloned().expect("its row");
    rig.core = rig.core.reload(rig.loaded());
    let living = Living {
        worker: place.worker,
        process: process.id,
        identity: process.identity,
        isolation: ouroboros_proto::kind::Isolation::Namespace,
        ready: true,
        attempt: Some(place.attempt),
    };
    let boot = ouroboros_domain::Boot { living: vec![living], ..crate::rig::boot_input(1, crate::rig::SETTINGS) };
    assert!(tells(&rig.step(Input::Boot(boot)), place));
}

#[test]
fn a_turn_is_stopped_where_one_is_under_way() {
    let mut rig = Rig::new();
    let (task, place) = rig.start_of(WorkKind::Agent, PLAIN);
    let (answer, decision) = rig.order(task, TaskCommand::Interrupt { hold: true });
    assert_eq!((answer, decision.changes.len()), (Reply::Done, 0));
    let asked = Effect::Interrupt { worker: place.worker, attempt: place.attempt, hold: true };
    assert!(decision.effects.contains(&asked));
    let queued = rig.submit(|task| (task.kind, task.hold) = (WorkKind::Agent, true));
    assert_refused(&rig.order(queued, TaskCommand::Interrupt { hold: false }), Refusal::NotRunning);
    let (answer, decision) = rig.order(task, TaskCommand::CancelCall { call: 3 });
    let asked = Effect::CancelCall { worker: place.worker, attempt: place.attempt, call: 3 };
    assert_eq!((answer, decision.changes.len()), (Reply::Done, 0), "nothing of it is durable");
    assert!(decision.effects.contains(&asked), "{decision:?}");
    assert_refused(&rig.order(queued, TaskCommand::CancelCall { call: 3 }), Refusal::NotRunning);
    let (command, _) = rig.run(PLAIN);
    assert_refused(&rig.order(command, TaskCommand::Interrupt { hold: false }), Refusal::NotInWords);
}
