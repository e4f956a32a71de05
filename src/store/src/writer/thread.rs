//! The writer's loop.

use super::sweep::Sweep;
use super::{Batch, Command, Sink};
use crate::apply::Tally;
use crate::checkpoint::{self, Checkpointer};
use crate::error::{CommitError, CommitErrorKind, OpenError};
use crate::failpoint;
use crate::load::{self, LoadedRows};
use crate::shared::Shared;
use crate::{connect, meta};
use crossbeam_channel::{Receiver, TryRecvError};
use rusqlite::Connection;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the writer knows beside its connection.
pub struct Thread {
    pub(super) shared: Arc<Shared>,
    inbox: Receiver<Command>,
    /// A command that was met while batches were gathered; it comes next.
    held: Option<Command>,
    sink: Box<dyn Sink + Send>,
    checkpointer: Checkpointer,
    sweeps: VecDeque<Sweep>,
    pub(super) tally: Tally,
    /// Whether commits reach the disk at present.
    pub(super) syncing: bool,
    /// Frames in the log after the last commit.
    frames: Arc<AtomicU64>,
    /// The last decision that was reported as committed.
    committed: u64,
    poisoned: bool,
}

/// What comes next.
enum Next {
    Command(Command),
    Slice,
    End,
}

impl Thread {
    pub(super) fn new(
        shared: Arc<Shared>,
        inbox: Receiver<Command>,
        sink: Box<dyn Sink + Send>,
        checkpointer: Checkpointer,
    ) -> Self {
        Self {
            shared,
            inbox,
            held: None,
            sink,
            checkpointer,
            sweeps: VecDeque::new(),
            tally: Tally::default(),
            syncing: true,
            frames: Arc::new(AtomicU64::new(0)),
            committed: 0,
            poisoned: false,
        }
    }

    pub(super) fn run(mut self, conn: Connection) {
        let mut conn = Some(self.watch(conn));
        loop {
            match self.next() {
                Next::Command(Command::Batch(first)) => self.serve(conn.as_ref(), first),
                Next::Command(Command::Sweep(job, done)) => self.sweeps.push_back(Sweep::new(job, done)),
                Next::Command(Command::Backup(path, done)) => {
                    let result = match &conn {
                        Some(conn) if !self.poisoned => self.back_up(conn, &path),
                        _ => Err(crate::backup::BackupError::Interrupted),
                    };
                    let _ = done.send(result);
                }
                Next::Command(Command::Reopen(done)) => {
                    let result = self.reopen(&mut conn);
                    let _ = done.send(result);
                }
                Next::Command(Command::Stop) | Next::End => break,
                Next::Slice => self.slice(conn.as_ref()),
            }
        }
        self.checkpointer.close();
    }

    fn next(&mut self) -> Next {
        if let Some(command) = self.held.take() {
            return Next::Command(command);
        }
        if self.sweeps.is_empty() {
            return self.inbox.recv().map_or(Next::End, Next::Command);
        }
        match self.inbox.try_recv() {
            Ok(command) => Next::Command(command),
            Err(TryRecvError::Empty) => Next::Slice,
            Err(TryRecvError::Disconnected) => Next::End,
        }
    }

    /// The next batch that waits, if one does and no other command is before it.
    pub(super) fn waiting(&mut self) -> Option<Batch> {
        if self.held.is_some() {
            return None;
        }
        match self.inbox.try_recv() {
            Ok(Command::Batch(batch)) => Some(batch),
            Ok(other) => {
                self.held = Some(other);
                None
            }
            Err(_) => None,
        }
    }

    /// Commits what waits, then does a slice of housekeeping, so that a busy queue does not put it off for ever.
    fn serve(&mut self, conn: Option<&Connection>, first: Batch) {
        let group = self.gather(first);
        self.commit_group(conn, &group);
        if !self.sweeps.is_empty() {
            self.slice(conn);
        }
    }

    /// Commits a group and reports it; drops it when the writer is poisoned.
    pub(super) fn commit_group(&mut self, conn: Option<&Connection>, group: &[Batch]) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
        let Some(conn) = conn.filter(|_| !self.poisoned) else { return };
        match self.commit(conn, group) {
            Ok(()) => {
                self.committed = last.decision;
                self.sink.committed(last.decision);
                self.checkpointer.log_has(self.frames.load(Ordering::Relaxed));
            }
            Err(error) => self.poison(first.decision, error),
        }
    }

    /// Whether everything is refused.
    pub(super) const fn is_poisoned(&self) -> bool {
        self.poisoned
    }

    fn poison(&mut self, from: u64, error: CommitError) {
        self.poisoned = true;
        self.tally.forget();
        if error.kind == CommitErrorKind::DiskFull {
            self.shared.reserve.release();
        }
        tracing::error!(decision = from, %error, "a commit failed; the store must be opened again");
        self.sink.failed(from, error);
    }

    fn slice(&mut self, conn: Option<&Connection>) {
        let Some(mut sweep) = self.sweeps.pop_front() else { return };
        let Some(conn) = conn.filter(|_| !self.poisoned) else {
            sweep.fail(CommitError {
                kind: CommitErrorKind::Other,
                decision: None,
                detail: "the store must be opened again first".to_owned(),
            });
            return;
        };
        match self.sweep_slice(conn, &mut sweep) {
            Ok(true) => sweep.finish(),
            Ok(false) => self.sweeps.push_back(sweep),
            Err(error) => {
                sweep.fail(error.clone());
                self.poison(self.committed.saturating_add(1), error);
            }
        }
        self.checkpointer.log_has(self.frames.load(Ordering::Relaxed));
    }

    fn reopen(&mut self, conn: &mut Option<Connection>) -> Result<LoadedRows, OpenError> {
        self.poisoned = true;
        self.tally.forget();
        drop(conn.take());
        self.checkpointer.close();
        let shared = Arc::clone(&self.shared);
        let _paused = shared.pause()?;
        let path = shared.layout.database();
        let sql = |error| OpenError::from_sql(&path, error);
        let injected = || OpenError::Io { path: path.clone(), source: std::io::Error::other("injected") };
        let open = connect::writer(&shared.layout).map_err(sql)?;
        if failpoint::hit("store.before_epoch").is_some() {
            return Err(injected());
        }
        meta::add(&open, meta::EPOCH, 1).map_err(sql)?;
        if failpoint::hit("store.before_truncate").is_some() {
            return Err(injected());
        }
        if checkpoint::checkpoint(&open, "TRUNCATE").map_err(sql)? {
            return Err(OpenError::Busy { path });
        }
        let loaded = load::load(&open, &shared.layout)?;
        *conn = Some(self.watch(open));
        self.syncing = true;
        self.poisoned = false;
        Ok(loaded)
    }

    /// Keeps an eye on the length of the log.
    fn watch(&self, mut conn: Connection) -> Connection {
        let frames = Arc::clone(&self.frames);
        let hook = move |_: &mut rusqlite::hooks::Wal, pages: i32| {
            frames.store(u64::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        };
        if let Err(error) = conn.wal_hook(Some(hook)) {
            tracing::warn!(%error, "the length of the log cannot be watched");
        }
        conn
    }
}
