//! The HTTP API over the Unix socket of an installation.
//!
//! Blocking, one connection a request, every wait bounded. The socket is 0600 and the server checks the peer, so there is
//! no token. Answers are kept as bytes: what a newer server adds passes through `--json` untouched.

mod body;
mod build;
mod error;
mod http;
mod sse;
mod target;

pub use build::BUILD;
pub use error::{ClientError, Refusal};
pub use http::{Method, Response};
pub use sse::{EventStream, Message};
pub use target::{query, segment};

use http::Request;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Header in which the server names its build.
const BUILD_HEADER: &str = "ouroboros-build";

/// Longest silence of the server within one ordinary exchange.
const PATIENCE: Duration = Duration::from_secs(30);

/// Largest answer that is held in memory.
const ANSWER_BYTES: usize = 64 << 20;

/// Reaches one installation's server.
#[derive(Debug)]
pub struct Client {
    socket: PathBuf,
    server_build: RefCell<Option<String>>,
}

/// The body of a successful answer.
#[derive(Debug)]
pub struct Answer(Vec<u8>);

impl Client {
    /// A client of the server that listens there. Nothing is connected yet.
    pub fn new(socket: PathBuf) -> Self {
        Self { socket, server_build: RefCell::new(None) }
    }

    /// The socket it connects to.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The server's build, when it named one that is not ours.
    pub fn other_build(&self) -> Option<String> {
        self.server_build.borrow().clone().filter(|build| build != BUILD)
    }

    /// Remembers the build that an answer's body named.
    pub fn saw_build(&self, build: &str) {
        *self.server_build.borrow_mut() = Some(build.to_owned());
    }

    /// Asks for a JSON document.
    pub fn get(&self, target: &str) -> Result<Answer, ClientError> {
        self.ask(Method::Get, target, Vec::new(), PATIENCE)
    }

    /// Deletes what the target names.
    pub fn delete(&self, target: &str) -> Result<Answer, ClientError> {
        self.ask(Method::Delete, target, Vec::new(), PATIENCE)
    }

    /// Asks for something to be done that needs no more words.
    pub fn act(&self, target: &str) -> Result<Answer, ClientError> {
        self.ask(Method::Post, target, Vec::new(), PATIENCE)
    }

    /// As [`Client::act`], with another bound on the server's silence.
    pub fn act_within(&self, target: &str, patience: Duration) -> Result<Answer, ClientError> {
        self.ask(Method::Post, target, Vec::new(), patience)
    }

    /// Sends `body` as JSON.
    pub fn post(&self, target: &str, body: &impl Serialize) -> Result<Answer, ClientError> {
        self.post_within(target, body, PATIENCE)
    }

    /// As [`Client::post`], with another bound on the server's silence.
    pub fn post_within(&self, target: &str, body: &impl Serialize, patience: Duration) -> Result<Answer, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| ClientError::Malformed(error.to_string()))?;
        self.ask(Method::Post, target, body, patience)
    }

    /// Sends `body` as JSON, with an idempotency key.
    pub fn post_with_key(&self, target: &str, body: &impl Serialize, key: &str) -> Result<Answer, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| ClientError::Malformed(error.to_string()))?;
        let headers = vec![("Idempotency-Key", key.to_owned())];
        let request = Request { method: Method::Post, target, headers, body };
        Ok(Answer(self.open(&request, PATIENCE)?.read_all(ANSWER_BYTES)?))
    }

    /// Asks for bytes, to be read as they come.
    pub fn bytes(&self, target: &str) -> Result<Response, ClientError> {
        self.open(&Request { method: Method::Get, target, headers: Vec::new(), body: Vec::new() }, PATIENCE)
    }

    /// Opens an event stream, after the event numbered `last` when there was one.
    pub fn events(&self, target: &str, last: Option<u64>) -> Result<EventStream, ClientError> {
        let mut headers = vec![("Accept", "text/event-stream".to_owned())];
        headers.extend(last.map(|last| ("Last-Event-ID", last.to_string())));
        let response = self.open(&Request { method: Method::Get, target, headers, body: Vec::new() }, PATIENCE)?;
        response.wait_without_bound()?;
        EventStream::new(response)
    }

    fn ask(&self, method: Method, target: &str, body: Vec<u8>, patience: Duration) -> Result<Answer, ClientError> {
        let request = Request { method, target, headers: Vec::new(), body };
        Ok(Answer(self.open(&request, patience)?.read_all(ANSWER_BYTES)?))
    }

    fn open(&self, request: &Request<'_>, patience: Duration) -> Result<Response, ClientError> {
        let response = request.send(&self.socket, patience)?;
        if let Some(build) = response.header(BUILD_HEADER) {
            self.saw_build(build);
        }
        let status = response.status();
        if (200..300).contains(&status) {
            return Ok(response);
        }
        let body = response.read_all(ANSWER_BYTES)?;
        Err(ClientError::Refused(Box::new(Refusal::read(status, &body))))
    }
}

impl Answer {
    /// The document as it is.
    pub fn value(&self) -> Result<Value, ClientError> {
        self.read()
    }

    /// The document as one of the API's shapes.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        serde_json::from_slice(&self.0).map_err(|error| ClientError::Malformed(error.to_string()))
    }
}
