//! Answers: each reads back as written, may gain fields, and says unknown as `null`.

use ouroboros_proto::agent::{Objective, OwnerAnswer, OwnerRequest};
use ouroboros_proto::api::{
    AgentView, Alarm, AskView, AttemptView, CommandAnswer, CommandSpec, Continued, CostView, DiskView, EndingView,
    EventView, Health, LimitView, LiveOutput, MessageView, PausePhase, PauseView, ProcessView, PtySpec, QueueView,
    RequestView, SendView, SlotsView, SpendingView, StateView, StoredAsk, StoredSpec, StreamView, SubmitAnswer,
    SubmitManyAnswer, TaskPage, TaskStatus, TaskView, Timestamp, UsageView, WaitView,
};
use ouroboros_proto::kind::{
    Allowance, AttemptId, Cost, CostSource, Ending, EventSeq, Failure, Generation, HoldReason, InstallationId,
    LimitScope, NanoDollars, OutOfMemory, Outcome, PauseId, RequestState, Role, SendId, SendState, Stream, TaskId,
    TaskNumber, TokenUsage, UtcMicros, WaitReason,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{from_value, json, to_value};
use std::fmt::Debug;

const AT: Timestamp = Timestamp(UtcMicros::new(1_796_040_000_123_456));
const TASK: TaskId = TaskId::from_bytes([0xbb; 16]);
const CONTINUED: Continued = Continued { task: TASK, number: TaskNumber::new(4), round: 2, fork: true, replay: false };

/// Reads back as text and as a value, also when a later server adds a field.
fn reads_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(answer: &T) {
    let text = serde_json::to_string(answer).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), answer, "{text}");
    let mut value = to_value(answer).unwrap();
    value["a_field_of_a_later_version"] = json!({ "any": [1] });
    assert_eq!(&from_value::<T>(value).unwrap(), answer, "{text}");
}

fn task() -> TaskView {
    TaskView {
        id: TASK,
        number: TaskNumber::new(u64::MAX),
        kind: "command".to_owned(),
        name: "a \"name\"\n\u{0}".to_owned(),
        status: TaskStatus::Failed,
        reason: Some("exit code 3".to_owned()),
        priority: "normal".to_owned(),
        submitted_at: AT,
        not_before: Some(AT),
        started_at: Some(AT),
        settled_at: Some(AT),
        after: vec![TaskNumber::new(1), TaskNumber::new(2)],
        attempts: 1,
        cancel_requested: true,
        request: Some(Box::new(request())),
        outcome: Some(Outcome::Failed(Failure::Ended(Ending::Exited { code: 3 }))),
        exit_code: Some(3),
        objective: Some(Objective::Partly),
        retry_of: Some(TASK),
        from: Some(CONTINUED),
        command: Some(CommandSpec { argv: vec!["true".to_owned()], ..CommandSpec::default() }),
        ask: Some(AskView { head: "what?".to_owned(), route: Some("openai/gpt-5.1".to_owned()) }),
        agent: Some(AgentView {
            head: "do it".to_owned(),
            route: None,
            folder: "/f".to_owned(),
            window: None,
            messages: vec![MessageView { number: 1, at: AT, text: "m".to_owned(), taken: Some(2) }],
            inherited: 5,
        }),
        pause: Some(PauseView {
            id: PauseId::from_bytes([0xcc; 16]),
            limit: LimitScope::Tree,
            since: AT,
            phase: PausePhase::Paused,
        }),
        waiting_workspace: None,
        wait: Some(WaitView { reason: WaitReason::Quota, since: AT, until: AT }),
        max_cost_nanos: Some(Allowance(None)),
        cost: Some(CostView { settled_nanos: NanoDollars::MAX, sends: 1, ..CostView::default() }),
        sends: vec![send(), SendView { model: None, cost: None, provider_request: None, ended_at: None, ..send() }],
        attempt_list: vec![attempt()],
    }
}

fn request() -> RequestView {
    RequestView {
        task: TASK,
        number: TaskNumber::new(7),
        request: 3,
        attempt: AttemptId::from_bytes([0xee; 16]),
        state: RequestState::Answered,
        asks: OwnerRequest::Question { text: "which?".to_owned(), options: vec!["a".to_owned()] },
        asked_at: AT,
        expires_at: Some(AT),
        closed_at: Some(AT),
        answer: Some(OwnerAnswer::Option { number: 1, text: "a".to_owned() }),
    }
}

