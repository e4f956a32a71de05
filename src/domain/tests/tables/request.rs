//! Requests to the owner: opened once, answered once, kept over attempts, and slots lent meanwhile.

use crate::rig::{PLAIN, Place, Rig, SETTINGS, assert_refused, reply};
use ouroboros_domain::{
    Change, Decision, Effect, Input, NewRequest, NewRule, QueueCommand, Refusal, Reply, RequestId, RequestInput,
    Settings, ShutdownKind, TaskCommand, WorkerExit, WorkerReport,
};
use ouroboros_proto::kind::{
    Ending, Event, Millis, RequestKind, RequestState, RuleEffect, RuleId, RuleScope, TaskId, WorkKind,
};

const ONE_SLOT: Settings = Settings { slots: 1, request_timeout: Some(Millis::seconds(60)), ..SETTINGS };
const WORDS: [u8; 16] = [1; 16];

fn asks(rig: &mut Rig, place: Place, sequence: u64, number: u32, digest: [u8; 16]) -> Decision {
    let request = NewRequest { number, kind: RequestKind::Approval, digest, content: [7_u8][..].into() };
    rig.report(place, sequence, WorkerReport::Request(request))
}

fn answers(rig: &mut Rig, task: TaskId, number: u32, rule: Option<RuleScope>) -> (Reply, Decision) {
    let rule =
        rule.map(|scope| NewRule { scope, tool: "run".into(), pattern: [8_u8][..].into(), effect: RuleEffect::Allow });
    let decision = rig.step(Input::Request(RequestInput::Answer {
        request: RequestId(9),
        task,
        number,
        digest: WORDS,
        answer: [9_u8][..].into(),
        rule,
    }));
    (reply(&decision), decision)
}

fn told(decision: &Decision) -> Vec<(Place, u32)> {
    let told = |effect: &Effect| match effect {
        Effect::Answered { worker, attempt, number, .. } => {
            Some((Place { worker: *worker, attempt: *attempt }, *number))
        }
        _ => None,
    };
    decision.effects.iter().filter_map(told).collect()
}

fn state(rig: &Rig, task: TaskId, number: u32) -> Option<RequestState> {
    rig.core.request(task, number).map(|row| row.state)
}

/// A task in words that runs in the only slot and asks something.
fn asking() -> (Rig, TaskId, Place) {
    let mut rig = Rig::with(ONE_SLOT);
    let (task, place) = rig.start_of(WorkKind::Agent, PLAIN);
    let decision = asks(&mut rig, place, 1, 4, WORDS);
    assert!(decision.changes.iter().any(|change| matches!(change, Change::Requested { .. })));
    assert!(matches!(rig.events.last(), Some(Event::RequestOpened { request: 4, .. })));
    assert_eq!(told(&decision), []);
    (rig, task, place)
}

#[test]
fn an_answer_is_given_once_and_reaches_who_asked() {
    let (mut rig, task, place) = asking();
    let (reply, decision) = answers(&mut rig, task, 4, None);
    assert_eq!((reply, told(&decision)), (Reply::Done, vec![(place, 4)]));
    assert!(matches!(&decision.changes[..], [Change::Request { answer: Some(_), .. }, Change::Event(_)]));
    assert_refused(&answers(&mut rig, task, 4, None), Refusal::RequestClosed);
    assert_refused(&answers(&mut rig, task, 5, None), Refusal::RequestClosed);
}

#[test]
fn an_answer_is_for_the_words_that_were_asked() {
    let (mut rig, task, place) = asking();
    answers(&mut rig, task, 4, None);
    // The same words again are answered at once, others are asked anew.
    let again = asks(&mut rig, place, 2, 4, WORDS);
    assert_eq!(told(&again), [(place, 4)]);
    let other = asks(&mut rig, place, 3, 4, [2; 16]);
    assert_eq!((told(&other), state(&rig, task, 4)), (vec![], Some(RequestState::Open)));
    assert_refused(&answers(&mut rig, task, 4, None), Refusal::RequestClosed);
}

#[test]
fn who_waits_lends_the_slot_and_goes_on_even_if_it_is_one_over() {
    let (mut rig, task, place) = asking();
    let other = rig.submit(|_| {});
    let third = rig.submit(|_| {});
    rig.workers();
    let beside = rig.place(other).expect("it has the slot that was lent");
    assert_eq!((rig.place(third), rig.core.free_slots()), (None, 0));
    answers(&mut rig, task, 4, None);
    rig.workers();
    assert_eq!(rig.place(third), None, "two run in one slot: nothing else starts");
    rig.terminal(beside, 1, Ending::Exited { code: 0 });
    rig.gone(beside, WorkerExit::Code(0));
    rig.workers();
    assert_eq!(rig.place(third), None, "the slot is full");
    rig.terminal(place, 2, Ending::Answered);
    rig.gone(place, WorkerExit::Code(0));
    rig.workers();
    assert!(rig.place(third).is_some());
}

