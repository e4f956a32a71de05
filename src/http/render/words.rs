//! Sentences and words for what happened.

use super::Standings;
use crate::http::view::TaskRecord;
use ouroboros_domain::{Park, TaskRow, TaskState};
use ouroboros_proto::agent::Objective;
use ouroboros_proto::api::{EndingView, PausePhase, PauseView, TaskStatus, Timestamp, WaitView};
use ouroboros_proto::kind::{
    CancelReason, Ending, Event, Failure, HoldReason, LimitScope, ModelFailure, OutOfMemory, Outcome, TaskId,
    TaskNumber, WaitReason, WorkKind,
};

/// Why a task stands where it stands; `None` when the status says it all.
#[must_use]
pub fn reason(record: &TaskRecord, status: TaskStatus, standings: &Standings) -> Option<String> {
    let row = &record.row;
    let why = match &row.state {
        TaskState::Settled { outcome: Outcome::Completed, .. } => return delivered(record.objective),
        TaskState::Settled { outcome, .. } => return settled(row.kind, outcome, standings),
        TaskState::Running { .. } | TaskState::Queued => status,
    };
    match why {
        TaskStatus::Cancelling => Some("Cancel was asked for; its processes are being ended.".to_owned()),
        TaskStatus::Held => row.hold.map(|hold| held(hold).to_owned()),
        TaskStatus::Waiting => Some(record.behind.map_or_else(|| waiting(row, standings), behind)),
        TaskStatus::Paused => pause(row).map(|pause| {
            let (limit, number) = (pause.limit.as_str(), row.number);
            let remedy = match pause.limit {
                LimitScope::Task => format!("`ouroboros resume {number} --max-cost DOLLARS` lets it spend more."),
                LimitScope::Total | LimitScope::Hour | LimitScope::Tree => {
                    format!("after `ouroboros config set limits.{limit} DOLLARS`, `ouroboros resume {number}` lets it go on.")
                }
            };
            format!("The {limit} limit leaves too little for its next call; {remedy}")
        }),
        TaskStatus::Queued
        | TaskStatus::Running
        | TaskStatus::Completed
        | TaskStatus::Failed
        | TaskStatus::Cancelled => None,
    }
}

/// What an agent says of what it delivered, where that is not what was wanted.
fn delivered(objective: Option<Objective>) -> Option<String> {
    match objective? {
        Objective::Met => None,
        objective @ (Objective::Partly | Objective::NotMet) => {
            Some(format!("It delivered; its agent says itself that the objective is {}.", objective.words()))
        }
    }
}

/// Why a task waits for a folder.
fn behind(number: TaskNumber) -> String {
    format!("Waits for task {number}, which works in the same folder.")
}

fn waiting(row: &TaskRow, standings: &Standings) -> String {
    let open: Vec<String> = row
        .after
        .iter()
        .filter_map(|task| standings.get(task))
        .filter(|standing| !standing.completed)
        .map(|standing| standing.number.to_string())
        .collect();
    let due = row.not_before.map(|at| Timestamp(at).in_words());
    if let Some(wait) = wait(row).filter(|_| open.is_empty()) {
        return format!("{} It looks again at {}.", waits_for(wait.reason), wait.until.in_words());
    }
    match (open.as_slice(), due) {
        ([], None) => "Waits.".to_owned(),
        ([], Some(due)) if row.attempts > 0 => format!("Is tried again at {due}."),
        ([], Some(due)) => format!("Waits until {due}."),
        (tasks, _) => format!("Waits for {} to complete.", tasks.join(", ")),
    }
}

/// What it is that a task waits for, in a sentence.
const fn waits_for(reason: WaitReason) -> &'static str {
    match reason {
        WaitReason::NoRoute => "There is no route to a model.",
        WaitReason::Auth => "The provider does not accept the key; `ouroboros keys set PROVIDER` gives another.",
        WaitReason::Quota => "The account's quota or credit is used up.",
        WaitReason::RateLimit => "The provider's rate limit is reached.",
        WaitReason::Unavailable => "The model is overloaded or fails.",
        WaitReason::Network => "The provider cannot be reached.",
        WaitReason::HourLimit => "The limit of the hour is used up.",
    }
}

