//! From a request on a connection to an answer: checks in one order, then the route.

use super::auth::{Access, Caller};
use super::body::{Body, Pieces};
use super::endpoints;
use super::reply;
use super::request::{Channel, Request};
use super::router::NoRoute;
use super::site::{Call, Site};
use futures_util::TryStreamExt as _;
use ouroboros_proto::api::{ApiError, Code};
use ouroboros_proto::limits;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use warp::Filter;
use warp::http::{HeaderMap, HeaderValue, Method, StatusCode};
use warp::reply::Response;

/// How long the rest of a refused body is taken from a caller who is let in.
const DISCARD_KNOWN: Duration = Duration::from_secs(10);
/// The same for a stranger.
const DISCARD_STRANGER: Duration = Duration::from_millis(500);

/// The one filter that takes every request; the route table does the rest.
pub fn catch_all(site: Arc<Site>) -> impl Filter<Extract = (Response,), Error = warp::Rejection> + Clone {
    let query = warp::query::raw().or(warp::any().map(String::new)).unify();
    warp::any()
        .and(warp::method())
        .and(warp::path::full())
        .and(query)
        .and(warp::header::headers_cloned())
        .and(warp::body::stream())
        .and(warp::ext::get::<Channel>())
        .then(
            move |method: Method, path: warp::path::FullPath, raw_query: String, headers: HeaderMap, body, channel| {
                let pieces = pieces(body);
                let body = Body::new(pieces, &headers);
                let path = path.as_str().to_owned();
                let mut request = Request { method, path, raw_query, headers, body, channel };
                let site = Arc::clone(&site);
                async move { respond(&site, &mut request).await }
            },
        )
}

fn pieces<B: warp::Buf>(body: impl warp::Stream<Item = Result<B, warp::Error>> + Send + Sync + 'static) -> Pieces {
    Box::pin(body.map_ok(|mut piece| piece.copy_to_bytes(piece.remaining())))
}

async fn respond(site: &Arc<Site>, request: &mut Request) -> Response {
    let (result, known) = handle(site, request).await;
    let mut response = result.unwrap_or_else(|refused| refused.into_response(request));
    if !request.body.is_empty() {
        // The answer must not be lost in a reset because the sender was still sending.
        request.body.discard(if known { DISCARD_KNOWN } else { DISCARD_STRANGER }).await;
        response.headers_mut().insert("connection", HeaderValue::from_static("close"));
    }
    reply::finish(&mut response);
    if known && let Ok(build) = HeaderValue::from_str(&site.handle.life().build) {
        // A client of another build says so, and goes on where it can.
        response.headers_mut().insert("ouroboros-build", build);
    }
    site.counters.answered(response.status().as_u16());
    response
}

/// An error on its way out, with what the route adds to it.
struct Refused {
    error: ApiError,
    allow: Option<String>,
    page: bool,
}

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Self {
        Self { error, allow: None, page: false }
    }
}

impl Refused {
    fn into_response(self, request: &Request) -> Response {
        if self.error.code == Code::Internal {
            tracing::error!(error = %self.error, path = request.path, "a request failed");
        }
        if self.page {
            return endpoints::refused_page(&self.error);
        }
        let mut response = reply::error(&self.error);
        if let Some(allow) = self.allow.and_then(|allow| HeaderValue::try_from(allow).ok()) {
            response.headers_mut().insert("allow", allow);
        }
        response
    }
}

async fn handle(site: &Arc<Site>, request: &mut Request) -> (Result<Response, Refused>, bool) {
    let (caller, found) = match admit(site, request) {
        Ok(admitted) => admitted,
        Err(refused) => return (Err(refused), false),
    };
    let known = caller != Caller::Anyone;
    let mut call = Call { site, request, caller };
    (endpoints::answer(&mut call, &found).await.map_err(Into::into), known)
}

fn admit(site: &Arc<Site>, request: &Request) -> Result<(Caller, super::router::Found), Refused> {
    let size = u64::try_from(request.header_bytes()).unwrap_or(u64::MAX);
    if size > limits::HEADER_BYTES.max {
        return Err(ApiError::limit(&limits::HEADER_BYTES, size).into());
    }
    let found = match site.routing.find(request.method.as_str(), &request.path) {
        Ok(found) => found,
        Err(reason) => {
            // A stranger's page learns nothing, not even which paths there are.
            site.auth.judge(request, Access::Public)?;
            let allow = match &reason {
                NoRoute::Path => None,
                NoRoute::Method(allowed) => Some(allowed.clone()),
            };
            return Err(Refused { error: (&reason).into(), allow, page: false });
        }
    };
    let access = found.route.access;
    match site.auth.judge(request, access) {
        Ok(caller) => Ok((caller, found)),
        Err(error) => {
            let page = access == Access::Page && error.code == Code::Unauthorized;
            Err(Refused { error, allow: None, page })
        }
    }
}

/// The answer when the filter itself fails, which no request can make it do.
pub fn fault() -> Response {
    reply::error(&ApiError::new(Code::Internal, "The server met a fault of its own; nothing was done."))
}

/// Turns the filter's own rejections into our errors.
///
/// # Errors
/// None.
pub async fn recover(rejection: warp::Rejection) -> Result<Response, Infallible> {
    tracing::error!(?rejection, "a request was rejected before it was routed");
    let mut response = fault();
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    Ok(response)
}
