//! Speaking to a task in words while it works.

use super::task::done_to;
use crate::http::admission::half;
use crate::http::query::bad;
use crate::http::reply;
use crate::http::site::Call;
use ouroboros_domain::{KeyHash, NewMessage, TaskCommand};
use ouroboros_proto::api::{ApiError, Code, InterruptRequest, MessageAnswer, MessageRequest};
use ouroboros_proto::limits::{self, Limit};
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
    let InterruptRequest { hold } = call.optional().await?;
    done_to(call, name, TaskCommand::Interrupt { hold }).await
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
