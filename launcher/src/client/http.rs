//! One HTTP/1.1 exchange over a Unix socket.

use super::ClientError;
use super::body::Decoder;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Largest head of a response.
const HEAD_BYTES: usize = 64 << 10;

/// Most header fields of a response.
const HEADERS: usize = 64;

/// What is done to the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Read it.
    Get,
    /// Send something to it.
    Post,
    /// Remove it.
    Delete,
}

/// One request.
#[derive(Debug)]
pub struct Request<'a> {
    /// What to do.
    pub method: Method,
    /// Path and query, encoded.
    pub target: &'a str,
    /// Further header fields.
    pub headers: Vec<(&'static str, String)>,
    /// A JSON body; none when it is empty.
    pub body: Vec<u8>,
}

/// A response whose head was read; its body is still on the way.
#[derive(Debug)]
pub struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    stream: UnixStream,
    decoder: Decoder,
    early: Vec<u8>,
}

impl Request<'_> {
    /// Connects, sends, and reads the head of the response.
    pub fn send(&self, socket: &Path, patience: Duration) -> Result<Response, ClientError> {
        let mut stream = UnixStream::connect(socket).map_err(|error| ClientError::connecting(socket, error))?;
        let bounded = stream.set_read_timeout(Some(patience)).and_then(|()| stream.set_write_timeout(Some(patience)));
        bounded.map_err(ClientError::Lost)?;
        // A server that refuses a body early answers and closes: its answer says more than the broken pipe.
        let sent = stream.write_all(&self.encode());
        match (read_head(stream), sent) {
            (Err(ClientError::Lost(_)), Err(error)) => Err(ClientError::Lost(error)),
            (response, _) => response,
        }
    }

    fn encode(&self) -> Vec<u8> {
        let method = match self.method {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Delete => "DELETE",
        };
        let agent = concat!("ouroboros/", env!("CARGO_PKG_VERSION"));
        let mut text = format!(
            "{method} {} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {agent}\r\nConnection: close\r\n",
            self.target
        );
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.method == Method::Post {
            text.push_str(&format!("Content-Type: application/json\r\nContent-Length: {}\r\n", self.body.len()));
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

impl Response {
    /// The status code.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// A header field by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether bytes of the body came with the head.
    pub fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    /// From now on reads wait for as long as it takes; the caller polls.
    pub fn wait_without_bound(&self) -> Result<(), ClientError> {
        self.stream.set_read_timeout(None).map_err(ClientError::Lost)
    }

    /// Adds what has come to `out`, waiting for something to come. False when the body is complete.
    pub fn read_some(&mut self, out: &mut Vec<u8>) -> Result<bool, ClientError> {
        if self.decoder.is_done() {
            return Ok(false);
        }
        let early = std::mem::take(&mut self.early);
        if !early.is_empty() {
            self.decoder.feed(&early, out)?;
            return Ok(true);
        }
        let mut chunk = [0; 64 << 10];
        let count = read(&mut self.stream, &mut chunk)?;
        if count == 0 {
            self.decoder.end()?;
            return Ok(false);
        }
        self.decoder.feed(chunk.get(..count).unwrap_or_default(), out)?;
        Ok(true)
    }

    /// The whole body, of at most `bound` bytes.
    pub fn read_all(mut self, bound: usize) -> Result<Vec<u8>, ClientError> {
        let mut body = Vec::new();
        while self.read_some(&mut body)? {
            if body.len() > bound {
                return Err(ClientError::Malformed(format!("the answer is over {bound} bytes")));
            }
        }
        Ok(body)
    }
}

impl AsFd for Response {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn read_head(mut stream: UnixStream) -> Result<Response, ClientError> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 16 << 10];
    loop {
        let count = read(&mut stream, &mut chunk)?;
        if count == 0 {
            return Err(ClientError::Lost(io::ErrorKind::UnexpectedEof.into()));
        }
        bytes.extend_from_slice(chunk.get(..count).unwrap_or_default());
        let mut fields = [httparse::EMPTY_HEADER; HEADERS];
        let mut head = httparse::Response::new(&mut fields);
        match head.parse(&bytes) {
            Ok(httparse::Status::Complete(length)) => {
                let status = head.code.unwrap_or_default();
                let headers: Vec<(String, String)> = head
                    .headers
                    .iter()
                    .map(|field| (field.name.to_ascii_lowercase(), String::from_utf8_lossy(field.value).into_owned()))
                    .collect();
                let early = bytes.split_off(length);
                let decoder = Decoder::new(status, &headers)?;
                return Ok(Response { status, headers, stream, decoder, early });
            }
            Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES => {}
            Ok(httparse::Status::Partial) => return Err(ClientError::Malformed("its head is too large".to_owned())),
            Err(error) => return Err(ClientError::Malformed(error.to_string())),
        }
    }
}

fn read(stream: &mut UnixStream, chunk: &mut [u8]) -> Result<usize, ClientError> {
    loop {
        match stream.read(chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result.map_err(ClientError::Lost),
        }
    }
}
