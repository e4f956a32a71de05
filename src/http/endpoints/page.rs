//! The page and its files, which are part of the server.

use crate::http::reply;
use crate::http::site::Call;
use bytes::Bytes;
use ouroboros_proto::api::{ApiError, Code};
use warp::http::{HeaderValue, StatusCode};
use warp::reply::Response;

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// Nothing but our own files, no inline script, no frame around us.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

macro_rules! assets {
    ($($name:literal: $media:expr),* $(,)?) => {
        /// Name, media type and bytes of each file below `/assets/`.
        pub const ASSETS: &[(&str, &str, &[u8])] =
            &[$(($name, $media, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/web/", $name)))),*];
    };
}

assets! {
    "app.js": SCRIPT,
    "api.js": SCRIPT,
    "format.js": SCRIPT,
    "tasks.js": SCRIPT,
    "processes.js": SCRIPT,
    "output.js": SCRIPT,
    "keys.js": SCRIPT,
    "requests.js": SCRIPT,
    "models.js": SCRIPT,
    "login.js": SCRIPT,
    "style.css": STYLE,
    "icon.svg": "image/svg+xml",
}

/// `GET /`
pub fn index(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    Ok(html(StatusCode::OK, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/web/index.html"))))
}

/// `GET /assets/{name}`
pub fn asset(call: &mut Call<'_>, name: &str) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let (_, media, bytes) = ASSETS
        .iter()
        .find(|(known, _, _)| *known == name)
        .ok_or_else(|| ApiError::new(Code::UnknownPath, "There is no such file."))?;
    let mut response = reply::body(StatusCode::OK, media, Bytes::from_static(bytes));
    // Another build may answer next time: ask again.
    response.headers_mut().insert("cache-control", HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// What a browser sees that is not logged in.
#[must_use]
pub fn refused(error: &ApiError) -> Response {
    let status = StatusCode::from_u16(error.code.status()).unwrap_or(StatusCode::UNAUTHORIZED);
    explain(status, "This browser is not logged in", "Only the owner of this installation can see its tasks.")
}

/// A page that explains why there is nothing to see, and what to run.
#[must_use]
pub fn explain(status: StatusCode, title: &str, text: &str) -> Response {
    let page = document(
        "",
        &format!(
            "<main class=\"notice\"><h1>{title}</h1><p>{text}</p><p>Run this in a terminal of this machine:</p><pre>ouroboros open</pre><p>It opens the page with a login code that works once.</p></main>"
        ),
    );
    html(status, page)
}

/// The page that keeps the confirmation and goes on to the real one.
#[must_use]
pub fn welcome(confirm: &str) -> Response {
    let head = format!(
        "<meta name=\"ouroboros-confirm\" content=\"{confirm}\"><script type=\"module\" src=\"/assets/login.js\"></script>"
    );
    html(
        StatusCode::OK,
        document(&head, "<main class=\"notice\"><h1>Logged in</h1><p><a href=\"/\">Go on to the page</a></p></main>"),
    )
}

fn document(head: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Ouroboros</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <link rel=\"icon\" href=\"/assets/icon.svg\"><link rel=\"stylesheet\" href=\"/assets/style.css\">{head}</head>\
         <body>{body}</body></html>"
    )
}

fn html(status: StatusCode, text: impl Into<Bytes>) -> Response {
    let mut response = reply::body(status, HTML, text);
    response.headers_mut().insert("content-security-policy", HeaderValue::from_static(POLICY));
    response
}
