//! For tests: a server that does what it is told, down to the bytes and the end of its connections.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What the server does after it has read a request, or, at the start of a script, before.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Sends this.
    Write(Vec<u8>),
    /// Waits this long.
    Wait(Duration),
    /// Sends it over and over, with a pause between, until the client goes.
    Repeat(Vec<u8>, Duration),
    /// Waits until the client closes.
    Stall,
    /// Closes.
    Close,
    /// Closes with a reset.
    Reset,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    /// Its first line and its headers.
    pub(crate) head: String,
    /// Its body.
    pub(crate) body: Vec<u8>,
}

impl Received {
    /// Method and path.
    pub(crate) fn target(&self) -> String {
        self.head.split(" HTTP/").next().unwrap_or_default().to_owned()
    }

    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let found = |line: &str| {
            line.split_once(": ")
                .filter(|(field, _)| field.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.to_owned())
        };
        self.head.lines().find_map(found)
    }
}

/// What is answered to a request.
type Answer = Arc<dyn Fn(&Received) -> Vec<Act> + Send + Sync>;

/// The server. It ends with the test's runtime.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
    gone: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    requests: Vec<Received>,
    connections: usize,
}

impl Server {
    /// Answers every request by this.
    pub(crate) async fn answering(answer: impl Fn(&Received) -> Vec<Act> + Send + Sync + 'static) -> Self {
        Self::start(false, Arc::new(answer)).await
    }

    /// One script for each request, in order; then it closes.
    pub(crate) async fn scripted(scripts: impl IntoIterator<Item = Vec<Act>>) -> Self {
        let scripts = Mutex::new(scripts.into_iter().collect::<VecDeque<_>>());
        let next = move |_: &Received| scripts.lock().expect("a script").pop_front().unwrap_or(vec![Act::Close]);
        Self::answering(next).await
    }

    /// Takes connections and drops them before it reads.
    pub(crate) async fn deaf() -> Self {
        Self::start(true, Arc::new(|_| Vec::new())).await
    }

    async fn start(deaf: bool, answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let server = Self { url, state: Arc::default(), gone: watch::Sender::new(0) };
        let handle = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                server.state().connections += 1;
                if deaf {
                    stream.set_zero_linger().expect("an option");
                    continue;
                }
                tokio::spawn(server.clone().serve(stream, Arc::clone(&answer)));
            }
        });
        handle
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("a state")
    }

    pub(crate) fn requests(&self) -> Vec<Received> {
        self.state().requests.clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.state().connections
    }

    /// Waits until that many connections were closed by their client.
    pub(crate) async fn gone(&self, count: usize) {
        self.gone.subscribe().wait_for(|gone| *gone >= count).await.expect("a server");
    }

    async fn serve(self, mut stream: TcpStream, answer: Answer) {
        let mut buffer = Vec::new();
        while let Some(received) = read(&mut stream, &mut buffer).await {
            self.state().requests.push(received.clone());
            for act in answer(&received) {
                match act {
                    Act::Write(bytes) => {
                        if stream.write_all(&bytes).await.is_err() {
                            return self.went();
                        }
                    }
                    Act::Wait(span) => tokio::time::sleep(span).await,
                    Act::Repeat(bytes, pause) => {
                        while stream.write_all(&bytes).await.is_ok() {
                            tokio::time::sleep(pause).await;
                        }
                        return self.went();
                    }
                    Act::Stall => {
                        let mut rest = Vec::new();
                        drop(stream.read_to_end(&mut rest).await);
                        return self.went();
                    }
                    Act::Close => return,
                    Act::Reset => {
                        stream.set_zero_linger().expect("an option");
                        return;
                    }
                }
            }
        }
        self.went();
    }

    fn went(&self) {
        self.gone.send_modify(|gone| *gone += 1);
    }
}

/// A request; `None` when the client is gone.
async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Received> {
    loop {
        if let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            let received = Received { head, body: Vec::new() };
            let length = received.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
            if buffer.len() >= end + 4 + length {
                let body = buffer[end + 4..end + 4 + length].to_vec();
                buffer.drain(..end + 4 + length);
                return Some(Received { body, ..received });
            }
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => buffer.extend_from_slice(&chunk[..count]),
        }
    }
}

/// A whole response.
pub(crate) fn response(status: &str, headers: &str, body: &str) -> Act {
    let length = body.len();
    Act::Write(format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}").into_bytes())
}

/// A whole response of JSON.
pub(crate) fn json(body: &str) -> Act {
    response("200 OK", "content-type: application/json\r\n", body)
}

/// The head of a stream.
pub(crate) fn stream_head() -> Act {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: req-7\r\ntransfer-encoding: chunked\r\n\r\n";
    Act::Write(head.as_bytes().to_vec())
}

/// A chunk of a stream.
pub(crate) fn chunk(text: &str) -> Act {
    Act::Write(format!("{:x}\r\n{text}\r\n", text.len()).into_bytes())
}

/// The end of a stream.
pub(crate) fn stream_end() -> Act {
    Act::Write(b"0\r\n\r\n".to_vec())
}

/// The URL of a name that cannot be looked up, and is not asked for on the network: its label is longer than a name's may be.
pub(crate) fn nowhere() -> String {
    format!("http://{}.invalid", "x".repeat(64))
}
