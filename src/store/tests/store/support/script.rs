//! Decisions 1, 2, 3, …: together they write every kind of change. Each cycle of eight tells the life of two tasks, and of the
//! [`sends`] of the first.

use super::sends;
use ouroboros_domain::change::{Change, Content, Spec};
use ouroboros_domain::row::{
    AttemptRow, CancelIntent, EventRow, KeyRow, Park, Pause, Policy, ProcessRow, TaskRow, TaskState, Wait,
};
use ouroboros_domain::{NewRule, RequestRow, RuleRow, Tally};
use ouroboros_proto::kind::{
    Allowance, AttemptId, AttemptReport, CancelReason, Captured, Ending, Event, EventSeq, Failure, Generation,
    HoldReason, Identity, Isolation, LimitScope, Millis, NanoDollars, OutOfMemory, Outcome, PauseId, Priority,
    ProcessId, RequestKind, RequestState, Role, RuleEffect, RuleId, RuleScope, TaskId, TaskNumber, Usage, UtcMicros,
    WaitReason, WorkKind, WorkerId,
};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

pub fn bytes(kind: u8, n: u64) -> [u8; 16] {
    let mut id = [kind; 16];
    id[..8].copy_from_slice(&n.to_be_bytes());
    id
}

pub fn task_id(n: u64) -> TaskId {
    TaskId::from_bytes(bytes(1, n))
}

pub fn attempt_id(n: u64) -> AttemptId {
    AttemptId::from_bytes(bytes(2, n))
}

fn process_id(n: u64) -> ProcessId {
    ProcessId::from_bytes(bytes(3, n))
}

fn at(n: u64) -> UtcMicros {
    UtcMicros::new(i64::try_from(n).unwrap() * 1_000)
}

/// A queued task.
pub fn task(n: u64) -> TaskRow {
    TaskRow {
        id: task_id(n),
        number: TaskNumber::new(n),
        kind: WorkKind::Command,
        priority: Priority::ALL[(n % 4) as usize],
        state: TaskState::Queued,
        hold: (n.is_multiple_of(5)).then_some(HoldReason::Owner),
        not_before: (n.is_multiple_of(3)).then(|| at(n)),
        after: Box::default(),
        policy: Policy {
            rerun: n.is_multiple_of(2),
            retries: (n % 7) as u32,
            timeout: (n.is_multiple_of(4)).then(|| Millis::new(n)),
            isolation: if n.is_multiple_of(6) { Isolation::Host } else { Isolation::Namespace },
            max_cost: (n.is_multiple_of(8)).then(|| Allowance((!n.is_multiple_of(16)).then(|| NanoDollars::new(n)))),
        },
        attempts: 0,
        retried: 0,
        crashes: 0,
        cancel: None,
        retry_of: None,
        submitted_at: at(n),
        // Every third belongs to the task before it.
        inherited: u32::try_from(n % 2).unwrap(),
        root: task_id(if n.is_multiple_of(3) { n - 1 } else { n }),
        park: park(n).map(Box::new),
        workspace: (n.is_multiple_of(4)).then(|| "/home/owner/project".into()),
    }
}

/// What the even tasks wait for.
fn park(n: u64) -> Option<Park> {
    let pause = Pause { id: PauseId::from_bytes(bytes(7, n)), limit: LimitScope::ALL[(n % 4) as usize], since: at(n) };
    let reasons = [WaitReason::NoRoute, WaitReason::Auth, WaitReason::HourLimit];
    match n % 10 {
        2 => Some(Park::Pausing(pause)),
        4 => Some(Park::Paused(pause)),
        6 => Some(Park::Granted(pause)),
        8 => Some(Park::Waiting(Wait {
            reason: reasons[(n % 3) as usize],
            since: at(n),
            until: at(2 * n),
            tries: n as u32,
            attempt: 2,
            grant: n.is_multiple_of(4).then_some(pause),
        })),
        _ => None,
    }
}

