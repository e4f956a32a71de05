//! What to do beside a launcher that lives: say where it is, or take its place when it is just leaving.

use super::ask::ask;
use super::home::{self, Claim};
use super::poll;
use super::refusal::Refusal;
use super::signals::{Asked, Signals};
use ouroboros_process::lock::InstanceLock;
use ouroboros_proto::kind::{Millis, clock};
use ouroboros_settings::Paths;
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::time::Duration;

/// How long a busy server may take to say where it is.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a launcher whose server does not serve may take until it does, or has left.
const TURN: Millis = Millis::seconds(10);
/// Pause between two looks at it.
const LOOK: Millis = Millis::new(50);

/// Whose turn it is.
#[derive(Debug)]
pub enum Turn {
    /// Ours, for as long as the lock is held.
    Ours(InstanceLock),
    /// That of another launcher.
    Running(Running),
    /// Nobody's: we were asked to leave while we waited for it.
    Left,
}

/// The installation that is running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// The launcher.
    pub pid: Option<i32>,
    /// Where its server is; the last address known while it does not answer.
    pub url: Option<String>,
    /// Whether the server answers, and does not say that it is leaving.
    pub answers: bool,
}

/// Takes the data directory. A launcher that is stopping, or starting, is waited for: its server may be gone already while it
/// still holds the lock, and to say that it runs would leave nobody running.
///
/// # Errors
/// As [`home::claim`].
pub fn take_turn(paths: &Paths, signals: &Signals) -> Result<Turn, Refusal> {
    let end = clock::boot().plus(TURN);
    loop {
        let pid = match home::claim(paths)? {
            Claim::Ours(lock) => return Ok(Turn::Ours(lock)),
            Claim::Taken { pid } => pid,
        };
        let running = find(paths, pid);
        if running.answers || clock::boot() >= end {
            return Ok(Turn::Running(running));
        }
        poll::wait(&[signals.as_fd()], Some(clock::boot().plus(LOOK)));
        if matches!(signals.next(), Some(Asked::Stop | Asked::HangUp)) {
            return Ok(Turn::Left);
        }
    }
}

/// Looks for the server of the launcher `pid`.
fn find(paths: &Paths, pid: Option<i32>) -> Running {
    let state = ask(paths.api_socket(), "/api/state", PATIENCE);
    match state.filter(|state| state.get("stopping") != Some(&Value::Bool(true))) {
        Some(state) => Running { pid, url: url(&state), answers: true },
        None => Running { pid, url: announced(paths).and_then(|announced| url(&announced)), answers: false },
    }
}

/// Why it is no success to find a launcher running, when it is none: a service manager waits for a readiness that never comes, and
/// is told to try again later instead.
pub fn unwelcome() -> Option<&'static str> {
    let is_service = std::env::var_os("NOTIFY_SOCKET").is_some();
    is_service.then_some("the service cannot run beside it; `ouroboros stop` ends that one, then the service can start")
}

/// One line for people.
pub fn describe(running: &Running) -> String {
    let pid = running.pid.map_or_else(|| "unknown".to_owned(), |pid| pid.to_string());
    let url = running.url.as_deref().unwrap_or("no page");
    match running.answers {
        true => format!("already running: launcher pid {pid}, {url}\n"),
        false => format!("already running: launcher pid {pid}, {url}; its server does not answer yet\n"),
    }
}

/// What the server wrote down when it became ready.
fn announced(paths: &Paths) -> Option<Value> {
    let mut text = String::new();
    File::open(paths.port_file()).ok()?.take(64 << 10).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn url(from: &Value) -> Option<String> {
    from.get("url")?.as_str().map(crate::render::clean)
}