#[test]
fn nobody_answering_in_time_is_told_once_by_the_boot_clock() {
    let (mut rig, task, place) = asking();
    // A wall clock that is set says nothing about how long somebody waited.
    rig.wall += 3_600_000_000;
    assert_eq!(told(&rig.tick()), []);
    assert_eq!(told(&rig.pass(Millis::seconds(59))), []);
    let decision = rig.pass(Millis::seconds(2));
    assert_eq!((told(&decision), state(&rig, task, 4)), (vec![(place, 4)], Some(RequestState::Expired)));
    assert!(rig.core.due().boot.is_none_or(|due| due.get() > rig.boot));
    assert_refused(&answers(&mut rig, task, 4, None), Refusal::RequestClosed);
    let mut patient = Rig::with(Settings { request_timeout: None, ..ONE_SLOT });
    let (task, place) = patient.start_of(WorkKind::Agent, PLAIN);
    asks(&mut patient, place, 1, 4, WORDS);
    patient.pass(Millis::seconds(1_000_000));
    assert_eq!(state(&patient, task, 4), Some(RequestState::Open));
}

#[test]
fn what_a_lost_attempt_asked_stays_open_and_its_answer_is_kept() {
    let (mut rig, task, place) = asking();
    rig.gone(place, WorkerExit::Signal(9));
    assert_eq!(state(&rig, task, 4), Some(RequestState::Open));
    let (reply, decision) = answers(&mut rig, task, 4, None);
    assert_eq!((reply, told(&decision)), (Reply::Done, vec![]));
    rig.workers();
    let next = rig.place(task).expect("it is tried again");
    assert_eq!(told(&asks(&mut rig, next, 1, 4, WORDS)), [(next, 4)]);
}

#[test]
fn a_new_life_goes_on_with_what_was_open_and_the_time_that_is_left() {
    let (mut rig, task, place) = asking();
    rig.wall += 30_000_000;
    rig.boot = 5;
    let mut rig = rig.reborn(ONE_SLOT);
    assert_eq!(state(&rig, task, 4), Some(RequestState::Open));
    let next = rig.place(task).expect("it is tried again");
    assert_ne!(next.attempt, place.attempt);
    let asked = asks(&mut rig, next, 1, 4, WORDS);
    assert_eq!(told(&asked), []);
    assert!(!asked.changes.iter().any(|change| matches!(change, Change::Requested { .. })), "it is the same row");
    rig.pass(Millis::seconds(29));
    assert_eq!(state(&rig, task, 4), Some(RequestState::Open));
    assert_eq!(told(&rig.pass(Millis::seconds(2))), [(next, 4)]);
}

#[test]
fn what_a_later_attempt_does_without_is_withdrawn() {
    let (mut rig, task, place) = asking();
    rig.gone(place, WorkerExit::Signal(9));
    rig.workers();
    let next = rig.place(task).expect("it is tried again");
    asks(&mut rig, next, 1, 5, WORDS);
    assert_eq!((state(&rig, task, 4), state(&rig, task, 5)), (Some(RequestState::Withdrawn), Some(RequestState::Open)));
    // Asked after all, it is open again.
    asks(&mut rig, next, 2, 4, WORDS);
    assert_eq!(state(&rig, task, 4), Some(RequestState::Open));
}

#[test]
fn a_cancel_and_an_end_withdraw_what_is_open() {
    let (mut rig, task, place) = asking();
    rig.cancel(task, 1_000);
    assert_eq!(state(&rig, task, 4), Some(RequestState::Withdrawn));
    assert_refused(&answers(&mut rig, task, 4, None), Refusal::RequestClosed);
    let late = asks(&mut rig, place, 2, 5, WORDS);
    assert_eq!((told(&late), state(&rig, task, 5)), (vec![(place, 5)], None), "who is to end asks nothing more");
    let (mut rig, task, place) = asking();
    rig.terminal(place, 2, Ending::Answered);
    assert_eq!(rig.core.request(task, 4), None);
    let closed = |event: &Event| matches!(event, Event::RequestClosed { state: RequestState::Withdrawn, .. });
    assert!(rig.events.iter().any(closed));
}