/// A new task whose specification names one body that most tasks share.
pub fn added(row: TaskRow) -> Change {
    let shared = content(b"PATH=/bin");
    let spec = format!(r#"{{"argv":["true"],"cwd":"/","env":"{}"}}"#, ouroboros_store::Contents::name(&shared.hash));
    Change::TaskAdded {
        row: Box::new(row),
        spec: Spec::New(Arc::from(spec.as_bytes())),
        contents: vec![shared],
        spent: Tally::default(),
    }
}

pub fn content(body: &[u8]) -> Content {
    Content { hash: Sha256::digest(body).into(), bytes: Arc::from(body), in_file: false }
}

pub fn event(seq: u64, task: Option<u64>, event: Event) -> Change {
    let task = task.map(|n| (task_id(n), TaskNumber::new(n)));
    Change::Event(Box::new(EventRow { seq: EventSeq::new(seq), at: at(seq), task, event }))
}

fn process(n: u64, attempt: Option<AttemptId>) -> Change {
    Change::Process(Box::new(ProcessRow {
        id: process_id(n),
        identity: Identity {
            boot_id: bytes(4, n),
            namespace: u64::MAX - n,
            pid: (n % 30_000) as i32,
            start_ticks: u64::MAX / 2 + n,
            pidfd_inode: (n.is_multiple_of(2)).then_some(u64::MAX),
        },
        role: if attempt.is_some() { Role::Tool } else { Role::Worker },
        generation: Generation::new(n),
        worker: WorkerId::new(n),
        attempt,
        command: "sh -c 'überall'".into(),
        recorded_at: at(n),
    }))
}

fn attempt(n: u64) -> AttemptRow {
    AttemptRow {
        id: attempt_id(n),
        task: task_id(n),
        ordinal: 1,
        generation: Generation::new(n),
        worker: WorkerId::new(n),
        started_at: at(n),
        isolation: Isolation::Namespace,
        released: false,
        delivered: n.is_multiple_of(2),
        sequence: 0,
        report: None,
        ended_at: None,
        workspace: (n.is_multiple_of(4)).then(|| "/home/owner/project".into()),
    }
}

fn report(n: u64) -> AttemptReport {
    AttemptReport {
        ending: Ending::Signaled { signal: 9, out_of_memory: OutOfMemory::Unknown },
        usage: Usage { user_micros: n, system_micros: 2 * n, max_resident_bytes: 3 * n, elapsed: Millis::new(n) },
        stdout: Captured { written: n, head: n, tail: 0 },
        stderr: Captured { written: 100 * n, head: n, tail: n },
    }
}

fn request(n: u64) -> RequestRow {
    RequestRow {
        task: task_id(n),
        number: (n % 9) as u32,
        attempt: attempt_id(n),
        kind: RequestKind::ALL[(n % 2) as usize],
        digest: bytes(8, n),
        state: RequestState::Open,
        asked_at: at(n),
        expires_at: (n.is_multiple_of(3)).then(|| at(2 * n)),
        closed_at: None,
    }
}

fn answered(row: RequestRow, k: u64) -> RequestRow {
    RequestRow { state: RequestState::Answered, closed_at: Some(at(k)), ..row }
}

fn rule(id: u64, task: u64) -> RuleRow {
    let scope = match id % 3 {
        0 => RuleScope::Installation,
        1 => RuleScope::Folder { path: "/überall".to_owned() },
        _ => RuleScope::Task,
    };
    let rule = NewRule { scope, tool: "run".into(), pattern: b"[]"[..].into(), effect: RuleEffect::Deny };
    RuleRow { id: RuleId::new(id), rule, created_at: at(id), from: (task_id(task), 1) }
}

/// The changes of decision `k`, from 1.
pub fn decision(k: u64) -> Vec<Change> {
    let mut changes = life(k);
    changes.extend(sends::of_decision(k));
    changes
}

/// What becomes of tasks, attempts and processes.
fn life(k: u64) -> Vec<Change> {
    let cycle = (k - 1) / 8;
    let (one, two) = (2 * cycle + 1, 2 * cycle + 2);
    let seq = |step: u64| 8 * cycle + step;
    let started = |changes: AttemptRow| Change::Attempt(Box::new(changes));
    match (k - 1) % 8 {
        0 => vec![
            Change::Generation(Generation::new(cycle + 1)),
            process(2 * cycle, None),
            event(seq(1), None, Event::ServerStarted { generation: cycle + 1 }),
        ],
        1 => vec![
            added(task(one)),
            Change::Key(KeyRow {
                key: bytes(5, one),
                request: bytes(6, one),
                task: task_id(one),
                number: TaskNumber::new(one),
                at: at(one),
            }),
            event(seq(2), Some(one), Event::Submitted { retry_of: None }),
        ],
        2 => vec![
            Change::RuleAdded(Box::new(rule(cycle + 1, one))),
            Change::TaskAdded {
                row: Box::new(TaskRow { after: [task_id(one)].into(), retry_of: Some(task_id(one)), ..task(two) }),
                spec: Spec::CopyOf(task_id(one)),
                contents: Vec::new(),
                spent: Tally::default(),
            },
            event(seq(3), Some(two), Event::Submitted { retry_of: Some(task_id(one)) }),
            Change::Requested { row: Box::new(request(two)), content: b"{}"[..].into() },
        ],
        3 => vec![
            Change::Task(Box::new(TaskRow {
                state: TaskState::Running { attempt: attempt_id(one) },
                attempts: 1,
                ..task(one)
            })),
            started(attempt(one)),
            event(seq(4), Some(one), Event::Started { attempt: attempt_id(one), ordinal: 1 }),
        ],
        4 => vec![
            process(2 * cycle + 1, Some(attempt_id(one))),
            started(AttemptRow { released: true, sequence: 1, ..attempt(one) }),
            event(seq(5), Some(one), Event::CancelRequested { grace: Millis::new(k) }),
            Change::Requested { row: Box::new(request(one)), content: b"{\"n\":1}"[..].into() },
            Change::Request { row: answered(request(two), k), answer: Some(b"{}"[..].into()) },
        ],
        5 => vec![
            Change::Task(Box::new(TaskRow {
                state: TaskState::Settled { outcome: Outcome::Completed, at: at(k) },
                attempts: 1,
                cancel: Some(CancelIntent { at: at(k), grace: Millis::new(k) }),
                ..task(one)
            })),
            started(AttemptRow { released: true, sequence: 2, report: Some(report(k)), ..attempt(one) }),
            Change::ProcessGone(process_id(2 * cycle + 1)),
            event(seq(6), Some(one), Event::Settled { outcome: Outcome::Completed, ending: None, usage: None }),
        ],
        6 => vec![
            started(AttemptRow {
                released: true,
                sequence: 2,
                report: Some(report(k)),
                ended_at: Some(at(k)),
                ..attempt(one)
            }),
            Change::ProcessGone(process_id(2 * cycle)),
            Change::Request {
                row: RequestRow { state: RequestState::Withdrawn, closed_at: Some(at(k)), ..request(one) },
                answer: None,
            },
            Change::RuleRemoved(RuleId::new(cycle + 1)),
        ],
        _ => {
            let hold = if cycle.is_multiple_of(2) { Some(HoldReason::Owner) } else { None };
            let mut changes = vec![Change::QueueHold(hold), event(seq(7), None, Event::Released)];
            if cycle % 3 == 1 {
                // The second task of the cycle before: cancelled, and then forgotten one cycle later.
                let outcome = Outcome::Failed(Failure::Dependency { task: task_id(one) });
                let state = TaskState::Settled { outcome, at: at(k) };
                changes.push(Change::Task(Box::new(TaskRow { state, ..task(two - 2) })));
            } else if cycle % 3 == 2 {
                changes.push(Change::TaskRemoved(task_id(two - 4)));
                let outcome = Outcome::Cancelled(CancelReason::Requested);
                let state = TaskState::Settled { outcome, at: at(k) };
                changes.push(Change::Task(Box::new(TaskRow { state, ..task(two) })));
            }
            changes
        }
    }
}
