//! A server on real sockets, and a client that writes the bytes itself.

use super::fake::World;
use crate::http::{Bounds, Listener, Options, Running, Surroundings, Token, bind_tcp, bind_unix, serve};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;

pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
/// Longer than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Harness {
    pub world: Arc<World>,
    pub directory: TempDir,
    pub tcp: SocketAddr,
    pub runtime: Runtime,
    running: Option<Running>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Harness {
    pub fn new() -> Self {
        Self::with(Bounds::default())
    }

    pub fn with(bounds: Bounds) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let world = World::new();
        world.run();
        let tcp = bind_tcp("127.0.0.1:0".parse().unwrap(), false).unwrap();
        let unix = bind_unix(&directory.path().join("socket")).unwrap();
        let Listener::Tcp(socket) = &tcp else { panic!("a TCP socket is one") };
        let address = socket.local_addr().unwrap();
        let options = Options {
            listeners: vec![tcp, unix],
            handle: world.handle(),
            view: world.clone(),
            operations: world.clone(),
            models: world.clone(),
            token: Token::new(TOKEN),
            version: "0.1.0".to_owned(),
            data_dir: directory.path().display().to_string(),
            surroundings: Surroundings {
                env: BTreeMap::from([("PATH".to_owned(), "/bin".to_owned())]),
                home: Some(PathBuf::from("/")),
            },
            bounds,
        };
        let running = runtime.block_on(async { serve(options) }).unwrap();
        Self { world, directory, tcp: address, runtime, running: Some(running) }
    }

    pub fn socket_path(&self) -> PathBuf {
        self.directory.path().join("socket")
    }

    pub fn stop(&mut self, bound: Duration) {
        if let Some(running) = self.running.take() {
            self.runtime.block_on(running.stop(bound));
        }
    }

    pub fn clients(&self) -> tokio::sync::watch::Receiver<u64> {
        self.running.as_ref().unwrap().clients()
    }

    pub fn unix(&self) -> UnixStream {
        let stream = UnixStream::connect(self.socket_path()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    pub fn network(&self) -> TcpStream {
        let stream = TcpStream::connect(self.tcp).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// As the owner, over the Unix socket.
    pub fn get(&self, path: &str) -> Answer {
        exchange(self.unix(), &request("GET", path, &[], None))
    }

    pub fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Answer {
        let json = ("Content-Type", "application/json");
        exchange(self.unix(), &request("POST", path, &[json], Some(body.as_ref())))
    }

    /// As whoever the headers say, over TCP; `Host` is right unless it is given.
    pub fn tcp(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> Answer {
        let host = self.tcp.to_string();
        let mut all = vec![("Host", host.as_str())];
        if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            all.clear();
        }
        all.extend_from_slice(headers);
        exchange(self.network(), &request(method, path, &all, body))
    }

    /// Submits `true` and gives its number.
    pub fn submit(&self) -> u64 {
        let answer = self.post("/api/tasks", r#"{"command":{"argv":["true"],"cwd":"/"}}"#);
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["number"].as_u64().unwrap()
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
        self.world.end();
    }
}

/// The bytes of a request.
pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(body) = body {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(body.unwrap_or_default());
    bytes
}

/// Sends bytes and reads one answer.
pub(crate) fn exchange<S: Read + Write>(mut stream: S, bytes: &[u8]) -> Answer {
    // A server that refuses early may close before everything is sent.
    let _ = stream.write_all(bytes);
    read(&mut stream)
}

/// Reads one answer.
pub(crate) fn read(stream: &mut impl Read) -> Answer {
    let (status, headers) = read_head(stream);
    let length = headers.get("content-length").map(|length| length.parse::<usize>().unwrap());
    let mut body = Vec::new();
    if headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        while let Some(chunk) = read_chunk(stream) {
            body.extend(chunk);
        }
    } else if let Some(length) = length {
        body.resize(length, 0);
        let got = read_fully(stream, &mut body);
        body.truncate(got);
    }
    Answer { status, headers, body }
}

/// Reads status and headers.
pub(crate) fn read_head(stream: &mut impl Read) -> (u16, BTreeMap<String, String>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "cut short: {}", String::from_utf8_lossy(&head));
        head.extend(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    (status, headers)
}

/// Reads one chunk; `None` at the end.
pub(crate) fn read_chunk(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).unwrap() == 0 {
            panic!("the body was broken off");
        }
        line.extend(byte);
    }
    let size = usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim(), 16).unwrap();
    let mut chunk = vec![0; size + 2];
    read_fully(stream, &mut chunk);
    chunk.truncate(size);
    (size > 0).then_some(chunk)
}

fn read_fully(stream: &mut impl Read, buffer: &mut [u8]) -> usize {
    let mut got = 0;
    while got < buffer.len() {
        match stream.read(&mut buffer[got..]).unwrap() {
            0 => break,
            more => got += more,
        }
    }
    got
}

/// A stream of events that is being read.
pub(crate) struct Messages<S> {
    stream: S,
    buffer: String,
    pub status: u16,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub id: Option<u64>,
    pub event: String,
    pub data: serde_json::Value,
}

impl<S: Read + Write> Messages<S> {
    pub fn open(mut stream: S, path: &str, headers: &[(&str, &str)]) -> Self {
        stream.write_all(&request("GET", path, headers, None)).unwrap();
        let (status, _) = read_head(&mut stream);
        Self { stream, buffer: String::new(), status }
    }

    /// The next message that is not a comment; `None` at the end.
    pub fn next(&mut self) -> Option<Message> {
        loop {
            if let Some((message, rest)) = self.buffer.split_once("\n\n") {
                let (message, rest) = (message.to_owned(), rest.to_owned());
                self.buffer = rest;
                if let Some(message) = parse(&message) {
                    return Some(message);
                }
                continue;
            }
            self.buffer.push_str(&String::from_utf8(read_chunk(&mut self.stream)?).unwrap());
        }
    }

    /// The next message of this kind.
    pub fn until(&mut self, event: &str) -> Option<Message> {
        std::iter::from_fn(|| self.next()).find(|message| message.event == event)
    }
}

fn parse(text: &str) -> Option<Message> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned());
    Some(Message {
        id: field("id:").map(|id| id.parse().unwrap()),
        event: field("event:")?,
        data: serde_json::from_str(&field("data:")?).unwrap(),
    })
}