/// A task's pause for want of money.
pub fn pause(row: &TaskRow) -> Option<PauseView> {
    let (pause, phase) = match row.park.as_deref()? {
        Park::Pausing(pause) => (pause, PausePhase::Pausing),
        Park::Paused(pause) => (pause, PausePhase::Paused),
        Park::Granted(pause) => (pause, PausePhase::Resumed),
        Park::Waiting(_) => return None,
    };
    Some(PauseView { id: pause.id, limit: pause.limit, since: pause.since.into(), phase })
}

/// A task's wait for a model.
pub fn wait(row: &TaskRow) -> Option<WaitView> {
    match row.park.as_deref()? {
        Park::Waiting(wait) if row.state == TaskState::Queued => {
            Some(WaitView { reason: wait.reason, since: wait.since.into(), until: wait.until.into() })
        }
        Park::Pausing(_) | Park::Paused(_) | Park::Granted(_) | Park::Waiting(_) => None,
    }
}

fn settled(kind: WorkKind, outcome: &Outcome, standings: &Standings) -> Option<String> {
    match outcome {
        Outcome::Completed => None,
        Outcome::Cancelled(CancelReason::Requested) => Some("Cancelled on request.".to_owned()),
        Outcome::Failed(failure) => Some(match failure {
            Failure::Ended(end) => ending(end).text,
            Failure::Interrupted if kind == WorkKind::Ask => {
                "Interrupted while it was being answered; the call may have been charged. `ouroboros retry` asks again."
                    .to_owned()
            }
            Failure::Interrupted => {
                "Interrupted while it ran; it may have had effects. `ouroboros retry` runs it again.".to_owned()
            }
            Failure::Quarantined { crashes } => {
                format!("Its worker died {crashes} times, the last time alone; it is not tried again.")
            }
            Failure::Dependency { task } => format!("Task {} did not complete.", number(*task, standings)),
            Failure::Unreadable => "Its stored specification cannot be read.".to_owned(),
        }),
    }
}

fn number(task: TaskId, standings: &Standings) -> String {
    standings.get(&task).map_or_else(|| task.to_string(), |standing| standing.number.to_string())
}

fn held(hold: HoldReason) -> &'static str {
    match hold {
        HoldReason::Owner => "Held by the owner.",
        HoldReason::Panic => "Held after an emergency stop.",
        HoldReason::Restore => "Held after the data was restored from a backup.",
        HoldReason::Copied => "Held because the data directory is a copy.",
    }
}

/// How a process ended, in words and numbers.
#[must_use]
pub fn ending(ending: &Ending) -> EndingView {
    let (kind, text) = match *ending {
        Ending::Exited { code } => ("exited", format!("Exited with code {code}.")),
        Ending::Signaled { signal, out_of_memory } => (
            "signaled",
            match out_of_memory {
                OutOfMemory::Yes => format!("Ended by signal {signal}: out of memory."),
                OutOfMemory::No => format!("Ended by signal {signal}."),
                OutOfMemory::Unknown => format!("Ended by signal {signal}, cause unknown."),
            },
        ),
        Ending::TimedOut => ("timed_out", "Ended because its time was over.".to_owned()),
        Ending::Stopped => ("stopped", "Ended on request.".to_owned()),
        Ending::NotFound => ("not_found", "The program was not found.".to_owned()),
        Ending::NotExecutable { errno } => {
            ("not_executable", format!("The program cannot be executed: {}.", os(errno)))
        }
        Ending::BadDirectory { errno } => {
            ("bad_directory", format!("The working directory cannot be entered: {}.", os(errno)))
        }
        Ending::SetUpFailed { errno } => ("set_up_failed", format!("The attempt could not be set up: {}.", os(errno))),
        Ending::Answered => ("answered", "The model answered.".to_owned()),
        Ending::ModelFailed { failure } => ("model_failed", model_failure(failure).to_owned()),
        Ending::Parked => ("parked", "It goes on later.".to_owned()),
    };
    let (code, signal, memory) = match *ending {
        Ending::Exited { code } => (Some(code), None, None),
        Ending::Signaled { signal, out_of_memory } => (None, Some(signal), Some(out_of_memory)),
        _ => (None, None, None),
    };
    EndingView {
        kind: kind.to_owned(),
        code,
        signal,
        out_of_memory: memory.map(|memory| {
            match memory {
                OutOfMemory::Yes => "yes",
                OutOfMemory::No => "no",
                OutOfMemory::Unknown => "unknown",
            }
            .to_owned()
        }),
        text,
    }
}

