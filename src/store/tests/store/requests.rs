//! Requests to the owner are answered once, are read with what was asked and answered, and go with their task. Rules keep their numbers.

use crate::support::{Heard, Writing, opened, script};
use ouroboros_domain::change::Change;
use ouroboros_domain::{NewRule, RequestRow, RuleRow};
use ouroboros_proto::kind::{
    AttemptId, RequestKind, RequestState, RuleEffect, RuleId, RuleScope, TaskId, TaskNumber, UtcMicros,
};
use ouroboros_store::CommitErrorKind;

fn row(task: TaskId, number: u32) -> RequestRow {
    RequestRow {
        task,
        number,
        attempt: AttemptId::from_bytes([1; 16]),
        kind: RequestKind::Approval,
        digest: [3; 16],
        state: RequestState::Open,
        asked_at: UtcMicros::new(1_000_000 + i64::from(number)),
        expires_at: Some(UtcMicros::new(9_000)),
        closed_at: None,
    }
}

fn asked(row: RequestRow, content: &str) -> Change {
    Change::Requested { row: Box::new(row), content: content.as_bytes().into() }
}

fn closed(row: RequestRow, state: RequestState, answer: Option<&str>) -> Change {
    let row = RequestRow { state, closed_at: Some(UtcMicros::new(5_000)), ..row };
    Change::Request { row, answer: answer.map(|answer| answer.as_bytes().into()) }
}

fn rule(id: u64, scope: RuleScope, task: TaskId) -> RuleRow {
    let rule = NewRule { scope, tool: "run".into(), pattern: b"{\"a\":1}"[..].into(), effect: RuleEffect::Allow };
    RuleRow { id: RuleId::new(id), rule, created_at: UtcMicros::new(7), from: (task, 2) }
}

#[test]
fn a_request_is_answered_once_and_goes_with_its_task() {
    let dir = tempfile::tempdir().unwrap();
    let store = opened(dir.path()).store;
    let reader = store.reader();
    let writing = Writing::start(store);
    (1..=10).for_each(|decision| writing.commit(decision));
    // Task 1 has settled, task 2 has not.
    let (settled, live) = (script::task_id(1), script::task_id(2));
    let commit = |decision, changes| {
        writing.put(decision, changes);
        assert_eq!(writing.hear(), Heard::Committed(decision));
    };
    let (one, two, old) = (row(live, 11), row(live, 12), row(settled, 10));
    commit(11, vec![asked(one, "{\"n\":1}"), asked(two, "{\"n\":2}"), asked(old, "{\"n\":3}")]);
    commit(12, vec![closed(two, RequestState::Answered, Some("{\"yes\":1}"))]);
    let found = reader.request(live, 12).unwrap().unwrap();
    assert_eq!((found.number, found.content.as_str()), (TaskNumber::new(2), "{\"n\":2}"));
    assert_eq!((found.row.state, found.answer.as_deref()), (RequestState::Answered, Some("{\"yes\":1}")));
    assert_eq!(reader.request(live, 13).unwrap(), None);
    let numbers =
        |task, open| reader.requests(task, open, 9).unwrap().iter().map(|found| found.row.key()).collect::<Vec<_>>();
    assert_eq!(numbers(None, true), [(live, 11), (settled, 10)]);
    // The script asked and closed one of each task.
    assert_eq!(numbers(None, false), [(live, 12), (live, 11), (settled, 10), (live, 2), (settled, 1)]);
    assert_eq!(
        (numbers(Some(live), true), numbers(Some(live), false)),
        (vec![(live, 11)], vec![(live, 12), (live, 11), (live, 2)])
    );
    // Another attempt may be told of it; nobody answers it again.
    let told = RequestRow { attempt: AttemptId::from_bytes([2; 16]), ..found.row };
    commit(13, vec![Change::Request { row: told, answer: None }]);
    assert_eq!(reader.request(live, 12).unwrap().unwrap().answer.as_deref(), Some("{\"yes\":1}"));
    let live_rows = writing.handle.reopen().unwrap().live.requests;
    assert_eq!(live_rows[1..], [one, told], "what memory holds is of unsettled tasks");
    commit(14, vec![Change::TaskRemoved(settled)]);
    assert_eq!(numbers(None, false), [(live, 12), (live, 11), (live, 2)]);
    // Something else under the same number takes its place, without an answer.
    commit(15, vec![asked(RequestRow { digest: [4; 16], ..two }, "{\"n\":4}")]);
    let found = reader.request(live, 12).unwrap().unwrap();
    assert_eq!((found.content.as_str(), found.answer), ("{\"n\":4}", None));
    commit(16, vec![closed(two, RequestState::Expired, None)]);
    writing.put(17, vec![closed(two, RequestState::Answered, Some("{}"))]);
    let heard = writing.hear();
    assert!(
        matches!(&heard, Heard::Failed(17, error) if matches!(error.kind, CommitErrorKind::Constraint { .. })),
        "{heard:?}"
    );
}

#[test]
fn rules_are_those_of_all_and_of_the_task_and_a_number_is_given_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = opened(dir.path()).store;
    let reader = store.reader();
    let writing = Writing::start(store);
    let (one, two) = (script::task_id(1), script::task_id(2));
    let folder = RuleScope::Folder { path: "/work".to_owned() };
    let rules = [rule(1, RuleScope::Installation, one), rule(2, folder, one), rule(3, RuleScope::Task, one)];
    let added = rules.iter().map(|row| Change::RuleAdded(Box::new(row.clone())));
    writing.put(1, added.collect());
    assert_eq!(writing.hear(), Heard::Committed(1));
    assert_eq!(reader.rules(None).unwrap(), rules);
    assert_eq!(reader.rules(Some(one)).unwrap().len(), 3);
    assert_eq!(reader.rules(Some(two)).unwrap(), rules[..2]);
    let live = writing.handle.reopen().unwrap().live;
    assert_eq!(
        live.rules.into_iter().collect::<Vec<_>>(),
        [(RuleId::new(1), None), (RuleId::new(2), None), (RuleId::new(3), Some(one)),]
    );
    assert_eq!(live.next_rule, RuleId::new(4));
    writing.put(2, vec![Change::RuleRemoved(RuleId::new(3))]);
    assert_eq!(writing.hear(), Heard::Committed(2));
    assert_eq!(writing.handle.reopen().unwrap().live.next_rule, RuleId::new(4));
}
