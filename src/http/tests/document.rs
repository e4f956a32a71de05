//! The OpenAPI document says what the server does.

use super::harness::Harness;
use crate::http::openapi::{document, schemas};
use crate::http::render;
use crate::http::routes::{ROUTES, Shape};
use ouroboros_proto::agent::{Entry, Objective, WindowSource};
use ouroboros_proto::api::*;
use ouroboros_proto::kind::*;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[test]
fn the_checked_in_document_is_the_one_that_is_served() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/openapi.json");
    let made = format!("{}\n", serde_json::to_string_pretty(&document()).unwrap());
    if std::env::var_os("OUROBOROS_TEST_UPDATE").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(
        kept == made,
        "docs/openapi.json is not what the route table says; run this test with OUROBOROS_TEST_UPDATE=1"
    );
    let harness = Harness::new();
    assert_eq!(harness.get("/api/openapi.json").json(), document());
}

#[test]
fn every_shape_that_a_route_names_is_described() {
    let schemas = schemas();
    let mut named = BTreeSet::from(["ApiError"]);
    for route in ROUTES {
        let shapes = [Some(route.answer.1), route.body.map(|(shape, _)| shape)];
        for shape in shapes.into_iter().flatten() {
            match shape {
                Shape::Json(name) | Shape::List(name) => drop(named.insert(name)),
                Shape::Either(one, other) => named.extend([one, other]),
                _ => {}
            }
        }
    }
    let text = serde_json::to_string(&schemas).unwrap();
    for name in text.split("#/components/schemas/").skip(1) {
        named.insert(name.split('"').next().unwrap());
    }
    for name in named {
        assert!(schemas.contains_key(name), "{name} is not described");
    }
}

/// Checks a value with every field filled against the description of its shape.
fn same(name: &str, value: &impl Serialize) {
    let schemas = schemas();
    let schema = &schemas[name];
    let value = serde_json::to_value(value).unwrap();
    let described: BTreeSet<_> = schema["properties"].as_object().unwrap().keys().cloned().collect();
    let real: BTreeSet<_> = value.as_object().unwrap().keys().cloned().collect();
    assert_eq!(described, real, "{name}");
    for (field, value) in value.as_object().unwrap() {
        check(&format!("{name}.{field}"), &schema["properties"][field], value);
    }
}

fn check(place: &str, schema: &Value, value: &Value) {
    if let Some(options) = schema["anyOf"].as_array() {
        let real = options.iter().find(|option| option["type"] != "null").unwrap();
        return check(place, real, value);
    }
    if let Some(words) = schema["enum"].as_array() {
        assert!(words.contains(value), "{place}: {value} is not one of {words:?}");
    }
    let fits = match schema["type"].as_str() {
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64(),
        Some("boolean") => value.is_boolean(),
        Some("array") => {
            value.as_array().unwrap().iter().for_each(|item| check(place, &schema["items"], item));
            value.is_array()
        }
        Some("object") => value.is_object(),
        _ => true,
    };
    assert!(fits, "{place}: {value} is not {schema}");
}

/// The value without what is left out when it says nothing must be accepted, and lack only what may be missing.
fn sparse(name: &str, value: &impl Serialize) {
    let value = serde_json::to_value(value).unwrap();
    let schemas = schemas();
    let required = schemas[name]["required"].as_array().cloned().unwrap_or_default();
    for field in required {
        assert!(value.get(field.as_str().unwrap()).is_some(), "{name}.{field} may be missing");
    }
}

fn time() -> Timestamp {
    Timestamp(UtcMicros::new(1_796_040_000_000_000))
}

fn command() -> CommandSpec {
    CommandSpec {
        argv: vec!["true".into()],
        cwd: Some("/".into()),
        env: [("A".into(), "1".into())].into(),
        clean_env: true,
        umask: Some(18),
        stdin: Some("a".into()),
        stdin_base64: Some("YQ==".into()),
        pty: Some(PtySpec { columns: 80, rows: 24 }),
    }
}

fn submission() -> SubmitOne {
    SubmitOne {
        command: command(),
        name: Some("n".into()),
        key: Some("k".into()),
        priority: Priority::High,
        delay_ms: Some(1),
        after: vec!["1".into()],
        hold: true,
        rerun: true,
        retries: 1,
        timeout_ms: Some(1),
        isolation: Some(Isolation::Host),
        max_cost: Some("0.50".into()),
        parent: Some("1".into()),
        ask: Some(ask()),
        agent: Some(agent()),
    }
}

fn ask() -> AskSpec {
    AskSpec {
        prompt: "p".into(),
        system: Some("s".into()),
        route: Some("r".into()),
        max_output_tokens: Some(1),
        effort: Some(ouroboros_proto::agent::Effort::High),
        output_schema: Some(json!({ "type": "object" })),
        images: vec![ImageSpec { media_type: "image/png".into(), data: "YQ==".into() }],
        wait_model: true,
    }
}

