//! The one thread that writes.
//!
//! Invariants: batches are committed in the order they were sent, and reported in that order; all changes of a batch are in
//! one transaction; whatever waits when a commit begins goes into it (at most [`limits::DECISIONS_PER_COMMIT`] batches).
//! After a commit that failed nothing more is written, and everything sent is dropped, until [`WriterHandle::reopen`] has
//! succeeded: what is stored is not known before. Housekeeping runs between commits, in slices of a few milliseconds.

mod backup;
mod group;
mod sweep;
mod thread;

pub use sweep::{Job, Swept};

use crate::backup::BackupError;
use crate::checkpoint::Checkpointer;
use crate::error::{CommitError, OpenError};
use crate::load::LoadedRows;
use crate::open::Store;
use crate::shared::{Shared, lock};
use crate::space::Space;
use crossbeam_channel::{Receiver, Sender, bounded};
use ouroboros_domain::change::Change;
use ouroboros_proto::limits;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// The changes of one decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The decision's number. Grows from batch to batch.
    pub decision: u64,
    /// Its changes; none for a decision that only has to wait for the ones before it.
    pub changes: Vec<Change>,
    /// Whether the commit must reach the disk before it is reported. Otherwise it survives the death of this process only,
    /// and reaches the disk with the next one that must.
    pub sync: bool,
}

/// Hears what came of commits, on the writer's thread. Must not wait for anything.
pub trait Sink {
    /// Every decision up to this one is committed.
    fn committed(&mut self, up_to: u64);
    /// This decision, and every later one, is in doubt: nothing more is written until the store was opened again. Told once.
    fn failed(&mut self, from: u64, error: CommitError);
}

/// What the thread is asked to do.
enum Command {
    Batch(Batch),
    Sweep(Job, Sender<Result<Swept, CommitError>>),
    Backup(PathBuf, Sender<Result<(), BackupError>>),
    Reopen(Sender<Result<LoadedRows, OpenError>>),
    Stop,
}

/// Starts the writer.
pub struct Writer;

impl Writer {
    /// Starts the thread that writes to `store`, and the one that checkpoints.
    ///
    /// # Errors
    /// No thread is to be had.
    pub fn start(store: Store, sink: Box<dyn Sink + Send>) -> io::Result<WriterHandle> {
        let Store { conn, shared } = store;
        let (commands, inbox) = bounded(usize::try_from(limits::UNDURABLE_DECISIONS.max).unwrap_or(1_024));
        let checkpointer = Checkpointer::start(Arc::clone(&shared))?;
        let state = thread::Thread::new(Arc::clone(&shared), inbox, sink, checkpointer);
        let thread = std::thread::Builder::new().name("writer".to_owned()).spawn(move || state.run(conn))?;
        Ok(WriterHandle { commands, shared, thread: Arc::new(Mutex::new(Some(thread))) })
    }
}

/// The writer is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the writer has stopped")]
pub struct Gone;

/// A clonable way to reach the writer. The thread ends when [`Self::close`] is called or the last handle is dropped.
#[derive(Clone)]
pub struct WriterHandle {
    commands: Sender<Command>,
    shared: Arc<Shared>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl WriterHandle {
    /// Hands over a decision's changes. Waits only when [`limits::UNDURABLE_DECISIONS`] commands are waiting already.
    ///
    /// # Errors
    /// The writer has stopped; nothing of the batch is written.
    pub fn send(&self, batch: Batch) -> Result<(), Gone> {
        self.commands.send(Command::Batch(batch)).map_err(|_| Gone)
    }

    /// Starts a piece of housekeeping; its result arrives on the returned channel, which closes when the writer stops first.
    #[must_use]
    pub fn maintenance(&self, job: Job) -> Receiver<Result<Swept, CommitError>> {
        let (done, result) = bounded(1);
        let _ = self.commands.send(Command::Sweep(job, done));
        result
    }

    /// Starts writing a copy of the database to `path`, which must not exist; commits go on meanwhile. When the result is
    /// good, the copy is durable.
    #[must_use]
    pub fn backup(&self, path: impl Into<PathBuf>) -> Receiver<Result<(), BackupError>> {
        let (done, result) = bounded(1);
        let _ = self.commands.send(Command::Backup(path.into(), done));
        result
    }

    /// Closes every connection, opens one, makes whatever the log holds durable, and loads it: after this it is known what
    /// was committed. Batches sent before this call that were not reported as committed are either in what is loaded or
    /// gone for good; those sent after it are written again. May be repeated when it fails. Waits for the writer.
    ///
    /// # Errors
    /// Why the store cannot be opened; the writer still refuses everything.
    pub fn reopen(&self) -> Result<LoadedRows, OpenError> {
        let (done, result) = bounded(1);
        let gone = || OpenError::Io { path: self.shared.layout.database(), source: io::Error::other(Gone) };
        self.commands.send(Command::Reopen(done)).map_err(|_| gone())?;
        result.recv().map_err(|_| gone())?
    }

    /// Room on the disk.
    ///
    /// # Errors
    /// The file system does not say.
    pub fn space(&self) -> io::Result<Space> {
        self.shared.reserve.space()
    }

    /// Makes the reserve again when it was given up and there is room. Tells whether it is there.
    #[must_use]
    pub fn ensure_reserve(&self) -> bool {
        self.shared.reserve.ensure()
    }

    /// Ends the writer after everything sent so far, and waits until its connections are closed.
    pub fn close(&self) {
        let _ = self.commands.send(Command::Stop);
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}
