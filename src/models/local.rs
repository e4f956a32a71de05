//! The inference server that this server runs itself: started when it is needed, ended when it is not.
//!
//! It runs as a task of its own kind, so that custody, log, ledger and every kind of end are those of any other work: it takes no
//! slot, ends with the server in order, by panic, or when the server dies, and its output is the task's output. Here is only what
//! that does not give: the port, readiness, idleness, and pauses between starts that fail.

use crate::life::configuration::Configuration;
use crate::supervisor::Handle;
use ouroboros_domain::{Content, NewTask, Policy, Spec, TaskCommand};
use ouroboros_proto::api::StoredSpec;
use ouroboros_proto::kind::hex::hex;
use ouroboros_proto::kind::{BootMicros, Event, Isolation, Millis, Priority, TaskId, TaskNumber, WorkKind, clock};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, PoisonError};
use tokio::sync::{Mutex, broadcast};
use tokio::time::sleep;

/// How long a model may take to be loaded.
const READY_BOUND: Millis = Millis::seconds(600);
/// Between two looks while it is loaded.
const LOOK: Millis = Millis::new(200);
/// The first pause after a start that failed, and the longest.
const PAUSES: (Millis, Millis) = (Millis::seconds(1), Millis::seconds(60));
/// A server that ran this long had not failed to start.
const HELD: Millis = Millis::seconds(60);

/// Why there is no inference server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocalError {
    /// No command is set.
    #[error("no command runs a model here: `models.local_command` is empty")]
    NotConfigured,
    /// The command is no command.
    #[error("`models.local_command` is not a command: {0}")]
    BadCommand(&'static str),
    /// It could not be started.
    #[error("the local model could not be started: {0}")]
    NotStarted(String),
    /// It ended before it answered.
    #[error("the local model ended before it answered; `ouroboros logs {0}` shows what it said")]
    Ended(TaskNumber),
    /// It did not answer in time.
    #[error("the local model did not answer within 10 minutes; `ouroboros logs {0}` shows what it said")]
    Silent(TaskNumber),
    /// It failed just before.
    #[error("the local model failed; it is started again in {0} s")]
    Resting(u64),
}

struct Running {
    task: TaskId,
    number: TaskNumber,
    port: u16,
    since: BootMicros,
}

#[derive(Default)]
struct State {
    running: Option<Running>,
    failures: u32,
    rests_until: Option<BootMicros>,
}

/// The handle.
pub struct Local {
    handle: Handle,
    configuration: Arc<Configuration>,
    environment: BTreeMap<String, String>,
    state: Mutex<State>,
    users: AtomicU32,
    up: AtomicBool,
    used_at: std::sync::Mutex<BootMicros>,
}

/// While it lives, the inference server is not idle.
pub struct InUse {
    local: Arc<Local>,
}

impl Drop for InUse {
    fn drop(&mut self) {
        *self.local.used_at.lock().unwrap_or_else(PoisonError::into_inner) = clock::boot();
        if self.local.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            let local = Arc::clone(&self.local);
            tokio::spawn(async move { local.end_when_idle().await });
        }
    }
}

impl Local {
    /// With nothing running. `environment` is what the command gets.
    #[must_use]
    pub fn new(handle: Handle, configuration: Arc<Configuration>, environment: BTreeMap<String, String>) -> Self {
        Self {
            handle,
            configuration,
            environment,
            state: Mutex::default(),
            users: AtomicU32::new(0),
            up: AtomicBool::new(false),
            used_at: std::sync::Mutex::default(),
        }
    }