fn send() -> SendView {
    SendView {
        id: SendId::from_bytes([0xdd; 16]),
        call: 1,
        ordinal: 2,
        route: "openai/gpt-5.1".to_owned(),
        model: Some("gpt-5.1-2026".to_owned()),
        state: SendState::Settled,
        bound_nanos: NanoDollars::new(3),
        cost: Some(Cost { amount: NanoDollars::new(2), source: CostSource::Provider }),
        usage: TokenUsage { input: Some(1), ..TokenUsage::default() },
        provider_request: Some("r".to_owned()),
        reserved_at: AT,
        ended_at: Some(AT),
    }
}

fn waiting() -> TaskView {
    TaskView {
        status: TaskStatus::Queued,
        reason: None,
        not_before: None,
        started_at: None,
        settled_at: None,
        after: vec![],
        attempts: 0,
        cancel_requested: false,
        outcome: None,
        exit_code: None,
        objective: None,
        retry_of: None,
        from: None,
        command: None,
        ask: None,
        pause: None,
        waiting_workspace: Some(TaskNumber::new(3)),
        wait: None,
        max_cost_nanos: None,
        cost: None,
        sends: vec![],
        attempt_list: vec![],
        ..task()
    }
}

fn attempt() -> AttemptView {
    let ending = EndingView {
        kind: "signaled".to_owned(),
        code: None,
        signal: Some(9),
        out_of_memory: Some("unknown".to_owned()),
        text: "signal 9, cause unknown".to_owned(),
    };
    AttemptView {
        id: AttemptId::from_bytes([0xaa; 16]),
        ordinal: 1,
        generation: Generation::new(7),
        started_at: AT,
        ended_at: Some(AT),
        released: true,
        isolation: "namespace".to_owned(),
        ending: Some(ending),
        usage: Some(UsageView { user_micros: 1, system_micros: 2, max_resident_bytes: u64::MAX, elapsed_ms: 0 }),
        stdout: StreamView { written: 9, head: 4, tail: 4, truncated: true, expired: false },
        stderr: StreamView::default(),
    }
}

fn state() -> StateView {
    StateView {
        api: 1,
        version: "0.1.0".to_owned(),
        build: "b".to_owned(),
        installation: InstallationId::from_bytes([0xee; 16]),
        generation: Generation::new(7),
        pid: u32::MAX,
        launcher_pid: None,
        started_at: AT,
        url: Some("http://127.0.0.1:8765".to_owned()),
        data_dir: "/d".to_owned(),
        ready: true,
        stopping: false,
        alarms: vec![alarm()],
        queue: QueueView {
            queued: 1,
            waiting: 2,
            held: 3,
            paused: 6,
            running: 4,
            settled: 5,
            queue_held: Some(HoldReason::Panic),
        },
        slots: SlotsView { configured: 1, busy: 2, ending: 3, wedged: 4, assignable: 5, spares: 6, starting: 7 },
        spending: Some(SpendingView {
            settled_nanos: NanoDollars::new(1),
            reserved_nanos: NanoDollars::new(2),
            unresolved_nanos: NanoDollars::new(3),
            accounted_nanos: NanoDollars::new(6),
            limits: vec![LimitView {
                limit: LimitScope::Total,
                nanos: None,
                accounted_nanos: Some(NanoDollars::new(6)),
            }],
        }),
        disk: DiskView { database: Some(0), output: None, logs: None, free: Some(u64::MAX) },
    }
}

fn alarm() -> Alarm {
    Alarm { code: "disk_low".to_owned(), message: "m".to_owned(), remedy: None, since: AT }
}

#[test]
fn tasks_read_back() {
    reads_back(&task());
    reads_back(&waiting());
    reads_back(&attempt());
    reads_back(&AttemptView { ended_at: None, ending: None, usage: None, ..attempt() });
    reads_back(&TaskPage { tasks: vec![task(), waiting()], next: Some("c".to_owned()) });
    reads_back(&SubmitAnswer { id: TASK, number: TaskNumber::new(1), duplicate: true });
    reads_back(&SubmitManyAnswer {
        tasks: vec![SubmitAnswer { id: TASK, number: TaskNumber::new(1), duplicate: false }],
    });
}

