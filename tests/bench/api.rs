//! A small client of the HTTP API, over a Unix socket, on the thread that measures.

use crate::sample::{micros, seconds_since};
use anyhow::{Context as _, bail};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::runtime::Runtime;

/// Longer than any number of tasks here takes.
pub const LONG: Duration = Duration::from_secs(600);
/// Longer than one thing takes.
const SOON: Duration = Duration::from_secs(30);

/// One connection, used inside the runtime.
pub struct Connection(SendRequest<Full<Bytes>>);

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// Nobody listens there.
    pub async fn open(socket: &Path) -> anyhow::Result<Self> {
        let stream = UnixStream::connect(socket).await?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(async move {
            // What breaks it is told to whoever waits for an answer.
            let _ = connection.await;
        });
        Ok(Self(sender))
    }

    async fn send(&mut self, method: Method, path: &str, body: Bytes) -> anyhow::Result<Response<Incoming>> {
        self.0.ready().await?;
        let request = Request::builder().method(method).uri(path).header("host", "ouroboros");
        let request = request.header("content-type", "application/json").body(Full::new(body))?;
        let response = self.0.send_request(request).await?;
        if !response.status().is_success() {
            let status = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            bail!("{path} answered {status}: {}", String::from_utf8_lossy(&body));
        }
        Ok(response)
    }

    /// Sends a request and gives the whole body of the answer.
    ///
    /// # Errors
    /// The answer is not one of success, or none.
    pub async fn request(&mut self, method: Method, path: &str, body: Bytes) -> anyhow::Result<Bytes> {
        Ok(self.send(method, path, body).await?.into_body().collect().await?.to_bytes())
    }
}

/// The body that submits this command, in `/`.
pub fn task(argv: &[&str]) -> Value {
    json!({ "command": { "argv": argv, "cwd": "/" } })
}

/// The body that submits it this many times.
pub fn tasks(argv: &[&str], count: usize) -> Bytes {
    json!({ "tasks": vec![task(argv); count] }).to_string().into()
}

/// One connection, used from outside the runtime.
pub struct Api<'a> {
    runtime: &'a Runtime,
    socket: PathBuf,
    connection: Connection,
    used: u64,
}

impl<'a> Api<'a> {
    /// Connects.
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn open(runtime: &'a Runtime, socket: &Path) -> anyhow::Result<Self> {
        let connection = runtime.block_on(Connection::open(socket))?;
        Ok(Self { runtime, socket: socket.to_owned(), connection, used: micros() })
    }

    /// Sends a request; on a new connection when the last one was idle for so long that the server may have closed it.
    fn request(&mut self, method: Method, path: &str, body: Bytes) -> anyhow::Result<Bytes> {
        if seconds_since(self.used) > 2.0 {
            self.connection = self.runtime.block_on(Connection::open(&self.socket))?;
        }
        let answer = self.runtime.block_on(self.connection.request(method, path, body));
        self.used = micros();
        answer
    }

    /// Reads.
    pub fn get(&mut self, path: &str) -> anyhow::Result<Value> {
        Ok(serde_json::from_slice(&self.bytes(path)?)?)
    }

    /// Reads bytes.
    pub fn bytes(&mut self, path: &str) -> anyhow::Result<Bytes> {
        self.request(Method::GET, path, Bytes::new())
    }

    /// Acts.
    pub fn post(&mut self, path: &str, body: impl Into<Bytes>) -> anyhow::Result<Bytes> {
        self.request(Method::POST, path, body.into())
    }

    /// Does something to the system as a whole.
    pub fn command(&mut self, command: &Value) -> anyhow::Result<()> {
        self.post("/api/command", command.to_string()).map(drop)
    }

    /// Submits one task and gives its number.
    pub fn submit(&mut self, task: &Value) -> anyhow::Result<u64> {
        let answer: Value = serde_json::from_slice(&self.post("/api/tasks", task.to_string())?)?;
        answer["number"].as_u64().context("no number")
    }

    /// Submits a command many times, as many in a request as are allowed.
    pub fn submit_many(&mut self, argv: &[&str], count: usize) -> anyhow::Result<()> {
        let mut left = count;
        while left > 0 {
            let now = left.min(1_000);
            self.post("/api/tasks", tasks(argv, now))?;
            left -= now;
        }
        Ok(())
    }

    /// The system in numbers.
    pub fn state(&mut self) -> anyhow::Result<Value> {
        self.get("/api/state")
    }

    /// Looks at the state until it is as wanted.
    pub fn until(&mut self, what: &str, pause: Duration, wanted: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        self.until_within(SOON, what, pause, wanted)
    }

    fn until_within(
        &mut self,
        bound: Duration,
        what: &str,
        pause: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let start = micros();
        loop {
            let state = self.state()?;
            if wanted(&state) {
                return Ok(state);
            }
            if seconds_since(start) > bound.as_secs_f64() {
                bail!("waited in vain until {what}: {state}");
            }
            if !pause.is_zero() {
                std::thread::sleep(pause);
            }
        }
    }

    /// Waits until nothing is under way and `spares` workers are ready.
    pub fn until_idle(&mut self, spares: u64) -> anyhow::Result<Value> {
        self.until("all is idle", Duration::from_millis(1), |state| {
            let (queue, slots) = (&state["queue"], &state["slots"]);
            queue["running"] == 0
                && queue["queued"] == 0
                && ["busy", "ending", "starting"].iter().all(|name| slots[name] == 0)
                && slots["spares"] == spares
        })
    }

    /// Waits until this many tasks have settled.
    pub fn until_settled(&mut self, count: u64) -> anyhow::Result<()> {
        let settled = |state: &Value| state["queue"]["settled"].as_u64().unwrap_or(0) >= count;
        self.until_within(LONG, "they have settled", Duration::from_millis(5), settled).map(drop)
    }

    /// Follows what happens from now on, on a connection of its own.
    pub fn events(&self) -> anyhow::Result<Events<'a>> {
        let body = self.runtime.block_on(async {
            let mut connection = Connection::open(&self.socket).await?;
            anyhow::Ok(connection.send(Method::GET, "/api/events", Bytes::new()).await?.into_body())
        })?;
        let mut events = Events { runtime: self.runtime, body, text: Vec::new() };
        while !events.message()?.starts_with("event: caught_up") {}
        Ok(events)
    }
}

/// A stream of events.
pub struct Events<'a> {
    runtime: &'a Runtime,
    body: Incoming,
    text: Vec<u8>,
}

impl Events<'_> {
    /// The next message of the stream, as text.
    fn message(&mut self) -> anyhow::Result<String> {
        loop {
            if let Some(end) = self.text.windows(2).position(|pair| pair == b"\n\n") {
                let rest = self.text.split_off(end + 2);
                let message = std::mem::replace(&mut self.text, rest);
                return Ok(String::from_utf8(message)?);
            }
            let frame = async { tokio::time::timeout(LONG, self.body.frame()).await };
            let frame = self.runtime.block_on(frame).context("no event comes")?.context("the stream ended")??;
            if let Some(data) = frame.data_ref() {
                self.text.extend_from_slice(data);
            }
        }
    }

    /// Waits until this task has settled.
    pub fn settled(&mut self, number: u64) -> anyhow::Result<()> {
        loop {
            let message = self.message()?;
            if !message.contains("\"settled\"") {
                continue;
            }
            let data = message.lines().find_map(|line| line.strip_prefix("data:")).unwrap_or("null");
            let event: Value = serde_json::from_str(data)?;
            if event["number"] == number && event["event"]["type"] == "settled" {
                return Ok(());
            }
        }
    }
}