fn agent() -> AgentSpec {
    AgentSpec {
        prompt: "p".into(),
        folder: "/".into(),
        from: Some(FromSpec { task: "1".into(), round: Some(1) }),
        route: Some("r".into()),
        effort: Some(ouroboros_proto::agent::Effort::High),
        max_rounds: Some(1),
        wait_model: true,
        mode: Some(ouroboros_proto::agent::Mode::Light),
        path: Some("/bin".into()),
        parallel: true,
        output_schema: Some(json!(true)),
        replay: Some("1".into()),
        images: vec![ImageSpec { media_type: "image/png".into(), data: "YQ==".into() }],
    }
}

fn ending() -> EndingView {
    EndingView { code: Some(1), ..render::ending(&Ending::Signaled { signal: 9, out_of_memory: OutOfMemory::Unknown }) }
}

fn attempt() -> AttemptView {
    AttemptView {
        id: AttemptId::mint(),
        ordinal: 1,
        generation: Generation::new(1),
        started_at: time(),
        ended_at: Some(time()),
        released: true,
        isolation: "namespace".into(),
        ending: Some(ending()),
        usage: Some(UsageView { user_micros: 1, system_micros: 1, max_resident_bytes: 1, elapsed_ms: 1 }),
        stdout: StreamView::default(),
        stderr: StreamView::default(),
    }
}

fn task() -> TaskView {
    TaskView {
        id: TaskId::mint(),
        number: TaskNumber::new(1),
        kind: "command".into(),
        name: "n".into(),
        status: TaskStatus::Cancelling,
        reason: Some("r".into()),
        priority: "high".into(),
        submitted_at: time(),
        not_before: Some(time()),
        started_at: Some(time()),
        settled_at: Some(time()),
        after: vec![TaskNumber::new(1)],
        attempts: 1,
        cancel_requested: true,
        request: Some(Box::new(request())),
        outcome: Some(Outcome::Completed),
        exit_code: Some(0),
        objective: Some(Objective::NotMet),
        retry_of: Some(TaskId::mint()),
        from: Some(Continued { task: TaskId::mint(), number: TaskNumber::new(1), round: 1, fork: true, replay: true }),
        command: Some(command()),
        ask: Some(AskView { head: "h".into(), route: Some("r".into()) }),
        agent: Some(AgentView {
            head: "h".into(),
            route: Some("r".into()),
            folder: "/".into(),
            messages: vec![MessageView { number: 1, at: time(), text: "m".into(), taken: Some(1) }],
            window: Some(WindowView { route: "r".into(), tokens: 1, source: WindowSource::Learned }),
            inherited: 1,
        }),
        pause: Some(PauseView {
            id: PauseId::mint(),
            limit: LimitScope::Tree,
            since: time(),
            phase: PausePhase::Paused,
        }),
        waiting_workspace: Some(TaskNumber::new(3)),
        wait: Some(WaitView { reason: WaitReason::HourLimit, since: time(), until: time() }),
        max_cost_nanos: Some(Allowance(Some(NanoDollars::new(1)))),
        cost: Some(CostView::default()),
        sends: vec![send()],
        attempt_list: vec![attempt()],
    }
}

fn request() -> RequestView {
    RequestView {
        task: TaskId::mint(),
        number: TaskNumber::new(1),
        request: 1,
        attempt: AttemptId::mint(),
        state: RequestState::Answered,
        asks: ouroboros_proto::agent::OwnerRequest::Question { text: "q".into(), options: Vec::new() },
        asked_at: time(),
        expires_at: Some(time()),
        closed_at: Some(time()),
        answer: Some(ouroboros_proto::agent::OwnerAnswer::Once),
    }
}

#[test]
fn shapes_of_requests_are_described_as_they_are() {
    same("RequestView", &request());
    same("RequestsView", &RequestsView { requests: vec![request()] });
    let answer = AnswerRequest {
        option: Some(1),
        text: Some("t".into()),
        decision: Some(Decision::Always),
        reason: Some("r".into()),
        scope: Some(AlwaysIn::Folder),
    };
    same("AnswerRequest", &answer);
    sparse("AnswerRequest", &AnswerRequest::default());
    let rule = RuleView {
        id: RuleId::new(1),
        scope: RuleScope::Task,
        tool: "t".into(),
        pattern: json!({}),
        effect: RuleEffect::Deny,
        created_at: time(),
        from_task: TaskId::mint(),
        from_request: 1,
    };
    same("RuleView", &rule);
    same("RulesView", &RulesView { rules: vec![rule] });
    for state in RequestState::ALL {
        check("state", &schemas()["RequestView"]["properties"]["state"], &state.as_str().into());
    }
}

