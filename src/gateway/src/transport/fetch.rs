//! Small questions that cost nothing: catalogues, and whether a server is there.

use super::address;
use super::client::{ClientError, Clients};
use super::read;
use super::read::chain;
use super::request::{PrepareError, authorize, header};
use crate::dialect::Rejection;
use crate::route::Provider;
use ouroboros_proto::kind::Millis;
use reqwest::{Method, Request};
use tokio::time::timeout;

/// A question. With a body it is sent with `POST`, as JSON.
#[derive(Debug, Clone, Copy)]
pub struct Fetch<'a> {
    /// Whom.
    pub provider: &'a Provider,
    /// Appended to the base URL.
    pub path: &'a str,
    /// Besides the key.
    pub headers: &'a [(&'static str, &'static str)],
    /// The key.
    pub key: Option<&'a str>,
    /// JSON.
    pub body: Option<&'a [u8]>,
    /// Until there is a connection.
    pub connect: Millis,
    /// For everything.
    pub whole: Millis,
    /// Most bytes of the answer.
    pub max_bytes: usize,
}

/// Why there is no answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// It cannot be asked: the address or the key is none.
    #[error("{0}")]
    Invalid(String),
    /// There is no connection.
    #[error("no connection: {0}")]
    Unreachable(String),
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// It took too long.
    #[error("no answer within {} ms", .0.get())]
    Late(Millis),
    /// The answer is larger than allowed.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// The provider said no.
    #[error("status {status}: {}", .rejection.message)]
    Rejected {
        /// The status.
        status: u16,
        /// What it means.
        rejection: Box<Rejection>,
    },
}

pub(super) async fn fetch(clients: &Clients, fetch: &Fetch<'_>) -> Result<Vec<u8>, FetchError> {
    match timeout(fetch.whole.duration(), once(clients, fetch)).await {
        Ok(answer) => answer,
        Err(_) => Err(FetchError::Late(fetch.whole)),
    }
}

async fn once(clients: &Clients, fetch: &Fetch<'_>) -> Result<Vec<u8>, FetchError> {
    let client = clients.of(fetch.provider, fetch.connect).map_err(invalid)?;
    let request = prepare(fetch).map_err(invalid)?;
    let mut response = client.execute(request).await.map_err(failed)?;
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(failed)? {
        if body.len().saturating_add(bytes.len()) > fetch.max_bytes {
            return Err(FetchError::TooLarge(fetch.max_bytes));
        }
        body.extend_from_slice(&bytes);
    }
    let status = response.status();
    if status.is_success() {
        return Ok(body);
    }
    let headers = response.headers();
    let read = |name: &str| read::header(headers, name);
    let rejection = fetch.provider.dialect.rejection(status.as_u16(), &read, &body);
    Err(FetchError::Rejected { status: status.as_u16(), rejection: Box::new(rejection) })
}

fn prepare(fetch: &Fetch<'_>) -> Result<Request, PrepareError> {
    let method = if fetch.body.is_some() { Method::POST } else { Method::GET };
    let url = address::endpoint(fetch.provider, fetch.path).map_err(ClientError::from)?;
    let mut request = Request::new(method, url);
    for (name, value) in fetch.headers {
        header(&mut request, name, value)?;
    }
    if let Some(key) = fetch.key {
        authorize(&mut request, fetch.provider, key)?;
    }
    if let Some(body) = fetch.body {
        header(&mut request, "content-type", "application/json")?;
        *request.body_mut() = Some(body.to_vec().into());
    }
    Ok(request)
}

fn invalid(error: impl std::error::Error) -> FetchError {
    FetchError::Invalid(error.to_string())
}

fn failed(error: reqwest::Error) -> FetchError {
    let error = error.without_url();
    let reason = chain(&error);
    if error.is_connect() { FetchError::Unreachable(reason) } else { FetchError::Broken(reason) }
}
