//! What to say beside a launcher that lives.

use super::ask::ask;
use ouroboros_settings::Paths;
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::time::Duration;

/// How long a busy server may take to say where it is.
const PATIENCE: Duration = Duration::from_secs(2);

/// The installation that is running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// The launcher.
    pub pid: Option<i32>,
    /// Where its server is; the last address known while it does not answer.
    pub url: Option<String>,
    /// Whether the server answers.
    pub answers: bool,
}

/// Looks for the server of the launcher `pid`.
pub fn find(paths: &Paths, pid: Option<i32>) -> Running {
    match ask(paths.api_socket(), "/api/state", PATIENCE) {
        Some(state) => Running { pid, url: url(&state), answers: true },
        None => Running { pid, url: announced(paths).and_then(|announced| url(&announced)), answers: false },
    }
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
