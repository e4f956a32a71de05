//! Events as lines.

use super::{clean, time};
use ouroboros_proto::api::{EventView, Timestamp};
use ouroboros_proto::kind::{Event, Failure, HoldReason, Outcome, RequestKind, Requeue, TaskId};
use serde_json::Value;

/// One line for an event as the server sent it; one of a kind we do not know is shown by its kind. `name` gives another task that
/// it speaks of the name that people know it by.
pub fn line(event: &Value, name: &mut dyn FnMut(TaskId) -> String) -> String {
    match serde_json::from_value::<EventView>(event.clone()) {
        Ok(view) => {
            let task = view.number.map_or_else(|| "-".to_owned(), |number| number.to_string());
            format!("{:>7}  {}  {task:>6}  {}", view.seq.get(), time::moment(view.at), clean(&words(&view.event, name)))
        }
        Err(_) => {
            let text = |path: &str| match event.pointer(path) {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => String::new(),
            };
            let at = event.get("at").and_then(Value::as_str).and_then(|at| at.parse::<Timestamp>().ok());
            let at = at.map(time::moment).unwrap_or_default();
            format!("{:>7}  {at}  {:>6}  {}", text("/seq"), text("/number"), clean(&text("/event/type")))
        }
    }
}

/// What happened, in words.
fn words(event: &Event, name: &mut dyn FnMut(TaskId) -> String) -> String {
    match event {
        Event::Submitted { retry_of: None } => "submitted".to_owned(),
        Event::Submitted { retry_of: Some(task) } => format!("submitted, repeats {}", name(*task)),
        Event::Started { ordinal: 1, .. } => "started".to_owned(),
        Event::Started { ordinal, .. } => format!("started, attempt {ordinal}"),
        Event::ProcessStarted { identity, .. } => format!("process {} started", identity.pid),
        Event::AttemptEnded { why, .. } => format!("queued again: {}", requeue(*why)),
        Event::CancelRequested { .. } => "cancel requested".to_owned(),
        Event::Held { by } => format!("held {}", hold(*by)),
        Event::Released => "released".to_owned(),
        Event::Reprioritised { priority } => format!("priority is {priority}"),
        Event::Settled { outcome, .. } => self::outcome(outcome, name),
        Event::Wedged { survivors, .. } => {
            let pids: Vec<String> = survivors.iter().map(|survivor| survivor.pid.to_string()).collect();
            format!("cannot be ended, its slot is given up: {}", pids.join(" "))
        }
        Event::QueueHeld { held: true, by } => {
            format!("queue held {}", by.map_or_else(String::new, |by| hold(by).to_owned())).trim_end().to_owned()
        }
        Event::QueueHeld { held: false, .. } => "queue released".to_owned(),
        Event::SlotsChanged { slots } => format!("slots: {slots}"),
        Event::ServerStarted { generation } => format!("server started, generation {generation}"),
        Event::PoolDegraded { deaths } => format!("workers keep dying: {deaths} in a row"),
        Event::PoolRecovered => "workers hold again".to_owned(),
        Event::Sent { route, state, cost, .. } => match cost {
            Some(cost) => format!("model call {}: {route}, {}", state.as_str(), cost.amount),
            None => format!("model call {}: {route}", state.as_str()),
        },
        Event::Paused { limit } => format!("paused: the {} limit leaves too little", limit.as_str()),
        Event::Resumed => "resumed".to_owned(),
        Event::WaitsForModel { reason, until } => {
            format!("waits for a model ({}) until {}", reason.as_str(), time::moment((*until).into()))
        }
        Event::RequestOpened { request, kind, .. } => match kind {
            RequestKind::Question => format!("asks its owner (request {request})"),
            RequestKind::Approval => format!("asks its owner for approval (request {request})"),
        },
        Event::RequestAnswered { request, rule: None } => format!("request {request} is answered"),
        Event::RequestAnswered { request, rule: Some(rule) } => {
            format!("request {request} is answered, and rule {rule} made")
        }
        Event::RequestClosed { request, state } => format!("request {request} is {}", state.as_str()),
        Event::LimitNear { limit, spent, of } => {
            format!("the {} limit is nearly used up: {spent} of {of}", limit.as_str())
        }
        Event::Messaged { number } => format!("was told message {number}"),
        Event::MessageTaken { number } => format!("took message {number}"),
    }
}

fn outcome(outcome: &Outcome, name: &mut dyn FnMut(TaskId) -> String) -> String {
    match outcome {
        Outcome::Completed => "completed".to_owned(),
        Outcome::Cancelled(_) => "cancelled".to_owned(),
        Outcome::Failed(failure) => {
            let why = match failure {
                Failure::Ended(_) => format!("exit code {}", outcome.exit_code()),
                Failure::Interrupted => "interrupted".to_owned(),
                Failure::Quarantined { crashes } => format!("its worker died {crashes} times"),
                Failure::Dependency { task } => format!("task {} did not complete", name(*task)),
                Failure::Unreadable => "its specification cannot be read".to_owned(),
            };
            format!("failed: {why}")
        }
    }
}

const fn requeue(why: Requeue) -> &'static str {
    match why {
        Requeue::NeverRan => "its program never ran",
        Requeue::Rerun => "it was interrupted and may run again",
        Requeue::Retry => "it failed and has retries left",
        Requeue::WorkerCrashed => "its worker died",
        Requeue::Parked => "it waits for money or a model",
        Requeue::Continued => "it was interrupted and goes on from its transcript",
    }
}

const fn hold(by: HoldReason) -> &'static str {
    match by {
        HoldReason::Owner => "by its owner",
        HoldReason::Panic => "after an emergency stop",
        HoldReason::Restore => "after a restore",
        HoldReason::Copied => "because the data directory is a copy",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    fn line(event: &Value) -> String {
        super::line(event, &mut |task| format!("<{task}>"))
    }

    #[test]
    fn an_event_of_a_newer_server_is_still_a_line() {
        let at = "2026-11-30T12:00:00.000000Z";
        let event = json!({ "seq": 9, "at": at, "task": null, "number": 7, "event": { "type": "levitated" } });
        assert_eq!(line(&event), "      9  2026-11-30 12:00:00Z       7  levitated");
        let event = json!({ "seq": 9, "at": at, "task": null, "number": 7, "event": { "type": "started",
            "attempt": "01930000-0000-7000-8000-000000000000", "ordinal": 2 } });
        assert_eq!(line(&event), "      9  2026-11-30 12:00:00Z       7  started, attempt 2");
    }

    #[test]
    fn other_tasks_are_shown_by_the_name_that_people_know() {
        let other = "01930000-0000-7000-8000-000000000000";
        let shown = |event: Value| {
            let at = "2026-11-30T12:00:00.000000Z";
            line(&json!({ "seq": 9, "at": at, "task": other, "number": 7, "event": event }))
        };
        let repeats = shown(json!({ "type": "submitted", "retry_of": other }));
        assert!(repeats.ends_with(&format!("submitted, repeats <{other}>")), "{repeats}");
        let outcome = json!({ "failed": { "dependency": { "task": other } } });
        let failed = shown(json!({ "type": "settled", "outcome": outcome, "ending": null, "usage": null }));
        assert!(failed.ends_with(&format!("failed: task <{other}> did not complete")), "{failed}");
    }
}
