//! A provider's error, whatever its shape.

use super::{MAX_MESSAGE, Rejection};
use crate::dialect::Dialect;
use crate::dialect::decimal;
use ouroboros_proto::agent::TokenUsage;
use ouroboros_proto::kind::Millis;
use serde_json::Value;

/// What an error says of itself.
#[derive(Debug, Default)]
pub(super) struct Complaint {
    /// `code` as a word.
    pub(super) code: Option<String>,
    /// `type`, or `status` at Gemini.
    pub(super) kind: Option<String>,
    /// `code` as a number: an HTTP status.
    pub(super) status: Option<u16>,
    pub(super) message: String,
    pub(super) param: Option<String>,
    /// The window, where it has a field of its own.
    pub(super) window: Option<u64>,
    pub(super) request_id: Option<String>,
    pub(super) retry_after: Option<Millis>,
    pub(super) usage: Option<TokenUsage>,
}

impl Complaint {
    /// From a response's body.
    pub(super) fn read(body: &[u8]) -> Self {
        serde_json::from_slice::<Value>(body).map_or_else(
            |_| Self { message: bounded(String::from_utf8_lossy(body).trim()), ..Self::default() },
            |value| Self::of(&value),
        )
    }

    /// From an error's JSON.
    pub(super) fn of(value: &Value) -> Self {
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
        let error = match value.get("error") {
            Some(error @ (Value::Object(_) | Value::String(_))) => error,
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | None => value,
        };
        let word = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
        let mut complaint = Self {
            code: word("code"),
            kind: word("status").or_else(|| word("type")).filter(|kind| kind != "error"),
            status: error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()),
            message: bounded(message(error).unwrap_or_default()),
            param: word("param"),
            window: error.get("n_ctx").and_then(Value::as_u64),
            request_id: value.get("request_id").and_then(Value::as_str).map(str::to_owned),
            ..Self::default()
        };
        complaint.metadata(error);
        complaint.details(error);
        complaint
    }

    /// OpenRouter: what the provider behind it said.
    fn metadata(&mut self, error: &Value) {
        let Some(metadata) = error.get("metadata") else { return };
        let raw = match metadata.get("raw") {
            Some(Value::String(text)) => Some(text.clone()),
            Some(object @ Value::Object(_)) => Some(object.to_string()),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | None => None,
        };
        if let Some(raw) = raw.filter(|raw| !raw.is_empty()) {
            self.message = bounded(&format!("{}: {raw}", self.message));
        }
        if self.code.is_none() && (metadata.get("reasons").is_some() || metadata.get("flagged_input").is_some()) {
            self.code = Some("content_policy_violation".to_owned());
        }
        self.code = self.code.take().or_else(|| metadata.get("error_type")?.as_str().map(str::to_owned));
    }

    /// Gemini: the reason and the wait.
    fn details(&mut self, error: &Value) {
        for detail in error.get("details").and_then(Value::as_array).into_iter().flatten() {
            if let Some(reason) = detail.get("reason").and_then(Value::as_str) {
                self.code = Some(reason.to_owned());
            }
            if let Some(delay) = detail.get("retryDelay").and_then(Value::as_str) {
                self.retry_after = delay.strip_suffix('s').and_then(|seconds| decimal(seconds, 3));
            }
        }
    }

    /// With its class.
    pub(super) fn classified(self, dialect: Dialect, status: Option<u16>) -> Rejection {
        let status = status.or(self.status);
        let (class, hint) = super::classify::classify(dialect, status, &self);
        let code = self.code.or(self.kind).or_else(|| status.map(|status| status.to_string()));
        let message = if self.message.is_empty() { "no reason given".to_owned() } else { self.message };
        Rejection {
            class,
            code,
            message,
            request_id: self.request_id,
            retry_after: self.retry_after,
            usage: self.usage,
            hint,
        }
    }
}

/// The sentence, wherever it stands.
fn message(error: &Value) -> Option<&str> {
    if let Value::String(text) = error {
        return Some(text);
    }
    ["message", "detail", "error_description", "error"].into_iter().find_map(|name| match error.get(name)? {
        Value::String(text) => Some(text.as_str()),
        Value::Array(list) => list.first()?.get("msg")?.as_str(),
        Value::Object(inner) => inner.get("message")?.as_str(),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    })
}

fn bounded(text: &str) -> String {
    text.chars().take(MAX_MESSAGE).collect()
}

/// A decimal with that many places as milliseconds, rounded up.
pub(super) fn decimal(text: &str, places: i32) -> Option<Millis> {
    decimal::scaled(text, places).map(Millis::new)
}