fn send() -> SendView {
    SendView {
        id: SendId::mint(),
        call: 1,
        ordinal: 1,
        route: "r".into(),
        model: Some("m".into()),
        state: SendState::Unresolved,
        bound_nanos: NanoDollars::new(1),
        cost: Some(Cost { amount: NanoDollars::new(1), source: CostSource::Catalogue }),
        usage: TokenUsage::default(),
        provider_request: Some("p".into()),
        reserved_at: time(),
        ended_at: Some(time()),
    }
}

#[test]
fn shapes_of_models_and_money_are_described_as_they_are() {
    same("AskSpec", &ask());
    sparse("AskSpec", &AskSpec::default());
    same("ImageSpec", &ask().images[0]);
    same("ResumeRequest", &ResumeRequest { pause: Some(PauseId::mint()), max_cost: Some("1".into()) });
    let (shown, send) = (task(), send());
    same("AgentSpec", &agent());
    sparse("AgentSpec", &AgentSpec::default());
    same("AskView", &shown.ask);
    same("AgentView", &shown.agent);
    same("MessageView", &shown.agent.as_ref().unwrap().messages[0]);
    same("FromSpec", &agent().from);
    same("Continued", &shown.from);
    same("MessageRequest", &MessageRequest { text: "t".into() });
    same("MessageAnswer", &MessageAnswer { number: 1, duplicate: true });
    same("InterruptRequest", &InterruptRequest { hold: true, call: Some(1) });
    let text = || Some("t".to_owned());
    for change in
        [ChangeKind::Created, ChangeKind::Changed, ChangeKind::Deleted, ChangeKind::Same, ChangeKind::Unreadable]
    {
        let file = ChangeView { path: "p".into(), change, foreign: true, diff: text(), note: text() };
        same("ChangeView", &file);
        same("ChangesView", &ChangesView { folder: "/".into(), files: vec![file] });
    }
    same("UndoRequest", &UndoRequest { files: vec!["p".into()], dry_run: true, force: true });
    for done in [Undone::Restored, Undone::Removed, Undone::Unchanged, Undone::Refused] {
        let file = UndoOne { path: "p".into(), done, why: text() };
        same("UndoOne", &file);
        same("UndoAnswer", &UndoAnswer { folder: "/".into(), dry_run: true, files: vec![file] });
    }
    same("WindowView", &shown.agent.as_ref().and_then(|agent| agent.window.clone()));
    same("TranscriptView", &TranscriptView { entries: Vec::new(), next: 1 });
    same("PauseView", &shown.pause);
    same("WaitView", &shown.wait);
    same("CostView", &CostView::default());
    same("SendView", &send);
    same("Cost", &send.cost);
    same("SendReceipt", &SendReceipt { cost: "0.50".into() });
    let some = Some(1);
    same(
        "TokenUsage",
        &TokenUsage {
            input: some,
            cached: some,
            cache_write: some,
            cache_write_long: some,
            output: some,
            reasoning: some,
        },
    );
    for state in [SendState::Reserved, SendState::Dispatched, SendState::Settled, SendState::Released] {
        same("SendView", &SendView { state, ..send.clone() });
    }
    let limit = LimitView {
        limit: LimitScope::Hour,
        nanos: Some(NanoDollars::new(2)),
        accounted_nanos: Some(NanoDollars::new(1)),
    };
    same("LimitView", &limit);
    let group = CostGroup { key: "7".into(), cost: CostView::default() };
    same("CostGroup", &group);
    same(
        "CostBreakdown",
        &CostBreakdown {
            whole: CostView::default(),
            limits: vec![limit],
            by: "day".into(),
            groups: vec![group],
            warning: Some("w".into()),
        },
    );
    let harness = Harness::new();
    let models = harness.get("/api/models").json();
    same("ModelsView", &models);
    same("RouteView", &models["routes"][0]);
    same("PriceView", &models["routes"][0]["price"]);
    same("HealthView", &models["routes"][0]["health"]);
    same("CatalogView", &harness.get("/api/model-catalog").json()[0]);
    same("ModelTest", &ModelTest { route: "r".into() });
    same("ModelTestAnswer", &harness.post("/api/models/test", r#"{"route":"openai/gpt-5.1"}"#).json());
    let text = || Some("1".to_owned());
    let price = PriceSet { route: "r".into(), input: text(), output: text(), cached: text(), cache_write: text() };
    same("PriceSet", &price);
    let keys = harness.get("/api/keys").json();
    same("KeysView", &keys);
    same("KeyProvider", &keys["providers"][0]);
    let key = KeySet { provider: "openai".into(), key: "k".into() };
    same("KeySet", &key);
    same("KeyView", &harness.post("/api/keys", serde_json::to_string(&key).unwrap()).json());
    same("KeyTest", &harness.post("/api/keys/openai/test", "").json());
}

#[test]
fn shapes_are_described_as_they_are() {
    same("SubmitOne", &submission());
    sparse("SubmitOne", &SubmitOne::default());
    same("CommandSpec", &command());
    sparse("CommandSpec", &CommandSpec::default());
    same("PtySpec", &PtySpec { columns: 1, rows: 1 });
    same("SubmitMany", &SubmitMany { tasks: vec![submission()] });
    let accepted = SubmitAnswer { id: TaskId::mint(), number: TaskNumber::new(1), duplicate: false };
    same("SubmitAnswer", &accepted);
    same("SubmitManyAnswer", &SubmitManyAnswer { tasks: vec![accepted] });
    same("CancelRequest", &crate::http::bodies::CancelRequest { grace_ms: Some(1) });
    same("TaskView", &task());
    same("TaskPage", &TaskPage { tasks: vec![task()], next: Some("1".into()) });
    same("AttemptView", &attempt());
    same("EndingView", &ending());
    same("UsageView", &UsageView { user_micros: 1, system_micros: 1, max_resident_bytes: 1, elapsed_ms: 1 });
    same("StreamView", &StreamView::default());
    let event = EventView {
        seq: EventSeq::new(1),
        at: time(),
        task: Some(TaskId::mint()),
        number: Some(TaskNumber::new(1)),
        event: Event::Released,
    };
    same("EventView", &event);
    let output = LiveOutput { attempt: 1, stream: Stream::Stdout, offset: 0, data: String::new(), gap: 0 };
    same("LiveOutput", &output);
    let entry = Entry::Notice { text: "t".into() };
    same("EntryView", &EntryView { place: 1, entry });
    same("LivePiece", &LivePiece { attempt: 1, call: 1, offset: 0, text: "t".into() });
    let alarm = Alarm { code: "c".into(), message: "m".into(), remedy: Some("r".into()), since: time() };
    same("Alarm", &alarm);
    same("Health", &Health { api: 1, version: "1".into(), ready: true, degraded: vec![alarm] });
    same("ApiError", &ApiError::new(Code::Busy, "m").remedy("r").detail(json!({})));
    let answer = CommandAnswer {
        message: "m".into(),
        tasks: vec![TaskNumber::new(1)],
        url: Some("u".into()),
        freed_bytes: Some(1),
        needs_restart: vec!["k".into()],
    };
    same("CommandAnswer", &answer);
    let harness = Harness::new();
    harness.world.set_status(|status| status.queue.queue_held = Some(HoldReason::Owner));
    let state = harness.get("/api/state").json();
    same("QueueView", &state["queue"]);
    same("SlotsView", &state["slots"]);
    same("DiskView", &DiskView { database: Some(1), output: Some(1), logs: Some(1), free: Some(1) });
    same("SpendingView", &state["spending"]);
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(&schemas()["StateView"]["properties"]), names(&state));
    same(
        "ProcessView",
        &harness.get("/api/processes").json()[3].as_object().map(|process| {
            let mut process = process.clone();
            process.insert("parent".into(), 1.into());
            process
        }),
    );
}

#[test]
fn every_command_is_described() {
    let described = schemas()["CommandRequest"]["oneOf"].as_array().unwrap().clone();
    assert_eq!(described.len(), 10);
    for schema in described {
        let mut request = json!({ "command": schema["properties"]["command"]["const"] });
        for (field, kind) in schema["properties"].as_object().unwrap() {
            request[field] = match kind["type"].as_str() {
                Some("boolean") => true.into(),
                Some("integer") => 1.into(),
                Some(_) => "/x".into(),
                None => continue,
            };
        }
        serde_json::from_value::<CommandRequest>(request.clone()).unwrap_or_else(|error| panic!("{request}: {error}"));
    }
}

#[test]
fn every_status_and_event_type_has_its_word() {
    for status in TaskStatus::ALL {
        assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        check("status", &schemas()["TaskView"]["properties"]["status"], &status.as_str().into());
    }
    for event in [
        Event::Released,
        Event::PoolRecovered,
        Event::SlotsChanged { slots: 1 },
        Event::Submitted { retry_of: None },
        Event::RequestOpened { request: 1, kind: RequestKind::Question, expires_at: None },
        Event::RequestAnswered { request: 1, rule: None },
        Event::RequestClosed { request: 1, state: RequestState::Expired },
    ] {
        let word = render::event_type(&event);
        assert_eq!(serde_json::to_value(&event).unwrap()["type"], word);
        assert!(render::EVENT_TYPES.contains(&word));
    }
}
