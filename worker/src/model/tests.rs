//! Recording, and asking the owner.

use super::*;
use ouroboros_proto::kind::{AttemptId, Generation, TaskId};
use ouroboros_proto::wire::{AskWork, Order, ToWorker};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Returns once an entry counts as recorded, when this is all that the server says.
fn recorded(order: Order) {
    let (attempt, generation) = (AttemptId::from_bytes([1; 16]), Generation::new(1));
    let mailbox = Mailbox::new(generation).unwrap();
    let work = AskWork { request: Vec::new(), timeout: None, output_limit: 1, output_base: String::new() };
    for order in [Order::Ask { task: TaskId::from_bytes([2; 16]), work: Box::new(work) }, order] {
        mailbox.put(ToWorker { attempt, generation, order });
    }
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut speech = Speech::new(dir.path().join("out").to_str().unwrap(), 1 << 10);
    let reporter = Reporter::new(Arc::new(ours), attempt, generation);
    let mut line = Line::new(&mailbox, reporter, Orders::default(), None);
    line.record(Report::Entry { entry: b"{}".to_vec() });
    line.until_durable(&mut speech);
}

#[test]
fn what_is_asked_for_again_from_the_next_on_is_recorded() {
    recorded(Order::Acknowledge { sequence: 1 });
    // After the state was loaded again nobody remembers that an acknowledgement is owed.
    recorded(Order::Resend { after: 1 });
}

/// A line whose server says these orders, and what the worker wrote.
fn asking(
    orders: Vec<Order>,
    deadline: Option<BootMicros>,
) -> (Result<OwnerAnswer, Ending>, Vec<Rule>, Option<BootMicros>) {
    let (attempt, generation) = (AttemptId::from_bytes([1; 16]), Generation::new(1));
    let mailbox = Mailbox::new(generation).unwrap();
    let work = AskWork { request: Vec::new(), timeout: None, output_limit: 1, output_base: String::new() };
    mailbox.put(ToWorker {
        attempt,
        generation,
        order: Order::Ask { task: TaskId::from_bytes([2; 16]), work: Box::new(work) },
    });
    for order in orders {
        mailbox.put(ToWorker { attempt, generation, order });
    }
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut speech = Speech::new(dir.path().join("out").to_str().unwrap(), 1 << 10);
    let reporter = Reporter::new(Arc::new(ours), attempt, generation);
    let mut line = Line::new(&mailbox, reporter, Orders::default(), deadline);
    let request = OwnerRequest::Question { text: "Which?".to_owned(), options: Vec::new() };
    let answer = line.ask_owner(2, &request, &mut speech);
    (answer, line.rules().to_vec(), line.deadline)
}

fn answered(number: u32, answer: &OwnerAnswer, rules: &[Rule]) -> Order {
    let (answer, rules) = (serde_json::to_vec(answer).unwrap(), serde_json::to_vec(rules).unwrap());
    Order::Answered { number, answer, rules }
}

#[test]
fn the_answer_to_what_is_asked_is_heard_and_the_time_it_took_does_not_count() {
    let rule = Rule {
        id: ouroboros_proto::kind::RuleId::new(1),
        scope: ouroboros_proto::kind::RuleScope::Installation,
        tool: "run".to_owned(),
        pattern: serde_json::Value::Null,
        effect: ouroboros_proto::kind::RuleEffect::Allow,
    };
    let said = OwnerAnswer::Text { text: "the left one".to_owned() };
    let orders = vec![answered(1, &OwnerAnswer::Expired, &[]), answered(2, &said, std::slice::from_ref(&rule))];
    let deadline = clock::boot().plus(Millis::seconds(600));
    let (answer, rules, after) = asking(orders, Some(deadline));
    assert_eq!((answer, rules), (Ok(said), vec![rule]));
    assert!(after.is_some_and(|after| after >= deadline));
}

#[test]
fn a_stop_ends_the_wait_without_an_answer() {
    let (answer, ..) = asking(vec![Order::Stop { grace: Millis::seconds(1) }], None);
    assert_eq!(answer, Err(Ending::Stopped));
}

#[test]
fn what_is_over_its_bounds_is_not_asked() {
    let mailbox = Mailbox::new(Generation::new(1)).unwrap();
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let reporter = Reporter::new(Arc::new(ours), AttemptId::from_bytes([1; 16]), Generation::new(1));
    let mut line = Line::new(&mailbox, reporter, Orders::default(), None);
    let dir = tempfile::tempdir().unwrap();
    let mut speech = Speech::new(dir.path().join("out").to_str().unwrap(), 1 << 10);
    let request = OwnerRequest::Question { text: "x".repeat(9 << 10), options: Vec::new() };
    assert_eq!(line.ask_owner(1, &request, &mut speech), Ok(OwnerAnswer::Withdrawn));
}
