//! What a provider's refusal means. Providers, and the many servers that are compatible with one, disagree on status, code and words, so
//! one reader takes all shapes, and the class follows from what is said before it follows from the status.
//!
//! Shapes: `{"error":{"message","type","code","param"}}` (OpenAI, OpenRouter with a number as `code`), `{"type":"error","error":{…}}`
//! (Anthropic), `{"error":{"code","status","details"}}`, also in an array (Gemini), `{"error":"…"}` (Ollama), `{"message"}` and
//! `{"detail"}` (compatible servers).

mod classify;
mod complaint;

use super::{Dialect, Headers};
use complaint::Complaint;
use ouroboros_proto::agent::TokenUsage;
use ouroboros_proto::kind::Millis;
use serde_json::Value;

/// Most characters of a message that are kept.
const MAX_MESSAGE: usize = 2_000;

/// Why there is no answer, in the provider's words and in ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// What it means.
    pub class: RejectionClass,
    /// The provider's word for it.
    pub code: Option<String>,
    /// The provider's sentence; bounded, and not masked: the key may stand in it.
    pub message: String,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// How long the provider asks us to wait.
    pub retry_after: Option<Millis>,
    /// What was counted before it broke off.
    pub usage: Option<TokenUsage>,
    /// What would help.
    pub hint: Option<Hint>,
}

/// What a rejection means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RejectionClass {
    /// The key is missing, wrong, or not allowed to do this.
    Auth,
    /// The account is out of credit.
    Quota,
    /// Too much at a time: later is fine.
    RateLimited,
    /// The provider is busy or failed: later may be fine.
    Overloaded,
    /// The prompt does not fit.
    ContextOverflow {
        /// How many tokens would, if it says so.
        window: Option<u64>,
    },
    /// Turned down by a policy on content.
    Refused,
    /// There is no such model.
    UnknownModel,
    /// A field that we sent and could do without is not accepted: its name, for [`Dialect::encode_without`].
    UnsupportedField(String),
    /// The request is wrong.
    BadRequest,
}

/// What would help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// The model is being loaded: wait.
    Loading,
    /// The model has to be downloaded first.
    Pull,
    /// The provider says that asking again is pointless.
    NoRetry,
}

/// What an answer with a status other than 2xx means.
pub(super) fn read(dialect: Dialect, status: u16, headers: Headers<'_>, body: &[u8]) -> Rejection {
    let mut complaint = Complaint::read(body);
    complaint.request_id = request_id(headers).or(complaint.request_id);
    complaint.retry_after = retry_after(headers).or(complaint.retry_after);
    let mut rejection = complaint.classified(dialect, Some(status));
    let pointless = headers("x-should-retry").as_deref() == Some("false");
    rejection.hint = rejection.hint.or(pointless.then_some(Hint::NoRetry));
    rejection
}

/// What an error inside a stream means.
pub(super) fn in_stream(dialect: Dialect, error: &Value) -> Box<Rejection> {
    Box::new(Complaint::of(error).classified(dialect, None))
}

/// The id under which the provider knows the request.
pub(super) fn request_id(headers: Headers<'_>) -> Option<String> {
    ["request-id", "x-request-id", "x-generation-id", "x-goog-request-id"]
        .into_iter()
        .find_map(headers)
        .filter(|id| !id.is_empty())
}

/// How long to wait: `retry-after-ms`, else `retry-after` in seconds or as a date that is compared with the response's own.
fn retry_after(headers: Headers<'_>) -> Option<Millis> {
    let millis = |places| move |text: String| complaint::decimal(text.trim(), places);
    if let Some(wait) = headers("retry-after-ms").and_then(millis(0)) {
        return Some(wait);
    }
    let text = headers("retry-after")?;
    millis(3)(text.clone()).or_else(|| {
        let date = |text: &str| jiff::fmt::rfc2822::parse(text.trim()).ok().map(|zoned| zoned.timestamp());
        let wait = date(&text)?.as_millisecond().checked_sub(date(&headers("date")?)?.as_millisecond())?;
        Some(Millis::new(u64::try_from(wait).unwrap_or(0)))
    })
}
