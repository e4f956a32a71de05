//! Starts workers, on a thread of its own.

use super::table::{Entry, Table};
use crate::life::critical;
use crate::link::Link;
use crate::supervisor::inbox::{Inbox, Message};
use crossbeam_channel::{Receiver, Sender, bounded};
use ouroboros_domain::WorkerEvent;
use ouroboros_process::{Command, Program, Spawner, Stdio};
use ouroboros_proto::kind::hex::hex;
use ouroboros_proto::kind::{Generation, Isolation, ProcessId, WorkerId};
use ouroboros_proto::limits;
use ouroboros_proto::wire::Token;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

/// What workers are started from and told.
#[derive(Clone)]
pub struct Recipe {
    /// Starts processes.
    pub spawner: Spawner,
    /// The worker binary, opened when the server started: replacing the file does not mix builds.
    pub program: Program,
    /// Where workers connect to.
    pub socket: PathBuf,
    /// This life.
    pub generation: Generation,
    /// Where workers say what has no other way.
    pub log: Arc<OwnedFd>,
}

/// A way to ask for workers.
#[derive(Clone)]
pub struct Hatchery {
    orders: Sender<(WorkerId, Isolation)>,
}

impl Hatchery {
    /// Starts the thread.
    ///
    /// # Errors
    /// When no thread is to be had.
    pub fn start(recipe: Recipe, table: Arc<Table>, link: Link, inbox: Arc<Inbox>) -> io::Result<Self> {
        let (orders, taken) = bounded(usize::try_from(limits::SLOTS.max).unwrap_or(256).saturating_mul(2));
        critical::spawn("hatchery", move || serve(&taken, &recipe, &table, &link, &inbox))?;
        Ok(Self { orders })
    }

    /// Asks for a worker. Ends in `Spawned` or `SpawnFailed`.
    pub fn spawn(&self, worker: WorkerId, isolation: Isolation) {
        // The channel holds more than there can be workers, and its thread ends with the process.
        let _ = self.orders.send((worker, isolation));
    }
}

fn serve(orders: &Receiver<(WorkerId, Isolation)>, recipe: &Recipe, table: &Table, link: &Link, inbox: &Inbox) {
    for (worker, isolation) in orders {
        if let Err(error) = hatch(worker, isolation, recipe, table, link, inbox) {
            table.lock().remove(&worker);
            tracing::warn!(worker = worker.get(), %error, "worker cannot be started");
            inbox.push_worker(Message::about(worker, WorkerEvent::SpawnFailed));
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum HatchError {
    #[error("no random token: {0}")]
    Token(#[from] getrandom::Error),
    #[error(transparent)]
    Spawn(#[from] ouroboros_process::SpawnError),
    #[error("its death cannot be watched: {0}")]
    Watch(#[from] io::Error),
    #[error("it is not wanted any more")]
    Unwanted,
}

fn hatch(
    worker: WorkerId,
    isolation: Isolation,
    recipe: &Recipe,
    table: &Table,
    link: &Link,
    inbox: &Inbox,
) -> Result<(), HatchError> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)?;
    let token = Token(secret);
    let process = ProcessId::mint();
    let entry = Entry {
        token,
        isolation,
        process,
        child: None,
        outbox: None,
        greeted: None,
        assigned: None,
        group: None,
        exit: None,
        drained: true,
        kept: None,
        told_gone: false,
        wedged: Vec::new(),
    };
    {
        let mut workers = table.lock();
        if table.take_doomed(worker) {
            return Err(HatchError::Unwanted);
        }
        workers.insert(worker, entry);
    }
    let child = Arc::new(recipe.spawner.spawn(command(worker, isolation, token, recipe))?);
    let identity = child.identity().clone();
    let mut workers = table.lock();
    let greeted = workers.get_mut(&worker).and_then(|entry| {
        entry.child = Some(Arc::clone(&child));
        entry.greeted
    });
    inbox.push_worker(Message::about(worker, WorkerEvent::Spawned { process, identity }));
    if table.take_doomed(worker) {
        let _ = child.pidfd().signal(ouroboros_process::Signal::KILL);
        link.killed(worker);
    }
    match greeted {
        Some(pid) if pid == child.pid() => inbox.push_worker(Message::about(worker, WorkerEvent::Ready)),
        // Somebody else showed its token.
        Some(_) => drop(child.pidfd().signal(ouroboros_process::Signal::KILL)),
        None => {}
    }
    drop(workers);
    if let Err(error) = link.watch(worker, child.pidfd()) {
        let _ = child.pidfd().signal(ouroboros_process::Signal::KILL);
        return Err(error.into());
    }
    Ok(())
}

fn command(worker: WorkerId, isolation: Isolation, token: Token, recipe: &Recipe) -> Command {
    let namespaces = isolation == Isolation::Namespace;
    let parent = if namespaces { 0 } else { std::process::id() };
    let set = |name: &str, value: OsString| (OsString::from(name), value);
    let mut command = Command::new(recipe.program.clone());
    command.arg0 = Some("ouroboros-worker".into());
    command.args = vec!["serve".into()];
    command.env = vec![
        set("OUROBOROS_WORKER_SOCKET", recipe.socket.clone().into()),
        set("OUROBOROS_WORKER_ID", worker.to_string().into()),
        set("OUROBOROS_WORKER_GENERATION", recipe.generation.to_string().into()),
        set("OUROBOROS_WORKER_TOKEN", hex(&token.0).into()),
        set("OUROBOROS_SERVER_PID", parent.to_string().into()),
    ];
    command.cwd = Some(PathBuf::from("/"));
    command.namespaces = namespaces;
    if let Ok(log) = recipe.log.try_clone() {
        command.stderr = Stdio::Fd(log);
    }
    command
}
