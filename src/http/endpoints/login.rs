//! Logging browsers in and out.

use super::page;
use crate::http::auth::Caller;
use crate::http::reply;
use crate::http::site::Call;
use ouroboros_proto::api::{ApiError, Code};
use warp::http::header::SET_COOKIE;
use warp::http::{HeaderValue, Method, StatusCode};
use warp::reply::Response;

/// `GET /login?code=…`: gives a cookie to the browser and a confirmation to the page's own storage.
pub fn log_in(call: &mut Call<'_>) -> Result<Response, ApiError> {
    let query = call.request.query(&["code"])?;
    // Looking ahead must not use the code up.
    let looks_ahead = call.request.header("sec-purpose").or_else(|| call.request.header("purpose"));
    if call.request.method == Method::HEAD || looks_ahead.is_some_and(|purpose| purpose.contains("prefetch")) {
        return Err(ApiError::new(Code::Forbidden, "A login code is used by opening its address."));
    }
    if !query.text("code").is_some_and(|code| call.site.auth.codes.redeem(code)) {
        let text = "This login code was used before, is older than five minutes, or was never given.";
        return Ok(page::explain(StatusCode::UNAUTHORIZED, "The login code does not work", text));
    }
    let credentials = call.site.auth.sessions.begin()?;
    let mut response = page::welcome(&credentials.confirm);
    let name = call.site.auth.cookie_name();
    let cookie = format!("{name}={}; HttpOnly; SameSite=Strict; Path=/", credentials.cookie);
    let cookie = HeaderValue::try_from(cookie)
        .map_err(|error| ApiError::new(Code::Internal, format!("a cookie could not be written: {error}")))?;
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

/// `POST /api/logout`
pub fn log_out(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    match call.caller {
        Caller::Browser(session) => call.site.auth.sessions.end(session),
        Caller::Owner | Caller::Anyone => {
            return Err(ApiError::new(Code::BadField, "Only a browser logs out.")
                .remedy("`DELETE /api/sessions` logs every browser out."));
        }
    }
    Ok(reply::nothing())
}

/// `DELETE /api/sessions`
pub fn end_sessions(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    call.site.auth.sessions.end_all();
    Ok(reply::nothing())
}
