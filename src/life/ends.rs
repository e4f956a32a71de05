//! What can end a life, and leaving in order.

use super::configuration::{Configuration, attempt_settings, core_settings};
use super::logging::Logging;
use crate::custody::Table;
use crate::supervisor::inbox::{Inbox, Message};
use crate::supervisor::work::AttemptSettings;
use crossbeam_channel::{Receiver, Sender, bounded, select};
use ouroboros_domain::{Input, ShutdownKind};
use ouroboros_process::reaper;
use ouroboros_proto::kind::{ExitCode, Millis, clock};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Time to stop after the one who started us went away.
const ORPHANED_BOUND: Millis = Millis::new(700);
/// Time for a hard stop.
const HARD_BOUND: Duration = Duration::from_millis(500);

/// Something that ends a life, or wants something of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// A signal.
    Signal(i32),
    /// Whoever started us is gone.
    Orphaned,
    /// Nobody needs us any more.
    Idle,
    /// An end was asked for elsewhere; running tasks may end by themselves.
    Ending {
        /// Whether the server stays down.
        kind: ShutdownKind,
        /// Whether they may.
        drain: bool,
    },
}

/// Listens for signals, and for the end of whoever holds the other end of our standard input.
///
/// # Errors
/// When signals cannot be handled or no thread is to be had.
pub fn listen(wishes: &Sender<Wish>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2])?;
    let sender = wishes.clone();
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            if sender.send(Wish::Signal(signal)).is_err() {
                return;
            }
        }
    })?;
    let stdin = io::stdin();
    if is_pipe(&stdin) {
        let sender = wishes.clone();
        ouroboros_process::lifeline::watch(stdin.as_fd().try_clone_to_owned()?, move || {
            let _ = sender.send(Wish::Orphaned);
        })?;
    }
    Ok(())
}

fn is_pipe(stdin: &io::Stdin) -> bool {
    rustix::fs::fstat(stdin).is_ok_and(|stat| {
        matches!(
            rustix::fs::FileType::from_raw_mode(stat.st_mode),
            rustix::fs::FileType::Fifo | rustix::fs::FileType::Socket
        )
    })
}

/// A bounded channel for wishes.
#[must_use]
pub fn wishes() -> (Sender<Wish>, Receiver<Wish>) {
    bounded(64)
}

/// What a life needs to end.
pub struct Ends {
    /// Where ends are asked for.
    pub inbox: Arc<Inbox>,
    /// What is wished.
    pub wishes: Receiver<Wish>,
    /// What the core says last.
    pub exit: Receiver<ExitCode>,
    /// The workers.
    pub table: Arc<Table>,
    /// The settings.
    pub configuration: Arc<Configuration>,
    /// The log.
    pub logging: Logging,
    /// What attempts are started with.
    pub attempts: Arc<Mutex<AttemptSettings>>,
}

impl Ends {
    /// Waits for the end of this life. Nothing of ours is alive when it returns, or it was named in the log.
    pub fn wait(&self) -> ExitCode {
        let mut deadline: Option<u64> = None;
        let mut asked = false;
        let mut code = ExitCode::Stopped;
        loop {
            let left = deadline.map(|at| Duration::from_micros(at.saturating_sub(clock::boot().get())));
            let timer = left.map_or_else(crossbeam_channel::never, crossbeam_channel::after);
            let wish = select! {
                recv(self.exit) -> code => return code.unwrap_or(ExitCode::Stopped),
                recv(self.wishes) -> wish => wish.ok(),
                recv(timer) -> _ => return self.give_up(code),
            };
            match wish {
                Some(Wish::Signal(SIGTERM | SIGINT)) if asked => return self.hard_stop(ExitCode::Stopped),
                Some(Wish::Signal(SIGTERM | SIGINT) | Wish::Idle) => {
                    asked = true;
                    self.shut_down(ShutdownKind::Stop);
                }
                Some(Wish::Signal(SIGUSR1)) => self.shut_down(ShutdownKind::Restart),
                Some(Wish::Signal(SIGHUP)) => {
                    let _ = self.reload();
                }
                Some(Wish::Signal(SIGUSR2)) => self.dump(),
                Some(Wish::Signal(_)) | None => {}
                Some(Wish::Orphaned) => {
                    tracing::warn!("the one who started this server is gone; stopping");
                    asked = true;
                    self.shut_down(ShutdownKind::Stop);
                    deadline = earlier(deadline, clock::boot().plus(ORPHANED_BOUND).get());
                }
                Some(Wish::Ending { kind, drain }) => {
                    code = match kind {
                        ShutdownKind::Stop => ExitCode::Stopped,
                        ShutdownKind::Restart => ExitCode::Restart,
                    };
                    let settings = self.configuration.settings();
                    let bound = match (drain, settings.server_drain_timeout) {
                        (true, Millis::ZERO) => None,
                        (true, bound) => Some(bound),
                        (false, _) => Some(settings.server_stop_timeout),
                    };
                    asked = asked || !drain;
                    if let Some(bound) = bound {
                        deadline = earlier(deadline, clock::boot().plus(bound).get());
                    }
                }
            }
        }
    }