    /// Whether a command is set.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        !self.configuration.settings().models_local_command.trim().is_empty()
    }

    /// Whether it answered the last time that anybody looked.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.up.load(Ordering::Acquire)
    }

    /// Starts the inference server if it does not run, and waits until it answers. Its base URL, and a guard against idleness.
    ///
    /// # Errors
    /// [`LocalError`].
    pub async fn ready(self: &Arc<Self>) -> Result<(String, InUse), LocalError> {
        self.users.fetch_add(1, Ordering::AcqRel);
        let in_use = InUse { local: Arc::clone(self) };
        let mut state = self.state.lock().await;
        let mut events = self.handle.events();
        if let Some(running) = &state.running
            && !answers(running.port).await
            && !self.is_live(running.task).await
        {
            // It ended after it had answered: another one is started.
            self.failed(&mut state);
            state.rests_until = None;
        }
        if state.running.is_none() {
            self.start(&mut state).await?;
        }
        let port = self.await_answer(&mut state, &mut events).await?;
        Ok((format!("http://127.0.0.1:{port}/v1"), in_use))
    }

    async fn start(&self, state: &mut State) -> Result<(), LocalError> {
        let now = clock::boot();
        if let Some(until) = state.rests_until.filter(|until| *until > now) {
            return Err(LocalError::Resting(until.since(now).get().div_ceil(1000)));
        }
        let settings = self.configuration.settings();
        let port = match u16::try_from(settings.models_local_port) {
            Ok(port) if port > 0 => port,
            Ok(_) | Err(_) => free_port().map_err(|error| LocalError::NotStarted(error.to_string()))?,
        };
        let argv = argv(&settings.models_local_command, &settings.models_local_file, port)?;
        let task = self.task(argv).map_err(LocalError::NotStarted)?;
        let id = task.id;
        let accepted =
            self.handle.submit(vec![task]).await.map_err(|error| LocalError::NotStarted(error.message.clone()))?;
        let number = accepted.first().map_or_else(TaskNumber::default, |(_, number, _)| *number);
        tracing::info!(task = number.get(), port, "the local model is started");
        state.running = Some(Running { task: id, number, port, since: now });
        Ok(())
    }

    fn task(&self, argv: Vec<String>) -> Result<NewTask, String> {
        let env = serde_json::to_vec(&self.environment).map_err(|error| error.to_string())?;
        let hash: [u8; 32] = Sha256::digest(&env).into();
        let spec = StoredSpec {
            argv,
            cwd: "/".to_owned(),
            umask: None,
            env: hex(&hash),
            stdin: None,
            pty: None,
            name: Some("local model".to_owned()),
            ask: None,
        };
        Ok(NewTask {
            id: TaskId::mint(),
            kind: WorkKind::Model,
            spec: Spec::New(serde_json::to_vec(&spec).map_err(|error| error.to_string())?.into()),
            contents: vec![Content { hash, bytes: Arc::from(env), in_file: false }],
            key: None,
            priority: Priority::Urgent,
            delay: None,
            after: Vec::new(),
            hold: false,
            policy: Policy { rerun: false, retries: 0, timeout: None, isolation: Isolation::Namespace, max_cost: None },
            parent: None,
        })
    }

    /// Until it answers; the port. Its task's end is heard of through its event.
    async fn await_answer(
        &self,
        state: &mut State,
        events: &mut broadcast::Receiver<Arc<[ouroboros_domain::EventRow]>>,
    ) -> Result<u16, LocalError> {
        let begun = clock::boot();
        while let Some(running) = &state.running {
            let (task, number, port) = (running.task, running.number, running.port);
            if answers(port).await {
                state.failures = 0;
                self.up.store(true, Ordering::Release);
                return Ok(port);
            }
            self.up.store(false, Ordering::Release);
            if clock::boot().since(begun) >= READY_BOUND {
                // Refused when it has ended by itself.
                let _ = self.handle.task(task, TaskCommand::Cancel { grace: None }).await;
                self.failed(state);
                return Err(LocalError::Silent(number));
            }
            if ended(events, task, LOOK).await || !self.is_live(task).await {
                self.failed(state);
                return Err(LocalError::Ended(number));
            }
        }
        Err(LocalError::NotConfigured)
    }

    /// Whether its task has not settled: events may have been missed.
    async fn is_live(&self, task: TaskId) -> bool {
        // Releasing what is not held changes nothing, and is refused for what has settled.
        self.handle.task(task, TaskCommand::Release).await.is_ok()
    }

    fn failed(&self, state: &mut State) {
        self.up.store(false, Ordering::Release);
        let held = state.running.take().is_some_and(|running| clock::boot().since(running.since) >= HELD);
        state.failures = if held { 1 } else { state.failures.saturating_add(1) };
        let doubled = PAUSES.0.get().checked_shl(state.failures.saturating_sub(1).min(16)).unwrap_or(u64::MAX);
        state.rests_until = Some(clock::boot().plus(Millis::new(doubled.min(PAUSES.1.get()))));
    }

    async fn end_when_idle(&self) {
        let idle = self.configuration.settings().models_local_idle;
        if idle == Millis::ZERO {
            return;
        }
        sleep(idle.duration()).await;
        if self.users.load(Ordering::Acquire) > 0 {
            return;
        }
        let used_at = *self.used_at.lock().unwrap_or_else(PoisonError::into_inner);
        if clock::boot().since(used_at) < idle {
            return;
        }
        let mut state = self.state.lock().await;
        if self.users.load(Ordering::Acquire) > 0 {
            return;
        }
        if let Some(running) = state.running.take() {
            self.up.store(false, Ordering::Release);
            tracing::info!(task = running.number.get(), "the local model is idle and is ended");
            // Refused when it has ended by itself.
            let _ = self.handle.task(running.task, TaskCommand::Cancel { grace: None }).await;
        }
    }
}

/// Waits up to `bound`; whether the task's end was heard of.
async fn ended(
    events: &mut broadcast::Receiver<Arc<[ouroboros_domain::EventRow]>>,
    task: TaskId,
    bound: Millis,
) -> bool {
    let heard = async {
        loop {
            match events.recv().await {
                Ok(rows) => {
                    let settled = rows.iter().any(|row| {
                        row.task.is_some_and(|(id, _)| id == task) && matches!(row.event, Event::Settled { .. })
                    });
                    if settled {
                        return;
                    }
                }
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    };
    tokio::time::timeout(bound.duration(), heard).await.is_ok()
}

/// Whether something serves there. llama.cpp answers 503 while it loads the model; others refuse the connection.
async fn answers(port: u16) -> bool {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let ask = async {
        let mut stream = tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.ok()?;
        let request = format!("GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut head = [0_u8; 12];
        stream.read_exact(&mut head).await.ok()?;
        Some(head.starts_with(b"HTTP/1.") && head.get(9..10) != Some(b"5"))
    };
    tokio::time::timeout(Millis::new(2_000).duration(), ask).await.ok().flatten().unwrap_or(false)
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// The command's words, with file and port filled in. Words are split as a shell does, without anything else of a shell.
fn argv(command: &str, file: &str, port: u16) -> Result<Vec<String>, LocalError> {
    let words = shlex::split(command).ok_or(LocalError::BadCommand("its quotes do not close"))?;
    if words.is_empty() {
        return Err(LocalError::NotConfigured);
    }
    let port = port.to_string();
    Ok(words.into_iter().map(|word| word.replace("{model}", file).replace("{port}", &port)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_and_port_are_filled_in_word_by_word() {
        let argv = |command| argv(command, "/srv/a model.gguf", 4711);
        assert_eq!(
            argv("llama-server -m {model} --port {port} --alias 'my model'").unwrap(),
            ["llama-server", "-m", "/srv/a model.gguf", "--port", "4711", "--alias", "my model"]
        );
        assert_eq!(argv("llama 'open"), Err(LocalError::BadCommand("its quotes do not close")));
        assert_eq!(argv("  "), Err(LocalError::NotConfigured));
    }
}
