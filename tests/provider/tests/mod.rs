//! The server is spoken to over a bare connection: what a library would forgive or repair is seen here.

mod anthropic;
mod chat;
mod connection;
mod gemini;
mod ledger;
mod ollama;
mod responses;
mod rules;

use crate::reply::Provider;
use crate::script::Script;
use crate::serve::serve;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// After this a wait has failed.
const DEADLINE: Duration = Duration::from_secs(30);

/// A server of its own.
pub struct Site {
    address: SocketAddr,
}

/// How a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// As HTTP says.
    Whole,
    /// The connection was closed within it.
    Closed,
    /// The connection was reset.
    Reset,
}

/// A response.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
    pub ended: Ended,
}

impl Got {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("not JSON ({error}): {self:?}"))
    }

    /// The JSON of all `data:` lines.
    pub fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
        data.map(|data| serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"))).collect()
    }

    /// All texts at this place of the events, one after the other.
    pub fn text(&self, pointer: &str) -> String {
        self.events().iter().filter_map(|event| event.pointer(pointer)?.as_str().map(str::to_owned)).collect()
    }
}

impl Site {
    pub async fn new(script: &str) -> Self {
        Self::with_journal(script, None).await
    }

    pub async fn with_journal(script: &str, journal: Option<std::fs::File>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let provider = Arc::new(Provider::new(Script::parse(script).unwrap(), journal));
        tokio::spawn(serve(listener, provider));
        Self { address }
    }

    /// Sends a request and reads nothing.
    pub async fn open(&self, method: &str, path: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: provider\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    pub async fn call(&self, method: &str, path: &str, headers: &str, body: &str) -> Got {
        let mut stream = self.open(method, path, headers, body).await;
        let mut bytes = vec![];
        let read = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut bytes)).await.expect("the response ends");
        let reset = match read {
            Ok(_) => false,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => true,
            Err(error) => panic!("{error}"),
        };
        understand(&bytes, reset)
    }

    pub async fn post(&self, path: &str, body: &Value) -> Got {
        self.call("POST", path, "authorization: Bearer sk-test-1234\r\n", &body.to_string()).await
    }

    pub async fn get(&self, path: &str) -> Got {
        self.call("GET", path, "", "").await
    }

    /// The records so far.
    pub async fn requests(&self) -> Vec<Value> {
        self.get("/record").await.json()["requests"].as_array().unwrap().clone()
    }

    /// Waits until the last record is as wanted.
    pub async fn until(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let look = async {
            loop {
                if let Some(record) = self.requests().await.pop().filter(&wanted) {
                    return record;
                }
            }
        };
        tokio::time::timeout(DEADLINE, look).await.expect("the record becomes so")
    }
}

fn understand(bytes: &[u8], reset: bool) -> Got {
    let (head, rest) = match bytes.windows(4).position(|window| window == b"\r\n\r\n") {
        Some(place) => (&bytes[..place], &bytes[place + 4..]),
        None => (bytes, &[][..]),
    };
    let head = String::from_utf8(head.to_vec()).unwrap();
    let status = head.split(' ').nth(1).map_or(0, |word| word.parse().unwrap());
    let headers: BTreeMap<String, String> =
        head.lines().skip(1).filter_map(|line| line.split_once(": ")).map(|(n, v)| (n.into(), v.into())).collect();
    let (body, whole) = match headers.get("content-length") {
        Some(length) => (rest.to_vec(), length.parse() == Ok(rest.len())),
        None => unchunk(rest),
    };
    let ended = if reset {
        Ended::Reset
    } else if whole {
        Ended::Whole
    } else {
        Ended::Closed
    };
    Got { status, headers, body: String::from_utf8(body).unwrap(), ended }
}

/// The bytes of a chunked body, and whether its last chunk came.
pub fn unchunk(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = vec![];
    while let Some(place) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..place]).unwrap(), 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        let data = &rest[place + 2..];
        body.extend_from_slice(&data[..size.min(data.len())]);
        rest = data.get(size + 2..).unwrap_or_default();
    }
    (body, false)
}
