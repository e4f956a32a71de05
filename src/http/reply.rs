//! Answers.

use bytes::Bytes;
use ouroboros_proto::api::{ApiError, Code};
use serde::Serialize;
use warp::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use warp::http::{HeaderName, HeaderValue, StatusCode};
use warp::reply::Response;

/// An answer with a body of this media type.
#[must_use]
pub fn body(status: StatusCode, media: &'static str, bytes: impl Into<Bytes>) -> Response {
    let mut response = Response::new(bytes.into().into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

/// An answer in JSON.
///
/// # Errors
/// It cannot be written as JSON, which is a fault of ours.
pub fn json<T: Serialize + ?Sized>(status: StatusCode, value: &T) -> Result<Response, ApiError> {
    serde_json::to_vec(value)
        .map(|bytes| body(status, "application/json", bytes))
        .map_err(|error| ApiError::new(Code::Internal, format!("an answer could not be written: {error}")))
}

/// An answer without a body.
#[must_use]
pub fn nothing() -> Response {
    let mut response = Response::new(Bytes::new().into());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// A refusal or failure.
#[must_use]
pub fn error(error: &ApiError) -> Response {
    let status = StatusCode::from_u16(error.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let bytes = serde_json::to_vec(error).unwrap_or_default();
    let mut response = body(status, "application/json", bytes);
    if matches!(error.code, Code::TooManyStreams | Code::Busy | Code::QueueFull | Code::StorageStalled) {
        response.headers_mut().insert("retry-after", HeaderValue::from_static("1"));
    }
    if error.code == Code::Unauthorized {
        response.headers_mut().insert("www-authenticate", HeaderValue::from_static("Bearer"));
    }
    response
}

/// Sets what every answer carries: nothing is cached unless it says so, guessed at, framed, or told where we link to.
pub fn finish(response: &mut Response) {
    let headers = response.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("x-frame-options", "DENY"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
}
