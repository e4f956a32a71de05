//! Questions, routes, keys and costs.

use super::harness::{Harness, exchange, request};
use crate::http::view::{CostBy, Costs};
use ouroboros_domain::{AnswerKind, Input, PriceBasis, Receipt, Reply, SendRow, TaskCommand};
use ouroboros_proto::api::{ApiError, Code, CostGroup, CostView, Timestamp};
use ouroboros_proto::kind::{
    AttemptId, Cost, CostSource, Generation, NanoDollars, SendId, SendState, TaskId, TaskNumber, TokenUsage, UtcMicros,
};
use serde_json::json;

const SECRET: &str = "sk-test-0123456789abcdef";

fn ask(harness: &Harness) -> TaskId {
    let answer = harness.post("/api/tasks", r#"{"ask":{"prompt":"why?"}}"#);
    assert_eq!(answer.status, 201, "{}", answer.text());
    harness.world.id(answer.json()["number"].as_u64().unwrap())
}

fn send(task: TaskId, state: SendState, cost: Option<u64>) -> SendRow {
    let receipt = Receipt {
        answer: AnswerKind::Answer,
        cost: cost.map(|amount| Cost { amount: NanoDollars::new(amount), source: CostSource::Provider }),
        usage: TokenUsage { input: Some(300), output: Some(40), ..TokenUsage::default() },
        model: "gpt-5.1-2026".into(),
        provider_request: "".into(),
    };
    SendRow {
        id: SendId::mint(),
        task,
        number: TaskNumber::new(1),
        root: task,
        attempt: AttemptId::mint(),
        call: 1,
        ordinal: 1,
        route: "openai/gpt-5.1".into(),
        generation: Generation::new(3),
        state,
        bound: NanoDollars::new(1_000),
        basis: PriceBasis::Known,
        limit: None,
        reserved_at: UtcMicros::new(1_796_040_000_000_000),
        ended_at: None,
        receipt: (state == SendState::Settled).then(|| Box::new(receipt)),
        late: false,
    }
}

#[test]
fn what_a_task_spent_is_shown_with_it_and_nothing_unknown_is_shown_as_nothing() {
    let harness = Harness::new();
    let task = ask(&harness);
    harness.world.store().sends = vec![
        send(task, SendState::Settled, Some(7)),
        send(task, SendState::Settled, None),
        send(task, SendState::Unresolved, None),
        send(task, SendState::Dispatched, None),
        send(task, SendState::Released, None),
    ];
    let shown = harness.get("/api/tasks/1").json();
    let cost = &shown["cost"];
    assert_eq!(cost["settled_nanos"], 7);
    assert_eq!((&cost["reserved_nanos"], &cost["unresolved_nanos"]), (&json!(1_000), &json!(2_000)));
    assert_eq!((&cost["accounted_nanos"], &cost["is_final"]), (&json!(3_007), &json!(false)));
    assert_eq!((&cost["sends"], &cost["unpriced"], &cost["unresolved"]), (&json!(4), &json!(1), &json!(1)));
    assert_eq!((&cost["input_tokens"], &cost["output_tokens"]), (&json!(600), &json!(80)));
    let sends = shown["sends"].as_array().unwrap();
    assert_eq!((sends.len(), &sends[0]["cost"]["amount"], &sends[1]["cost"]), (5, &json!(7), &json!(null)));
    assert_eq!((&sends[0]["model"], &sends[0]["provider_request"]), (&json!("gpt-5.1-2026"), &json!(null)));
    let listed = harness.get("/api/tasks").json();
    assert!(listed["tasks"][0].get("cost").is_none(), "{listed}");
}

#[test]
fn a_cost_is_final_only_when_its_task_is() {
    let harness = Harness::new();
    let task = ask(&harness);
    harness.world.store().sends = vec![send(task, SendState::Settled, Some(7))];
    assert_eq!(harness.get("/api/tasks/1").json()["cost"]["is_final"], false);
    harness.post("/api/tasks/1/cancel", "");
    assert_eq!(harness.get("/api/tasks/1").json()["cost"]["is_final"], true);
}

#[test]
fn a_question_without_a_route_is_refused_unless_it_waits() {
    let harness = Harness::new();
    let none = ApiError::new(Code::NoModelRoute, "There is no route.").remedy("Set a key.");
    harness.world.store().no_route = Some(none);
    let answer = harness.post("/api/tasks", r#"{"ask":{"prompt":"why?"}}"#);
    assert_eq!((answer.status, answer.code().as_str()), (409, "no_model_route"));
    assert!(harness.world.store().submitted.is_empty());
    assert!(harness.world.store().settled, "refused before anybody had looked");
    assert_eq!(harness.post("/api/tasks", r#"{"ask":{"prompt":"why?","wait_model":true}}"#).status, 201);
    assert_eq!(harness.post("/api/tasks", r#"{"command":{"argv":["true"],"cwd":"/"}}"#).status, 201);
}

#[test]
fn no_answer_has_a_key_in_it() {
    let harness = Harness::new();
    let set = |body: String| harness.post("/api/keys", body);
    let answers = [
        set(json!({ "provider": "openai", "key": SECRET }).to_string()),
        harness.get("/api/keys"),
        set(json!({ "provider": "nobody", "key": SECRET }).to_string()),
        set(json!({ "provider": "openai", SECRET: "x" }).to_string()),
        set(json!(SECRET).to_string()),
        set(json!({ "provider": { SECRET: 1 }, "key": 1 }).to_string()),
        set(format!("{{\"provider\": \"openai\", \"key\": {SECRET}")),
        harness.post("/api/keys/openai/test", ""),
    ];
    for answer in &answers {
        assert!(!answer.text().contains(SECRET), "{}", answer.text());
    }
    assert_eq!(answers[0].json()["ending"], "cdef");
    assert_eq!(answers[1].json()["keys"][0]["provider"], "openai");
    assert_eq!(answers[2].code(), "unknown_provider");
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 200, 404, 400, 400, 400, 400, 200]);
    assert_eq!(exchange(harness.unix(), &request("DELETE", "/api/keys/openai", &[], None)).status, 204);
    assert!(harness.world.store().keys.is_empty());
}

#[test]
fn who_resumes_hears_whether_the_route_costs_nothing() {
    let harness = Harness::new();
    ask(&harness);
    let named = harness.post("/api/tasks", r#"{"ask":{"prompt":"why?","route":"openai/gpt-5.1"}}"#);
    assert_eq!(named.status, 201, "{}", named.text());
    let (sender, commands) = std::sync::mpsc::sync_channel(2);
    harness.world.script(move |input| match input {
        Input::Task { command, .. } => {
            sender.send(*command).unwrap();
            Some(Ok(Reply::Done))
        }
        _ => None,
    });
    for (number, free) in [(1, true), (2, false)] {
        assert_eq!(harness.post(&format!("/api/tasks/{number}/resume"), "").status, 200);
        assert_eq!(commands.recv().unwrap(), TaskCommand::Resume { pause: None, max_cost: None, free });
    }
    assert_eq!(harness.post("/api/tasks/9/resume", "").status, 404);
}

#[test]
fn costs_are_asked_for_as_they_are_wanted() {
    let harness = Harness::new();
    let task = ask(&harness);
    let group = CostGroup { key: "2026-11-30".to_owned(), cost: CostView { sends: 3, ..CostView::default() } };
    let costs =
        Costs { groups: vec![group], warning: Some("The ledger does not add up.".to_owned()), ..Costs::default() };
    harness.world.store().costs = costs;
    let answer = harness.get(
        "/api/cost-breakdown?by=day&since=2026-11-30T00:00:00Z&until=2026-12-01T00:00:00Z&task=last&route=openai/gpt-5.1&check=true",
    );
    let shown = answer.json();
    assert_eq!((&shown["by"], &shown["groups"][0]["cost"]["sends"]), (&json!("day"), &json!(3)), "{shown}");
    assert_eq!(shown["warning"], "The ledger does not add up.");
    assert_eq!(
        shown["limits"][0],
        json!({ "limit": "total", "nanos": 10_000_000_000_u64, "accounted_nanos": 2_000_001 })
    );
    assert_eq!(shown["limits"][2], json!({ "limit": "tree", "nanos": null, "accounted_nanos": null }));
    let asked = harness.world.store().asked_costs.pop().unwrap();
    let time = |text: &str| Some(text.parse::<Timestamp>().unwrap().0);
    assert_eq!((asked.by, asked.task, asked.route.as_deref()), (CostBy::Day, Some(task), Some("openai/gpt-5.1")));
    assert!(asked.check);
    assert_eq!((asked.since, asked.until), (time("2026-11-30T00:00:00Z"), time("2026-12-01T00:00:00Z")));
    harness.get("/api/cost-breakdown");
    assert!(
        !harness.world.store().asked_costs.pop().unwrap().check,
        "the whole ledger is read only for who wants that"
    );
    for wrong in ["check=perhaps", "by=colour", "since=yesterday", "task=99", "from=1"] {
        let status = harness.get(&format!("/api/cost-breakdown?{wrong}")).status;
        assert!(matches!(status, 400 | 404), "{wrong}: {status}");
    }
}

#[test]
fn spending_is_shown_once_it_is_known() {
    let harness = Harness::new();
    harness.world.set_status(|status| status.queue.paused = 2);
    let state = harness.get("/api/state").json();
    assert_eq!((&state["queue"]["paused"], &state["spending"]["settled_nanos"]), (&json!(2), &json!(2_000_000)));
    assert_eq!(state["spending"]["accounted_nanos"], 2_000_001);
    let group = |key: &str| CostGroup { key: key.to_owned(), cost: CostView { sends: 3, ..CostView::default() } };
    harness.world.store().costs.groups = vec![group("a\"b")];
    let metrics = harness.get("/metrics").text();
    for line in [
        "ouroboros_tasks{status=\"paused\"} 2",
        "ouroboros_model_dollars{what=\"settled\"} 0.002",
        "ouroboros_model_limit_dollars{limit=\"total\"} 10.00",
        "ouroboros_model_calls_total{route=\"a\\\"b\"} 3",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
    }
    harness.world.set_status(|status| status.booted = false);
    assert_eq!(harness.get("/api/state").json()["spending"], json!(null));
    assert!(!harness.get("/metrics").text().contains("model_dollars"));
}

#[test]
fn routes_are_shown_looked_for_and_tried() {
    let harness = Harness::new();
    assert_eq!(harness.get("/api/models").json()["problems"][0], "nothing answers on port 11434");
    assert_eq!(harness.post("/api/models/refresh", "").json()["problems"], json!([]));
    let tried = harness.post("/api/models/test", r#"{"route":"openai/gpt-5.1"}"#);
    assert_eq!((tried.status, &tried.json()["works"]), (200, &json!(true)));
    assert_eq!(harness.post("/api/models/test", r#"{"route":"nobody/none"}"#).code(), "no_model_route");
    let priced = harness.post("/api/model-catalog", r#"{"route":"openai/gpt-5.1","input":"1.25","output":"10"}"#);
    assert_eq!(priced.status, 200, "{}", priced.text());
    assert_eq!(harness.world.store().prices[0].input.as_deref(), Some("1.25"));
}

#[test]
fn only_an_unresolved_send_takes_a_receipt() {
    let harness = Harness::new();
    let task = ask(&harness);
    let unresolved = || send(task, SendState::Unresolved, None);
    let sends = [unresolved(), send(task, SendState::Settled, Some(7)), unresolved()];
    let [open, known, late] = [sends[0].id, sends[1].id, sends[2].id];
    harness.world.store().sends = sends.to_vec();
    let receipt =
        |id: &str, cost: &str| harness.post(&format!("/api/sends/{id}/receipt"), json!({ "cost": cost }).to_string());
    assert_eq!(receipt(&open.to_string(), "0.50").status, 200);
    assert_eq!(receipt(&known.to_string(), "0.50").code(), "not_unresolved");
    assert_eq!(receipt("last", "0.50").code(), "unknown_send");
    harness.world.store().known_cost = Some(NanoDollars::new(9));
    let overtaken = receipt(&late.to_string(), "0.50");
    assert_eq!(overtaken.code(), "not_unresolved");
    assert!(overtaken.text().contains("settled at $0.000000009 meanwhile"), "{}", overtaken.text());
    for wrong in ["none", "-1", "much"] {
        assert_eq!(receipt(&open.to_string(), wrong).code(), "bad_field", "{wrong}");
    }
    let half = NanoDollars::new(500_000_000);
    assert_eq!(harness.world.store().receipts, [(open, half), (late, half)]);
}

#[test]
fn what_went_over_the_wire_is_given_as_long_as_it_is_kept() {
    let harness = Harness::new();
    let id = SendId::mint();
    harness.world.store().exchanges.insert(id, ("asked".into(), "answered".into()));
    assert_eq!(harness.get(&format!("/api/sends/{id}/exchange/request")).text(), "asked");
    assert_eq!(harness.get(&format!("/api/sends/{id}/exchange/response")).text(), "answered");
    assert_eq!(harness.get(&format!("/api/sends/{id}/exchange/both")).code(), "unknown_path");
    assert_eq!(harness.get(&format!("/api/sends/{}/exchange/request", SendId::mint())).code(), "expired");
}
