//! Ends orphans of dead workers and processes of dead generations, on a thread of its own, because both may take a while.

use super::table::{Table, worker_exit};
use crate::life::critical;
use crate::link::Link;
use crate::supervisor::inbox::{Inbox, Message};
use crossbeam_channel::{Receiver, Sender, bounded};
use ouroboros_domain::{Input, KeptReport, Reap, WorkerEvent, WorkerExit};
use ouroboros_process::ledger::{self, Ended};
use ouroboros_process::reaper::{self, Survivor};
use ouroboros_process::{Checked, PidFd};
use ouroboros_proto::kind::{AttemptId, Identity, Millis, ProcessId, WorkerId};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Time to end a tree before it counts as wedged; a setting, asked for each time.
pub type KillBound = Arc<dyn Fn() -> Millis + Send + Sync>;

enum Job {
    /// A worker outside a namespace died: what it left came to us.
    Orphans(WorkerId),
    /// A process that the launcher could not prove dead.
    Unproven { identity: Identity, command: String },
    /// A process of a dead generation.
    Ledger { process: ProcessId, identity: Identity, attempt: Option<AttemptId> },
}

/// Reads the terminal report that a dead worker kept on disk.
pub type Kept = Arc<dyn Fn(AttemptId) -> Option<KeptReport> + Send + Sync>;

/// A way to ask for ends.
#[derive(Clone)]
pub struct Reaper {
    jobs: Sender<Job>,
}

impl Reaper {
    /// Starts the thread. `link` is told when a worker's orphans are gone; `inbox` of everything else.
    ///
    /// # Errors
    /// When no thread is to be had.
    pub fn start(table: Arc<Table>, link: Link, inbox: Arc<Inbox>, kept: Kept, bound: KillBound) -> io::Result<Self> {
        // A start with more of a ledger than this waits for the first ends; the reaper itself waits for nobody.
        let (jobs, taken) = bounded(1_024);
        critical::spawn("reaper", move || serve(&taken, &table, &link, &inbox, &kept, &bound))?;
        Ok(Self { jobs })
    }

    /// Ends what a dead worker left.
    pub fn orphans(&self, worker: WorkerId) {
        let _ = self.jobs.send(Job::Orphans(worker));
    }

    /// Ends a process that the launcher saw survive the server before us. Nobody waits for the result: if it is in the ledger, its
    /// row tells.
    pub fn unproven(&self, identity: Identity, command: String) {
        let _ = self.jobs.send(Job::Unproven { identity, command });
    }

    /// Ends a process of a dead generation. Ends in `Reaped`.
    pub fn ledger(&self, process: ProcessId, identity: Identity, attempt: Option<AttemptId>) {
        let _ = self.jobs.send(Job::Ledger { process, identity, attempt });
    }
}

fn serve(jobs: &Receiver<Job>, table: &Arc<Table>, link: &Link, inbox: &Arc<Inbox>, kept: &Kept, bound: &KillBound) {
    for job in jobs {
        match job {
            Job::Orphans(worker) => orphans(worker, table, link, inbox, bound().duration()),
            Job::Unproven { identity, command } => {
                tracing::warn!(
                    pid = identity.pid,
                    command,
                    "the launcher could not prove this process of an earlier life dead"
                );
                if let Ended::Survives(survivors) = ledger::end(&identity, bound().duration()) {
                    report(&survivors, "process of an earlier life cannot be ended");
                }
            }
            Job::Ledger { process, identity, attempt } => {
                let result = match ledger::end(&identity, bound().duration()) {
                    Ended::Ended => Reap::Gone,
                    Ended::Survives(survivors) => {
                        report(&survivors, "process of an earlier life cannot be ended");
                        Reap::Survives
                    }
                    Ended::Unknown(doubt) => {
                        let pid = identity.pid;
                        tracing::warn!(pid, ?doubt, "process of an earlier life cannot be recognised; left alone");
                        Reap::Survives
                    }
                };
                let kept = attempt.filter(|_| result != Reap::Survives).and_then(|attempt| kept(attempt));
                inbox.push_worker(Message::quiet(Input::Reaped { process, result, kept }));
            }
        }
    }
}

fn orphans(worker: WorkerId, table: &Arc<Table>, link: &Link, inbox: &Arc<Inbox>, bound: Duration) {
    let group = table.group(worker);
    if let Some(group) = &group {
        // What it misses, the sweep finds.
        let _ = group.kill();
    }
    let outcome = reaper::end_adopted(bound);
    // A group that cannot be asked has been removed with everything in it.
    let empty = group.is_none_or(|group| group.wait_empty(bound).unwrap_or(true));
    if outcome.is_clean() && empty {
        return link.tree_gone(worker, exit_of(worker, table));
    }
    report(&outcome.survivors, "a worker left processes that cannot be ended");
    let survivors: Vec<Identity> = outcome.survivors.iter().filter_map(|survivor| survivor.identity.clone()).collect();
    table.wedged(worker, &survivors);
    inbox.push_worker(Message::about(worker, WorkerEvent::Wedged { survivors }));
    let (table, link) = (Arc::clone(table), link.clone());
    let waiter = move || {
        // Their deaths are events; then look again, because they may have left more.
        let mut left = outcome.survivors;
        while !left.is_empty() {
            for identity in left.iter().filter_map(|survivor| survivor.identity.as_ref()) {
                if let Checked::Open(pidfd) = PidFd::open_checked(identity) {
                    wait_long(&pidfd);
                }
            }
            left = reaper::end_adopted(bound).survivors;
        }
        link.tree_gone(worker, exit_of(worker, &table));
    };
    if let Err(error) = std::thread::Builder::new().name("wedged".to_owned()).spawn(waiter) {
        tracing::error!(worker = worker.get(), %error, "no thread to watch a wedged worker; its slot stays given up");
    }
}

fn wait_long(pidfd: &PidFd) {
    while !pidfd.wait_dead(Duration::from_secs(3_600)) {}
}

fn exit_of(worker: WorkerId, table: &Table) -> WorkerExit {
    let child = table.lock().get(&worker).and_then(|entry| entry.child.clone());
    match child.and_then(|child| child.try_wait().ok().flatten()) {
        Some(exit) => worker_exit(exit.status),
        // Reaped by nobody we know: say that it was killed, which is how an outsider would have ended it.
        None => WorkerExit::Signal(9),
    }
}

fn report(survivors: &[Survivor], message: &str) {
    for survivor in survivors {
        let refused = survivor.refused;
        tracing::error!(pid = survivor.pid, command = %survivor.command, refused, "{message}");
    }
}
