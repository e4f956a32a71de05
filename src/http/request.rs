//! A request, as endpoints see it.

use super::body::Body;
use super::query::Query;
use ouroboros_proto::api::{ApiError, Code};
use warp::http::{HeaderMap, Method};

/// Which way a request came, which decides what proves its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// Over the Unix socket, from a process of the owner or of root.
    Owner,
    /// Over TCP, from anybody on this machine.
    Network,
}

/// A request whose headers have arrived.
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path, as sent.
    pub path: String,
    /// The part after `?`, as sent.
    pub raw_query: String,
    /// The headers.
    pub headers: HeaderMap,
    /// What is still to be read.
    pub body: Body,
    /// Which way it came.
    pub channel: Channel,
}

impl Request {
    /// A header as text; `None` when it is absent or not text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The query parameters; only `known` ones may be there.
    ///
    /// # Errors
    /// An unknown, repeated or malformed one.
    pub fn query(&self, known: &[&str]) -> Result<Query, ApiError> {
        Query::parse(&self.raw_query, known)
    }

    /// Bytes of the request line and headers.
    #[must_use]
    pub fn header_bytes(&self) -> usize {
        let line = self.method.as_str().len() + self.path.len() + self.raw_query.len() + 12;
        self.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum::<usize>() + line
    }

    /// Refuses a body that is not declared as JSON.
    ///
    /// # Errors
    /// Another media type, or none.
    pub fn require_json(&self) -> Result<(), ApiError> {
        let media = self.header("content-type").unwrap_or("");
        let essence = media.split(';').next().unwrap_or("").trim();
        if essence.eq_ignore_ascii_case("application/json") {
            return Ok(());
        }
        Err(ApiError::new(Code::BadMediaType, "The body must be declared as JSON; nothing was accepted.")
            .remedy("Send the header `Content-Type: application/json`."))
    }
}