#[test]
fn the_system_reads_back() {
    reads_back(&state());
    reads_back(&Health { api: 1, version: "0.1.0".to_owned(), ready: false, degraded: vec![alarm()] });
    for role in [Role::Launcher, Role::Server, Role::Worker, Role::Tool] {
        reads_back(&ProcessView {
            pid: i32::MAX,
            parent: None,
            role,
            task: Some(TaskNumber::new(1)),
            command: "c".to_owned(),
            age_seconds: None,
            cpu_micros: Some(0),
            resident_bytes: None,
            recorded: true,
        });
    }
    reads_back(&CommandAnswer::default());
    reads_back(&CommandAnswer {
        message: "m".to_owned(),
        tasks: vec![TaskNumber::new(1)],
        url: Some("u".to_owned()),
        freed_bytes: Some(1),
        needs_restart: vec!["k".to_owned()],
    });
}

#[test]
fn output_and_stored_requests_read_back() {
    for stream in Stream::ALL {
        reads_back(&LiveOutput { attempt: 1, stream, offset: u64::MAX, data: "AA==".to_owned(), gap: 3 });
    }
    let bare = StoredSpec {
        argv: vec!["true".to_owned()],
        cwd: "/".to_owned(),
        umask: None,
        env: "00".to_owned(),
        stdin: None,
        pty: None,
        name: None,
        ask: None,
        agent: None,
        from: None,
    };
    reads_back(&bare);
    let pty = Some(PtySpec { columns: 80, rows: 24 });
    reads_back(&StoredSpec {
        umask: Some(0o22),
        stdin: Some("ff".to_owned()),
        pty,
        name: Some("n".to_owned()),
        ask: Some(StoredAsk { request: "aa".to_owned(), head: "what?".to_owned(), route: None }),
        agent: Some(StoredAsk { request: "bb".to_owned(), head: "do it".to_owned(), route: None }),
        from: Some(CONTINUED),
        ..bare
    });
}

#[test]
fn what_is_not_known_is_null_and_not_left_out() {
    let task = to_value(waiting()).unwrap();
    for field in ["reason", "not_before", "started_at", "settled_at", "outcome", "exit_code", "retry_of"] {
        assert!(task.get(field).is_some_and(serde_json::Value::is_null), "{field}: {task}");
    }
    let disk = to_value(DiskView::default()).unwrap();
    assert_eq!(disk, json!({ "database": null, "output": null, "logs": null, "free": null }));
}

#[test]
fn every_status_is_written_as_its_word() {
    for status in TaskStatus::ALL {
        assert_eq!(to_value(status).unwrap(), status.as_str());
        assert_eq!(from_value::<TaskStatus>(json!(status.as_str())).unwrap(), status);
    }
    assert_eq!(TaskStatus::ALL.iter().filter(|status| status.is_settled()).count(), 3);
}

/// Outcomes are stored as well as answered: their form is part of what an upgrade must read.
#[test]
fn outcomes_have_a_fixed_form() {
    let killed = Ending::Signaled { signal: 9, out_of_memory: OutOfMemory::Yes };
    for (outcome, form) in [
        (Outcome::Completed, json!("completed")),
        (
            Outcome::Failed(Failure::Ended(killed)),
            json!({ "failed": { "ended": { "signaled": { "signal": 9, "out_of_memory": "yes" } } } }),
        ),
        (Outcome::Failed(Failure::Interrupted), json!({ "failed": "interrupted" })),
        (
            Outcome::Failed(Failure::Quarantined { crashes: 3 }),
            json!({ "failed": { "quarantined": { "crashes": 3 } } }),
        ),
    ] {
        assert_eq!(to_value(&outcome).unwrap(), form);
        assert_eq!(from_value::<Outcome>(form).unwrap(), outcome);
    }
}

#[test]
fn an_event_says_where_it_stands() {
    let event = EventView {
        seq: EventSeq::new(12),
        at: AT,
        task: Some(TASK),
        number: Some(TaskNumber::new(3)),
        event: ouroboros_proto::kind::Event::Released,
    };
    reads_back(&event);
    let form = json!({
        "seq": 12,
        "at": "2026-11-30T12:00:00.123456Z",
        "task": TASK.to_string(),
        "number": 3,
        "event": { "type": "released" },
    });
    assert_eq!(to_value(&event).unwrap(), form);
}