    /// Reads the configuration again.
    ///
    /// # Errors
    /// What is not valid; the settings stay as they are.
    pub fn reload(&self) -> Result<(), String> {
        reload(&self.configuration, &self.logging, &self.attempts, &self.inbox).map(drop)
    }

    fn shut_down(&self, kind: ShutdownKind) {
        let input = Input::Shutdown { request: None, kind, drain: false };
        if !self.inbox.push_owner(Message::quiet(input)) {
            tracing::error!("too many requests wait; the stop is asked for again with the next signal");
        }
    }

    /// The bound is over: name what blocks, and end it.
    fn give_up(&self, code: ExitCode) -> ExitCode {
        for (worker, identity, assigned) in self.table.processes() {
            let task = assigned.map(|assigned| assigned.task.to_string());
            tracing::error!(
                worker = worker.get(),
                pid = identity.pid,
                task,
                "still alive when the time to stop was over"
            );
        }
        self.hard_stop(code)
    }

    fn hard_stop(&self, code: ExitCode) -> ExitCode {
        for child in self.table.children() {
            let _ = child.pidfd().signal(ouroboros_process::Signal::KILL);
        }
        let report = reaper::end_everything(&|_| false, HARD_BOUND);
        for survivor in &report.survivors {
            tracing::error!(pid = survivor.pid, command = %survivor.command, "survives the hard stop");
        }
        code
    }

    fn dump(&self) {
        for (worker, identity, assigned) in self.table.processes() {
            let (task, attempt) = (
                assigned.map(|assigned| assigned.task.to_string()),
                assigned.map(|assigned| assigned.attempt.to_string()),
            );
            tracing::info!(worker = worker.get(), pid = identity.pid, task, attempt, "state: worker");
        }
    }
}

fn earlier(deadline: Option<u64>, other: u64) -> Option<u64> {
    Some(deadline.map_or(other, |at| at.min(other)))
}

/// Reads the configuration again and lets everyone have it; the keys that wait for a restart.
///
/// # Errors
/// What is not valid; the settings stay as they are.
pub fn reload(
    configuration: &Configuration,
    logging: &Logging,
    attempts: &Mutex<AttemptSettings>,
    inbox: &Inbox,
) -> Result<Vec<String>, String> {
    let reloaded = configuration.reload().inspect_err(|problems| {
        tracing::error!(problems, "the configuration is not valid; the one in force stays");
    })?;
    for warning in &reloaded.warnings {
        tracing::warn!("{warning}");
    }
    logging.configure(&reloaded.settings);
    *attempts.lock().unwrap_or_else(PoisonError::into_inner) = attempt_settings(&reloaded.settings);
    inbox.push_owner(Message::quiet(Input::Configure(core_settings(&reloaded.settings))));
    tracing::info!(changed = reloaded.changed.len(), "the configuration was read again");
    Ok(reloaded.needs_restart.iter().map(ToString::to_string).collect())
}
