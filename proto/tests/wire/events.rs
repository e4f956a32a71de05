//! Recorded events: an upgrade must read every one that an older version wrote.

use ouroboros_proto::kind::{
    AttemptId, CancelReason, Cost, CostSource, Ending, Event, HoldReason, Identity, LimitScope, Millis, NanoDollars,
    Outcome, Priority, RequestKind, RequestState, Requeue, RuleId, SendId, SendState, TaskId, TokenUsage, Usage,
    UtcMicros, WaitReason,
};
use serde_json::{Value, from_value, json, to_value};
use std::collections::BTreeSet;

const ATTEMPT: &str = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa";
const TASK: &str = "bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb";

fn identity() -> Identity {
    Identity { boot_id: [1; 16], namespace: 2, pid: 3, start_ticks: 4, pidfd_inode: None }
}

fn identity_form() -> Value {
    json!({ "boot_id": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], "namespace": 2, "pid": 3, "start_ticks": 4,
            "pidfd_inode": null })
}

fn forms() -> Vec<(Event, Value)> {
    let attempt: AttemptId = ATTEMPT.parse().unwrap();
    let task: TaskId = TASK.parse().unwrap();
    vec![
        (Event::Submitted { retry_of: Some(task) }, json!({ "type": "submitted", "retry_of": TASK })),
        (Event::Started { attempt, ordinal: 1 }, json!({ "type": "started", "attempt": ATTEMPT, "ordinal": 1 })),
        (
            Event::ProcessStarted { attempt, identity: identity() },
            json!({ "type": "process_started", "attempt": ATTEMPT, "identity": identity_form() }),
        ),
        (
            Event::AttemptEnded { attempt, why: Requeue::NeverRan, not_before: Some(UtcMicros::new(-1)) },
            json!({ "type": "attempt_ended", "attempt": ATTEMPT, "why": "never_ran", "not_before": -1 }),
        ),
        (Event::CancelRequested { grace: Millis::new(5) }, json!({ "type": "cancel_requested", "grace": 5 })),
        (Event::Held { by: HoldReason::Owner }, json!({ "type": "held", "by": "owner" })),
        (Event::Released, json!({ "type": "released" })),
        (Event::Reprioritised { priority: Priority::High }, json!({ "type": "reprioritised", "priority": "high" })),
        (
            Event::Settled {
                outcome: Outcome::Cancelled(CancelReason::Requested),
                ending: Some(Ending::Stopped),
                usage: Some(Usage { user_micros: 1, system_micros: 2, max_resident_bytes: 3, elapsed: Millis::new(4) }),
            },
            json!({ "type": "settled", "outcome": { "cancelled": "requested" }, "ending": "stopped",
                    "usage": { "user_micros": 1, "system_micros": 2, "max_resident_bytes": 3, "elapsed": 4 } }),
        ),
        (
            Event::Wedged { attempt, survivors: vec![identity()] },
            json!({ "type": "wedged", "attempt": ATTEMPT, "survivors": [identity_form()] }),
        ),
        (
            Event::QueueHeld { held: true, by: Some(HoldReason::Copied) },
            json!({ "type": "queue_held", "held": true, "by": "copied" }),
        ),
        (Event::SlotsChanged { slots: 3 }, json!({ "type": "slots_changed", "slots": 3 })),
        (Event::ServerStarted { generation: 7 }, json!({ "type": "server_started", "generation": 7 })),
        (Event::PoolDegraded { deaths: 4 }, json!({ "type": "pool_degraded", "deaths": 4 })),
        (Event::PoolRecovered, json!({ "type": "pool_recovered" })),
        (
            Event::Sent {
                send: SendId::from_bytes([7; 16]),
                route: "openai/x".to_owned(),
                state: SendState::Settled,
                cost: Some(Cost { amount: NanoDollars::new(5), source: CostSource::Provider }),
                usage: TokenUsage { input: Some(1), output: Some(2), ..TokenUsage::default() },
            },
            json!({ "type": "sent", "send": "07070707-0707-0707-0707-070707070707", "route": "openai/x", "state": "settled",
                    "cost": { "amount": 5, "source": "provider" },
                    "usage": { "input": 1, "cached": null, "cache_write": null, "cache_write_long": null, "output": 2,
                               "reasoning": null } }),
        ),
        (Event::Paused { limit: LimitScope::Task }, json!({ "type": "paused", "limit": "task" })),
        (Event::Resumed, json!({ "type": "resumed" })),
        (
            Event::WaitsForModel { reason: WaitReason::Quota, until: UtcMicros::new(9) },
            json!({ "type": "waits_for_model", "reason": "quota", "until": 9 }),
        ),
        (
            Event::LimitNear { limit: LimitScope::Total, spent: NanoDollars::new(8), of: NanoDollars::new(10) },
            json!({ "type": "limit_near", "limit": "total", "spent": 8, "of": 10 }),
        ),
        (Event::Messaged { number: 1 }, json!({ "type": "messaged", "number": 1 })),
        (Event::MessageTaken { number: 1 }, json!({ "type": "message_taken", "number": 1 })),
        (
            Event::RequestOpened { request: 3, kind: RequestKind::Approval, expires_at: Some(UtcMicros::new(9)) },
            json!({ "type": "request_opened", "request": 3, "kind": "approval", "expires_at": 9 }),
        ),
        (
            Event::RequestAnswered { request: 3, rule: Some(RuleId::new(2)) },
            json!({ "type": "request_answered", "request": 3, "rule": 2 }),
        ),
        (
            Event::RequestClosed { request: 3, state: RequestState::Expired },
            json!({ "type": "request_closed", "request": 3, "state": "expired" }),
        ),
    ]
}

#[test]
fn every_event_has_a_fixed_form() {
    for (event, form) in forms() {
        assert_eq!(to_value(&event).unwrap(), form);
        assert_eq!(from_value::<Event>(form).unwrap(), event);
    }
}

/// A new variant does not compile here until it is counted, and then fails until its form is written down.
#[test]
fn no_event_is_forgotten() {
    let places: BTreeSet<usize> = forms().iter().map(|(event, _)| place(event)).collect();
    assert!(places.into_iter().eq(0..25));
}

fn place(event: &Event) -> usize {
    match event {
        Event::Submitted { .. } => 0,
        Event::Started { .. } => 1,
        Event::ProcessStarted { .. } => 2,
        Event::AttemptEnded { .. } => 3,
        Event::CancelRequested { .. } => 4,
        Event::Held { .. } => 5,
        Event::Released => 6,
        Event::Reprioritised { .. } => 7,
        Event::Settled { .. } => 8,
        Event::Wedged { .. } => 9,
        Event::QueueHeld { .. } => 10,
        Event::SlotsChanged { .. } => 11,
        Event::ServerStarted { .. } => 12,
        Event::PoolDegraded { .. } => 13,
        Event::PoolRecovered => 14,
        Event::Sent { .. } => 15,
        Event::Paused { .. } => 16,
        Event::Resumed => 17,
        Event::WaitsForModel { .. } => 18,
        Event::LimitNear { .. } => 19,
        Event::Messaged { .. } => 20,
        Event::MessageTaken { .. } => 21,
        Event::RequestOpened { .. } => 22,
        Event::RequestAnswered { .. } => 23,
        Event::RequestClosed { .. } => 24,
    }
}
