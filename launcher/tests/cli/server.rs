//! A scripted server on the socket of a home.

use super::program::Home;
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Ten times what anything here needs.
const DEADLINE: Duration = Duration::from_secs(60);

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub target: String,
    pub head: String,
    pub body: Value,
}

impl Request {
    /// Method and path, without the query.
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.target.split('?').next().unwrap())
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// One step of an answer.
pub enum Step {
    Send(Vec<u8>),
    /// Waits until the gate is open.
    Wait(Gate),
}

/// What is answered; the connection closes after it.
pub struct Reply(pub Vec<Step>);

impl Reply {
    pub fn json(status: u16, body: &Value) -> Self {
        let body = body.to_string();
        let head =
            format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        Self(vec![Step::Send(format!("{head}{body}").into_bytes())])
    }

    pub fn error(status: u16, code: &str, message: &str, remedy: &str) -> Self {
        Self::json(status, &serde_json::json!({ "code": code, "message": message, "remedy": remedy }))
    }

    pub fn nothing() -> Self {
        Self(vec![Step::Send(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec())])
    }

    pub fn bytes(body: &[u8], header: &str) -> Self {
        let mut all = format!("HTTP/1.1 200 OK\r\n{header}content-length: {}\r\n\r\n", body.len()).into_bytes();
        all.extend_from_slice(body);
        Self(vec![Step::Send(all)])
    }

    /// An event stream in chunks of its own, one a message.
    pub fn events(messages: &[String]) -> Self {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let mut steps = vec![Step::Send(head.into())];
        steps.extend(messages.iter().map(|message| Step::Send(chunk(message.as_bytes()))));
        Self(steps)
    }

    /// The stream goes on with this.
    pub fn and(mut self, step: Step) -> Self {
        self.0.push(step);
        self
    }

    pub fn and_event(self, message: &str) -> Self {
        self.and(Step::Send(chunk(message.as_bytes())))
    }
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// Something that a step waits for.
#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    pub fn wait(&self) {
        let (lock, wake) = &*self.0;
        let (open, _) = wake.wait_timeout_while(lock.lock().unwrap(), DEADLINE, |open| !*open).unwrap();
        assert!(*open, "nothing opened the gate in time");
    }
}

/// The server, until it is dropped.
pub struct Server {
    requests: Arc<Mutex<Vec<Request>>>,
    socket: std::path::PathBuf,
}

impl Server {
    pub fn start(home: &Home, answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let run = home.file("run");
        std::fs::create_dir_all(&run).unwrap();
        let socket = run.join("api.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&requests), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream.unwrap(), &seen, &*answer));
            }
        });
        Self { requests, socket }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Method and path of every request so far.
    pub fn lines(&self) -> Vec<String> {
        self.requests().iter().map(Request::line).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn serve(mut stream: UnixStream, seen: &Mutex<Vec<Request>>, answer: &dyn Fn(&Request) -> Reply) {
    let Some(request) = read(&mut stream) else { return };
    seen.lock().unwrap().push(request.clone());
    for step in answer(&request).0 {
        match step {
            // The client may have left.
            Step::Send(bytes) => {
                if stream.write_all(&bytes).is_err() {
                    return;
                }
            }
            Step::Wait(gate) => gate.wait(),
        }
    }
}

fn read(stream: &mut UnixStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4_096];
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        match stream.read(&mut chunk).ok()? {
            0 => return None,
            count => bytes.extend_from_slice(&chunk[..count]),
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut words = head.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut request = Request { method, target, head, body: Value::Null };
    let length: usize = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = bytes[end..].to_vec();
    while body.len() < length {
        match stream.read(&mut chunk).ok()? {
            0 => return None,
            count => body.extend_from_slice(&chunk[..count]),
        }
    }
    request.body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(request)
}
