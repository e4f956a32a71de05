//! Workers started ahead of need: one spare, or as many as slots wait for one, like the product's pool.

use anyhow::{Context as _, bail};
use ouroboros_process::probe::probe;
use ouroboros_process::{Child, Command, Program, Spawner, Stdio};
use ouroboros_proto::kind::{AttemptId, Generation, InstallationId, Isolation, WorkerId};
use ouroboros_proto::wire::codec::{PREFIX, body_length};
use ouroboros_proto::wire::{FromWorker, Order, PROTOCOL, ServerHello, ToWorker, WorkerHello, decode, encode};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const GENERATION: Generation = Generation::new(1);
const PATIENCE: Duration = Duration::from_secs(30);

/// A greeted worker.
pub struct Worker {
    child: Child,
    stream: UnixStream,
}

impl Worker {
    /// Sends an order.
    pub fn order(&mut self, attempt: AttemptId, order: Order) -> anyhow::Result<()> {
        let frame = encode(&ToWorker { attempt, generation: GENERATION, order })?;
        Ok(self.stream.write_all(&frame)?)
    }

    /// Its next report.
    pub fn report(&mut self) -> anyhow::Result<FromWorker> {
        read(&self.stream)
    }

    /// Waits until it has left.
    pub fn leave(self) -> anyhow::Result<()> {
        Ok(self.child.wait().map(drop)?)
    }
}

fn read<T: serde::de::DeserializeOwned>(mut stream: &UnixStream) -> anyhow::Result<T> {
    let mut prefix = [0; PREFIX];
    stream.read_exact(&mut prefix)?;
    let mut body = vec![0; body_length(prefix)?];
    stream.read_exact(&mut body)?;
    Ok(decode(&body)?)
}

#[derive(Default)]
struct State {
    waiting: usize,
    next: u64,
    /// Started, and whichever of process and connection is there first.
    starting: BTreeMap<WorkerId, (Option<Child>, Option<UnixStream>)>,
    ready: VecDeque<Worker>,
    failed: Option<String>,
    closed: bool,
}

impl State {
    fn join(&mut self, worker: WorkerId) {
        match self.starting.remove(&worker) {
            Some((Some(child), Some(stream))) => self.ready.push_back(Worker { child, stream }),
            Some(half) => drop(self.starting.insert(worker, half)),
            None => {}
        }
    }
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    spawner: Spawner,
    socket: PathBuf,
    program: PathBuf,
    isolation: Isolation,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Starts and greets workers, on two threads.
pub struct Pool(Arc<Shared>);

impl Pool {
    /// Starts the threads.
    ///
    /// # Errors
    /// The socket cannot be bound.
    pub fn start(spawner: Spawner, socket: &Path) -> anyhow::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        let program = support::program("ouroboros-worker");
        let found = probe(&spawner, Program::Path(program.clone()));
        let isolation = if found.namespaces.is_yes() { Isolation::Namespace } else { Isolation::Host };
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { state, changed, spawner, socket: socket.to_owned(), program, isolation });
        let (hatching, greeting) = (Arc::clone(&shared), Arc::clone(&shared));
        std::thread::Builder::new().name("hatch".to_owned()).spawn(move || hatch(&hatching))?;
        std::thread::Builder::new().name("greet".to_owned()).spawn(move || greet(&listener, &greeting))?;
        Ok(Self(shared))
    }

    /// Where workers run.
    pub fn isolation(&self) -> Isolation {
        self.0.isolation
    }

    /// Waits until a spare stands ready.
    pub fn keep_one(&self) -> anyhow::Result<()> {
        let worker = self.take()?;
        self.0.lock().ready.push_front(worker);
        Ok(())
    }

    /// A worker that stands ready; waits for one.
    pub fn take(&self) -> anyhow::Result<Worker> {
        let mut state = self.0.lock();
        state.waiting += 1;
        self.0.changed.notify_all();
        let taken = loop {
            if let Some(worker) = state.ready.pop_front() {
                break Ok(worker);
            }
            if let Some(why) = &state.failed {
                break Err(anyhow::anyhow!("the floor's pool has failed: {why}"));
            }
            state = self.0.wait(state);
        };
        state.waiting -= 1;
        self.0.changed.notify_all();
        taken
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.closed = true;
        // Their connections end, and so do they.
        state.ready.clear();
        self.0.changed.notify_all();
    }
}

fn hatch(shared: &Shared) {
    let mut state = shared.lock();
    while !state.closed && state.failed.is_none() {
        if state.starting.len() + state.ready.len() >= state.waiting.max(1) {
            state = shared.wait(state);
            continue;
        }
        state.next += 1;
        let worker = WorkerId::new(state.next);
        state.starting.insert(worker, (None, None));
        drop(state);
        let spawned = shared.spawner.spawn(command(shared, worker));
        state = shared.lock();
        match spawned {
            Ok(child) => {
                if let Some(half) = state.starting.get_mut(&worker) {
                    half.0 = Some(child);
                }
                state.join(worker);
            }
            Err(error) => state.failed = Some(error.to_string()),
        }
        shared.changed.notify_all();
    }
}

fn greet(listener: &UnixListener, shared: &Shared) {
    loop {
        let greeted = listener.accept().context("accept").and_then(|(stream, _)| welcome(stream));
        let mut state = shared.lock();
        match greeted {
            Ok((worker, stream)) => {
                if let Some(half) = state.starting.get_mut(&worker) {
                    half.1 = Some(stream);
                }
                state.join(worker);
            }
            Err(error) => state.failed = Some(format!("{error:#}")),
        }
        shared.changed.notify_all();
        if state.closed || state.failed.is_some() {
            return;
        }
    }
}

fn welcome(stream: UnixStream) -> anyhow::Result<(WorkerId, UnixStream)> {
    let hello: WorkerHello = read(&stream)?;
    if hello.protocol != PROTOCOL || hello.generation != GENERATION {
        bail!("a stranger says hello");
    }
    let answer = ServerHello {
        protocol: PROTOCOL,
        build: hello.build,
        generation: GENERATION,
        installation: InstallationId::mint(),
        refused: None,
    };
    (&stream).write_all(&encode(&answer)?)?;
    Ok((hello.worker, stream))
}

fn command(shared: &Shared, worker: WorkerId) -> Command {
    let namespaces = shared.isolation == Isolation::Namespace;
    let parent = if namespaces { 0 } else { std::process::id() };
    let mut command = Command::new(Program::Path(shared.program.clone()));
    command.args = vec!["serve".into()];
    command.env = [
        ("OUROBOROS_WORKER_SOCKET", shared.socket.clone().into_os_string()),
        ("OUROBOROS_WORKER_ID", worker.to_string().into()),
        ("OUROBOROS_WORKER_GENERATION", GENERATION.to_string().into()),
        ("OUROBOROS_WORKER_TOKEN", "00".repeat(32).into()),
        ("OUROBOROS_SERVER_PID", parent.to_string().into()),
    ]
    .map(|(name, value)| (OsString::from(name), value))
    .to_vec();
    command.cwd = Some("/".into());
    command.stderr = Stdio::Inherit;
    command.namespaces = namespaces;
    command
}