#[test]
fn rules_are_saved_with_the_answer_and_those_of_a_task_go_with_it() {
    let (mut rig, task, place) = asking();
    answers(&mut rig, task, 4, Some(RuleScope::Task));
    asks(&mut rig, place, 2, 5, WORDS);
    let (_, decision) = answers(&mut rig, task, 5, Some(RuleScope::Installation));
    let added = |change: &Change| matches!(change, Change::RuleAdded(row) if row.id == RuleId::new(2));
    assert!(decision.changes.iter().any(added));
    assert!(matches!(rig.events.last(), Some(Event::RequestAnswered { request: 5, rule: Some(_) })));
    let ended = rig.terminal(place, 3, Ending::Answered);
    let removed = |change: &&Change| matches!(change, Change::RuleRemoved(_));
    let removed: Vec<_> = ended.changes.iter().filter(removed).collect();
    assert_eq!(removed, [&Change::RuleRemoved(RuleId::new(1))]);
    let remove = |rig: &mut Rig, id| {
        let input = RequestInput::RemoveRule { request: RequestId(9), rule: RuleId::new(id) };
        let decision = rig.step(Input::Request(input));
        (reply(&decision), decision)
    };
    assert_eq!(remove(&mut rig, 2).0, Reply::Done);
    assert_refused(&remove(&mut rig, 2), Refusal::UnknownRule);
}

#[test]
fn there_are_only_so_many_rules() {
    let mut rig = Rig::with(ONE_SLOT);
    let (task, place) = rig.start_of(WorkKind::Agent, PLAIN);
    for number in 1..=256 {
        asks(&mut rig, place, u64::from(number), number, WORDS);
        assert_eq!(answers(&mut rig, task, number, Some(RuleScope::Installation)).0, Reply::Done);
    }
    asks(&mut rig, place, 257, 257, WORDS);
    assert_refused(&answers(&mut rig, task, 257, Some(RuleScope::Task)), Refusal::TooManyRules { max: 256 });
    assert_eq!(answers(&mut rig, task, 257, None).0, Reply::Done, "it can still be answered for once");
}

#[test]
fn a_drain_does_not_wait_for_the_owner() {
    let (mut rig, task, place) = asking();
    let decision = rig.shut_down(ShutdownKind::Restart, true);
    let stopped = |effect: &Effect| matches!(effect, Effect::Stop { attempt, .. } if *attempt == place.attempt);
    assert!(decision.effects.iter().any(stopped));
    assert_eq!(state(&rig, task, 4), Some(RequestState::Open), "it is asked again in the next life");
}

/// What the task's next attempt is told of requests.
fn unheard(rig: &mut Rig) -> Option<Vec<u32>> {
    let told = |effect: &Effect| if let Effect::Assign { unheard, .. } = effect { Some(unheard.clone()) } else { None };
    let decisions = [rig.queue(QueueCommand::Release { all: false })].into_iter().chain(rig.workers());
    decisions.into_iter().find_map(|decision| decision.effects.iter().find_map(told))
}

#[test]
fn who_goes_on_is_told_what_nobody_heard() {
    // Open, answered while nobody was there, and answered while somebody was.
    for (before, after, expected) in [(false, false, vec![4]), (false, true, vec![4]), (true, false, vec![])] {
        let (mut rig, task, place) = asking();
        if before {
            answers(&mut rig, task, 4, None);
        }
        rig.queue(QueueCommand::Hold);
        rig.gone(place, WorkerExit::Signal(9));
        if after {
            assert_eq!(answers(&mut rig, task, 4, None).0, Reply::Done);
        }
        assert_eq!(unheard(&mut rig), Some(expected), "{before} {after}");
        let next = rig.place(task).expect("it goes on");
        if before || after {
            assert_eq!(told(&asks(&mut rig, next, 1, 4, WORDS)), [(next, 4)], "it finds the answer");
        }
        rig.queue(QueueCommand::Hold);
        rig.gone(next, WorkerExit::Signal(9));
        let again = if before || after { vec![] } else { vec![4] };
        assert_eq!(unheard(&mut rig), Some(again), "what it was told it may have acted on");
    }
}

#[test]
fn a_call_that_is_cancelled_asks_nothing_more() {
    let (mut rig, task, place) = asking();
    let (answer, decision) = rig.order(task, TaskCommand::CancelCall { call: 5 });
    assert_eq!((answer, told(&decision), state(&rig, task, 4)), (Reply::Done, vec![], Some(RequestState::Open)));
    let (answer, decision) = rig.order(task, TaskCommand::CancelCall { call: 4 });
    assert_eq!((answer, told(&decision)), (Reply::Done, vec![(place, 4)]));
    assert_eq!(state(&rig, task, 4), Some(RequestState::Withdrawn));
}
