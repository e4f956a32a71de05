//! Speaking to a task in words while it works.

use super::task::done_to;
use crate::http::admission::half;
use crate::http::query::bad;
use crate::http::reply;
use crate::http::site::Call;
use crate::http::view::View;
use ouroboros_domain::{KeyHash, NewMessage, TaskCommand};
use ouroboros_proto::agent::{Entry, Part};
use ouroboros_proto::api::{ApiError, Code, InterruptRequest, MessageAnswer, MessageRequest};
use ouroboros_proto::kind::TaskId;
use ouroboros_proto::limits::{self, Limit};
use std::ops::RangeInclusive;
use std::sync::Arc;
use warp::http::StatusCode;
use warp::reply::Response;

/// `POST /api/tasks/{id}/messages`
pub async fn say(call: &mut Call<'_>, name: &str) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let MessageRequest { text } = call.required().await?;
    within(&limits::MESSAGE_BYTES, text.len())?;
    if text.trim().is_empty() {
        return Err(ApiError::new(Code::EmptyPrompt, "Nothing is said; nothing was accepted."));
    }
    let key = key(call, &text)?;
    let (task, _) = call.task(name).await?;
    let message = NewMessage { task, text: Arc::from(text), key };
    let (number, duplicate) = call.site.handle.say(message).await?;
    let status = if duplicate { StatusCode::OK } else { StatusCode::CREATED };
    reply::json(status, &MessageAnswer { number, duplicate })
}

/// `POST /api/tasks/{id}/interrupt`
pub async fn interrupt(call: &mut Call<'_>, name: &str) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let InterruptRequest { hold, call: one } = call.optional().await?;
    let Some(number) = one else { return done_to(call, name, TaskCommand::Interrupt { hold }).await };
    if hold {
        return Err(bad(
            "hold",
            "A call is cancelled and the turn goes on: there is nothing to hold; nothing was done.",
        ));
    }
    let (task, _) = call.task(name).await?;
    let view = Arc::clone(&call.site.view);
    let (open, calls) = under_way(&call.site.blocking.read(move || transcript(&*view, task)).await?);
    if !open.contains(&number) {
        return Err(not_under_way(number, &open, calls));
    }
    done_to(call, name, TaskCommand::CancelCall { call: number }).await
}

/// All entries of a task.
fn transcript(view: &dyn View, task: TaskId) -> Result<Vec<Entry>, ApiError> {
    let mut entries = Vec::new();
    loop {
        let place = u64::try_from(entries.len()).unwrap_or(u64::MAX).saturating_add(1);
        let page = view.transcript(task, place)?;
        if page.is_empty() {
            return Ok(entries);
        }
        for entry in page {
            let unreadable = |error| ApiError::new(Code::Internal, format!("the transcript cannot be read: {error}"));
            entries.push(serde_json::from_str(&entry).map_err(unreadable)?);
        }
    }
}

/// The numbers of the calls of the last turn, as long as it has no results, and how many calls there are in all.
fn under_way(entries: &[Entry]) -> (RangeInclusive<u32>, u32) {
    let is_call = |part: &&Part| matches!(part, Part::ToolCall { .. });
    let (mut before, mut open) = (0_u32, 0_u32);
    for entry in entries {
        match entry {
            Entry::Answered { answer } => {
                before = before.saturating_add(open);
                open = u32::try_from(answer.message.parts.iter().filter(is_call).count()).unwrap_or(u32::MAX);
            }
            Entry::Results { .. } => (before, open) = (before.saturating_add(open), 0),
            Entry::Asked { .. }
            | Entry::Said { .. }
            | Entry::Notice { .. }
            | Entry::Parked { .. }
            | Entry::Delivered { .. }
            | Entry::Window { .. }
            | Entry::Overflowed { .. }
            | Entry::Trimmed { .. }
            | Entry::Compacting { .. }
            | Entry::Compacted { .. }
            | Entry::PrefixBroken { .. }
            | Entry::Begins { .. }
            | Entry::Judging { .. }
            | Entry::Judged { .. } => {}
        }
    }
    let last = before.saturating_add(open);
    (before.saturating_add(1)..=last, last)
}

fn not_under_way(number: u32, open: &RangeInclusive<u32>, calls: u32) -> ApiError {
    let which = if (1..=calls).contains(&number) { "is over" } else { "has not been made" };
    let now = match (open.is_empty(), open.start() == open.end()) {
        (true, _) => "No call is under way.".to_owned(),
        (false, true) => format!("Under way is call {}.", open.start()),
        (false, false) => format!("Under way are the calls {} to {}.", open.start(), open.end()),
    };
    ApiError::new(Code::CallNotUnderWay, format!("Call {number} {which}; nothing was cancelled. {now}"))
        .remedy("`ouroboros why TASK` lists the calls with their numbers.")
}

/// Hashes of the key in the header, where there is one, and of what is said.
fn key(call: &Call<'_>, text: &str) -> Result<Option<(KeyHash, KeyHash)>, ApiError> {
    let Some(key) = call.request.headers.get("idempotency-key") else { return Ok(None) };
    let key = String::from_utf8_lossy(key.as_bytes());
    within(&limits::KEY_CHARS, key.chars().count())?;
    if key.is_empty() {
        return Err(bad("Idempotency-Key", "The header Idempotency-Key is empty; nothing was accepted."));
    }
    Ok(Some((half(key.as_bytes()), half(text.as_bytes()))))
}

fn within(limit: &Limit, found: usize) -> Result<(), ApiError> {
    match u64::try_from(found) {
        Ok(found) if found <= limit.max => Ok(()),
        found => Err(ApiError::limit(limit, found.unwrap_or(u64::MAX))),
    }
}