fn os(errno: i32) -> String {
    if errno == 0 { "cause unknown".to_owned() } else { std::io::Error::from_raw_os_error(errno).to_string() }
}

/// Why there is no answer, in a sentence.
const fn model_failure(failure: ModelFailure) -> &'static str {
    match failure {
        ModelFailure::NoRoute => "No route to a model goes by that name.",
        ModelFailure::ContextOverflow => "The request does not fit the model's window.",
        ModelFailure::BadRequest => "The provider does not accept the request.",
        ModelFailure::Refused => "The provider's policy turned it down.",
        ModelFailure::Auth => "The provider does not accept the key.",
        ModelFailure::Quota => "The account has no credit or quota left.",
        ModelFailure::Unavailable => "The provider failed or was busy, each time.",
        ModelFailure::Unreachable => "The provider could not be reached.",
        ModelFailure::Unknown => "It was sent, and no whole answer came back: it may have cost, and is not sent again.",
        ModelFailure::Malformed => "What the provider sent is no answer in its own format.",
        ModelFailure::TooLarge => "The answer is larger than is kept.",
        ModelFailure::Deadline => "Its time was over.",
        ModelFailure::Cancelled => "It was called off.",
        ModelFailure::Invalid => "It is not a request that can be made.",
        ModelFailure::NotDelivered => "The model did not deliver; its last words and the files it changed are kept.",
    }
}

/// Every event's type, as it stands in its JSON.
pub const EVENT_TYPES: &[&str] = &[
    "submitted",
    "started",
    "process_started",
    "attempt_ended",
    "cancel_requested",
    "held",
    "released",
    "reprioritised",
    "settled",
    "wedged",
    "queue_held",
    "slots_changed",
    "server_started",
    "pool_degraded",
    "pool_recovered",
    "sent",
    "paused",
    "resumed",
    "waits_for_model",
    "limit_near",
    "request_opened",
    "request_answered",
    "request_closed",
    "messaged",
    "message_taken",
];

/// An event's type, as it stands in its JSON.
#[must_use]
pub const fn event_type(event: &Event) -> &'static str {
    match event {
        Event::Submitted { .. } => "submitted",
        Event::Started { .. } => "started",
        Event::ProcessStarted { .. } => "process_started",
        Event::AttemptEnded { .. } => "attempt_ended",
        Event::CancelRequested { .. } => "cancel_requested",
        Event::Held { .. } => "held",
        Event::Released => "released",
        Event::Reprioritised { .. } => "reprioritised",
        Event::Settled { .. } => "settled",
        Event::Wedged { .. } => "wedged",
        Event::QueueHeld { .. } => "queue_held",
        Event::SlotsChanged { .. } => "slots_changed",
        Event::ServerStarted { .. } => "server_started",
        Event::PoolDegraded { .. } => "pool_degraded",
        Event::PoolRecovered => "pool_recovered",
        Event::Sent { .. } => "sent",
        Event::Paused { .. } => "paused",
        Event::Resumed => "resumed",
        Event::WaitsForModel { .. } => "waits_for_model",
        Event::LimitNear { .. } => "limit_near",
        Event::RequestOpened { .. } => "request_opened",
        Event::RequestAnswered { .. } => "request_answered",
        Event::RequestClosed { .. } => "request_closed",
        Event::Messaged { .. } => "messaged",
        Event::MessageTaken { .. } => "message_taken",
    }
}
