//! What tasks ask their owner.

use super::harness::Harness;
use crate::http::view::RequestRecord;
use ouroboros_domain::{Input, NewRule, Refusal, Reply, RequestInput, RequestRow, RuleRow};
use ouroboros_proto::kind::{
    AttemptId, RequestKind, RequestState, RuleEffect, RuleId, RuleScope, TaskId, TaskNumber, UtcMicros,
};
use serde_json::json;
use std::sync::{Arc, Mutex};

pub(super) const QUESTION: &str = r#"{"type":"question","text":"Which?","options":["left","right"]}"#;
pub(super) const APPROVAL: &str =
    r#"{"type":"approval","tool":"run","summary":"rm -rf build","why":"deletes","rule":{"argv":["rm"]}}"#;

/// A server with a task that asks this as its request 3.
pub(super) fn asking(content: &str) -> (Harness, TaskId) {
    let harness = Harness::new();
    let number = harness.submit();
    let task = harness.world.id(number);
    let kind = if content == QUESTION { RequestKind::Question } else { RequestKind::Approval };
    let row = RequestRow {
        task,
        number: 3,
        attempt: AttemptId::from_bytes([1; 16]),
        kind,
        digest: [5; 16],
        state: RequestState::Open,
        asked_at: UtcMicros::new(1_796_040_000_000_000),
        expires_at: None,
        closed_at: None,
    };
    let record = RequestRecord { row, number: TaskNumber::new(number), content: content.to_owned(), answer: None };
    harness.world.store().requests.push(record);
    (harness, task)
}

/// What the supervisor is asked when this is answered.
fn answered(harness: &Harness, body: &str) -> (u16, String, Option<RequestInput>) {
    let seen: Arc<Mutex<Option<RequestInput>>> = Arc::default();
    let kept = Arc::clone(&seen);
    harness.world.script(move |input| match input {
        Input::Request(input) => {
            *kept.lock().unwrap() = Some(input.clone());
            Some(Ok(Reply::Done))
        }
        _ => None,
    });
    let answer = harness.post("/api/requests/1/3/answer", body);
    let code = if answer.status == 200 { String::new() } else { answer.code() };
    let input = seen.lock().unwrap().take();
    (answer.status, code, input)
}

#[test]
fn what_is_asked_is_listed_and_shown_with_its_task() {
    let (harness, _) = asking(QUESTION);
    let listed = harness.get("/api/requests?state=open").json();
    assert_eq!(listed["requests"][0]["asks"]["text"], "Which?");
    let one = harness.get("/api/requests/1/3").json();
    assert_eq!((&one["request"], &one["state"], &one["answer"]), (&json!(3), &json!("open"), &json!(null)));
    for shown in [harness.get("/api/tasks/1").json(), harness.get("/api/tasks").json()["tasks"][0].clone()] {
        assert_eq!(shown["request"]["request"], 3, "{shown:#}");
        assert!(shown["reason"].as_str().unwrap().contains("`ouroboros answer 1`"), "{shown:#}");
    }
    let refused = |path: &str| {
        let answer = harness.get(path);
        (answer.status, answer.code())
    };
    assert_eq!(refused("/api/requests/1/4"), (404, "unknown_request".to_owned()));
    assert_eq!(refused("/api/requests/9/3"), (404, "unknown_task".to_owned()));
    assert_eq!(refused("/api/requests/1/x"), (400, "bad_field".to_owned()));
    assert_eq!(refused("/api/requests?state=shut"), (400, "bad_field".to_owned()));
}

