//! What the HTTP side asks of the server beside the supervisor and the store.

use ouroboros_proto::api::{ApiError, ChangesView, DiskView, ProcessView, UndoAnswer, UndoRequest};
use ouroboros_proto::kind::{Isolation, Millis, TaskId};
use std::path::{Path, PathBuf};

/// Acts of the server as a whole. All but [`Operations::admission`] may block; they run on threads for that.
pub trait Operations: Send + Sync + 'static {
    /// What holds for work that is accepted now. Called for every submission: answers from memory, at once.
    ///
    /// # Errors
    /// Why no work is accepted: the disk is too full, storage stalls, the server is ending.
    fn admission(&self) -> Result<Admission, ApiError>;

    /// Reads the configuration again; the keys that wait for a restart.
    ///
    /// # Errors
    /// The configuration is not valid; the old one stays in force.
    fn reload(&self) -> Result<Vec<String>, ApiError>;

    /// Removes what retention says; the bytes freed.
    ///
    /// # Errors
    /// Something could not be removed.
    fn collect_garbage(&self) -> Result<u64, ApiError>;

    /// Writes a consistent copy of the store, with `output` also of what attempts wrote. It is durable when this returns.
    ///
    /// # Errors
    /// The path exists or cannot be written.
    fn backup(&self, path: &Path, output: bool) -> Result<BackedUp, ApiError>;

    /// Every process of this installation, parents before children where that is known.
    ///
    /// # Errors
    /// The process table cannot be read.
    fn processes(&self) -> Result<Vec<ProcessView>, ApiError>;

    /// Disk use.
    fn disk(&self) -> DiskView;

    /// Every setting with its value and where it came from; secrets are not in it.
    fn config(&self) -> serde_json::Value;

    /// What a task changed in its folder.
    ///
    /// # Errors
    /// The folder or what was kept of it cannot be read.
    fn changes(&self, task: TaskId, folder: &str) -> Result<ChangesView, ApiError>;

    /// Takes back what a task changed in its folder.
    ///
    /// # Errors
    /// The folder or what was kept of it cannot be read; nothing was changed.
    fn undo(&self, task: TaskId, folder: &str, asked: &UndoRequest) -> Result<UndoAnswer, ApiError>;

    /// Puts a body in the content store under the SHA-256 of its bytes. It is durable when this returns; a body that is
    /// there already is left as it is.
    ///
    /// # Errors
    /// It cannot be written.
    fn store_content(&self, hash: [u8; 32], bytes: &[u8]) -> Result<(), ApiError>;
}

/// What holds for work that is accepted now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// Where attempts run that do not say.
    pub isolation: Isolation,
    /// Time for attempts that name none; `None` is no bound.
    pub timeout: Option<Millis>,
    /// Most retries that a task may ask for.
    pub max_retries: u32,
    /// Rounds of a task in words that names no bound.
    pub max_rounds: u32,
    /// What a task in words may do without asking that does not say.
    pub mode: ouroboros_proto::agent::Mode,
}

/// What a backup came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackedUp {
    /// Bodies that tasks need and the store has lost.
    pub missing_bodies: u64,
    /// Where output lies and how many bytes of it, when it was asked for.
    pub output: Option<(PathBuf, u64)>,
}
