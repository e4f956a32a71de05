//! Everything about tasks as JSON lines: a projection for people and other programs, never an input.
//!
//! One object a line with a `type`: `export` first, then `task`, `attempt`, `event`. Written from committed facts in many
//! short reads: what changes meanwhile is shown before or after the change.

use crate::error::ReadError;
use crate::layout::hex;
use crate::reader::{Reader, TaskFilter};
use ouroboros_domain::row::{AttemptRow, EventRow, TaskState};
use ouroboros_proto::api::{API_VERSION, Timestamp};
use ouroboros_proto::kind::{EventSeq, UtcMicros};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Tasks or events in one read.
const PAGE: u32 = 500;

/// The export ended early.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A read failed.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The lines could not be written.
    #[error("cannot write the export: {0}")]
    Write(#[from] io::Error),
}

/// Writes everything to `out`: tasks newest first, each followed by its attempts, then events oldest first.
///
/// # Errors
/// A read failed, or `out` did.
pub fn export(reader: &Reader, out: &mut dyn Write) -> Result<(), ExportError> {
    line(out, &json!({ "type": "export", "api": API_VERSION }))?;
    let mut filter = TaskFilter::default();
    loop {
        let page = reader.tasks(filter, usize::try_from(PAGE).unwrap_or(500))?;
        for listed in page.tasks {
            let attempts = if listed.row.attempts > 0 { reader.attempts(listed.row.id)? } else { Vec::new() };
            line(out, &task(&listed.row, &listed.spec))?;
            for attempt in &attempts {
                line(out, &self::attempt(attempt))?;
            }
        }
        match page.next {
            Some(next) => filter.before = Some(next),
            None => break,
        }
    }
    let mut after = EventSeq::default();
    loop {
        let page = reader.events(after, None, PAGE)?;
        if page.through == after {
            break;
        }
        after = page.through;
        for event in &page.events {
            line(out, &self::event(event))?;
        }
    }
    out.flush()?;
    Ok(())
}

fn line(out: &mut dyn Write, value: &Value) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

fn task(row: &ouroboros_domain::row::TaskRow, spec: &[u8]) -> Value {
    let (state, attempt, outcome, settled_at) = match &row.state {
        TaskState::Queued => ("queued", None, None, None),
        TaskState::Running { attempt } => ("running", Some(attempt), None, None),
        TaskState::Settled { outcome, at } => ("settled", None, Some(outcome), Some(*at)),
    };
    json!({
        "type": "task",
        "number": row.number,
        "id": row.id,
        "kind": row.kind,
        "priority": row.priority.as_str(),
        "state": state,
        "attempt": attempt,
        "outcome": outcome,
        "settled_at": settled_at.map(time),
        "hold": row.hold,
        "not_before": row.not_before.map(time),
        "after": row.after,
        "rerun": row.policy.rerun,
        "retries": row.policy.retries,
        "timeout_ms": row.policy.timeout,
        "isolation": row.policy.isolation,
        "attempts": row.attempts,
        "retried": row.retried,
        "crashes": row.crashes,
        "cancel_requested_at": row.cancel.map(|cancel| time(cancel.at)),
        "retry_of": row.retry_of,
        "submitted_at": time(row.submitted_at),
        // A specification that is not JSON is shown as its bytes.
        "spec": serde_json::from_slice(spec).unwrap_or_else(|_| Value::String(hex(spec))),
    })
}

fn attempt(row: &AttemptRow) -> Value {
    json!({
        "type": "attempt",
        "task": row.task,
        "id": row.id,
        "ordinal": row.ordinal,
        "generation": row.generation,
        "started_at": time(row.started_at),
        "isolation": row.isolation,
        "released": row.released,
        "report": row.report,
        "ended_at": row.ended_at.map(time),
    })
}

fn event(row: &EventRow) -> Value {
    json!({
        "type": "event",
        "seq": row.seq,
        "at": time(row.at),
        "task": row.task.map(|(id, _)| id),
        "number": row.task.map(|(_, number)| number),
        "event": row.event,
    })
}

fn time(at: UtcMicros) -> Timestamp {
    Timestamp::from(at)
}