#[test]
fn an_answer_is_handed_on_for_what_was_shown() {
    let (harness, task) = asking(QUESTION);
    let (status, _, input) = answered(&harness, r#"{"option":2}"#);
    assert_eq!(status, 200);
    let Some(RequestInput::Answer { task: of, number, digest, answer, rule, .. }) = input else { panic!("no answer") };
    assert_eq!((of, number, digest, rule), (task, 3, [5; 16], None));
    assert_eq!(&*answer, br#"{"type":"option","number":2,"text":"right"}"#);
    for bad in ["{}", r#"{"option":3}"#, r#"{"decision":"once"}"#, r#"{"option":1,"text":"left"}"#] {
        assert_eq!(answered(&harness, bad), (400, "bad_answer".to_owned(), None), "{bad}");
    }
    assert_eq!(answered(&harness, r#"{"choice":1}"#).1, "bad_field");
    let long = json!({ "text": "x".repeat(9 << 10) }).to_string();
    assert_eq!(answered(&harness, &long).1, "bad_answer");
}

#[test]
fn what_is_always_allowed_is_a_rule_for_the_folder_or_everywhere() {
    let (harness, _) = asking(APPROVAL);
    let rule = |body: &str| match answered(&harness, body).2 {
        Some(RequestInput::Answer { rule, .. }) => rule,
        other => panic!("{other:?}"),
    };
    assert_eq!(rule(r#"{"decision":"once"}"#), None);
    let always = rule(r#"{"decision":"always"}"#).unwrap();
    assert!(matches!(&always.scope, RuleScope::Folder { path } if path.starts_with('/')), "{always:?}");
    assert_eq!((&*always.tool, &*always.pattern), ("run", &br#"{"argv":["rm"]}"#[..]));
    let everywhere = rule(r#"{"decision":"always","scope":"installation"}"#).unwrap();
    assert_eq!(everywhere.scope, RuleScope::Installation);
    assert_eq!(rule(r#"{"decision":"task"}"#).unwrap().scope, RuleScope::Task);
    assert_eq!(rule(r#"{"decision":"deny","reason":"no"}"#), None);
}

#[test]
fn what_is_over_is_not_answered() {
    let (harness, _) = asking(QUESTION);
    harness
        .world
        .script(|input| matches!(input, Input::Request(_)).then_some(Ok(Reply::Refused(Refusal::RequestClosed))));
    assert_eq!(harness.post("/api/requests/1/3/answer", r#"{"option":1}"#).code(), "request_closed");
    {
        let mut store = harness.world.store();
        let record = &mut store.requests[0];
        (record.row.state, record.row.closed_at) = (RequestState::Expired, Some(UtcMicros::new(1)));
    }
    let (status, code, input) = answered(&harness, r#"{"option":1}"#);
    assert_eq!((status, code.as_str(), input), (409, "request_closed", None));
    assert_eq!(harness.get("/api/tasks/1").json()["request"], json!(null));
}

#[test]
fn rules_are_listed_and_taken_back() {
    let (harness, task) = asking(APPROVAL);
    harness.world.store().rules.push(RuleRow {
        id: RuleId::new(4),
        rule: NewRule {
            scope: RuleScope::Folder { path: "/work".to_owned() },
            tool: "run".into(),
            pattern: br#"{"argv":["rm"]}"#[..].into(),
            effect: RuleEffect::Allow,
        },
        created_at: UtcMicros::new(1_796_040_000_000_000),
        from: (task, 3),
    });
    let rule = harness.get("/api/rules").json()["rules"][0].clone();
    assert_eq!((&rule["id"], &rule["scope"]), (&json!(4), &json!({ "in": "folder", "path": "/work" })));
    assert_eq!((&rule["pattern"]["argv"][0], &rule["from_request"]), (&json!("rm"), &json!(3)));
    harness.world.script(|input| match input {
        Input::Request(RequestInput::RemoveRule { rule, .. }) if *rule == RuleId::new(4) => Some(Ok(Reply::Done)),
        Input::Request(_) => Some(Ok(Reply::Refused(Refusal::UnknownRule))),
        _ => None,
    });
    let remove = |id: &str| harness.tcp("DELETE", &format!("/api/rules/{id}"), &[], None);
    let token = format!("Bearer {}", super::harness::TOKEN);
    let with = |id: &str| harness.tcp("DELETE", &format!("/api/rules/{id}"), &[("Authorization", &token)], None);
    assert_eq!(remove("4").status, 401, "a stranger takes nothing back");
    assert_eq!(with("4").status, 204);
    assert_eq!((with("5").code(), with("x").code()), ("unknown_rule".to_owned(), "unknown_rule".to_owned()));
}
