//! Copies of the database, each a complete database of its own.

use crate::carried::{self, CarryError};
use crate::error::{OpenError, codes};
use crate::layout::Layout;
use crate::writer::WriterHandle;
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A copy could not be made. What was begun of it is removed.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Something is at its path already.
    #[error("{0} exists already; nothing was written")]
    Exists(PathBuf),
    /// A commit failed meanwhile, or had failed before.
    #[error("the store failed while it was copied")]
    Interrupted,
    /// The file could not be written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// SQLite failed.
    #[error("the copy failed: {0}")]
    Sql(rusqlite::Error),
    /// SQLite answered with something unknown.
    #[error("the copy failed: unexpected answer {0}")]
    Unexpected(String),
}

impl BackupError {
    /// Whether there was no room for it.
    #[must_use]
    pub fn is_full(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() == io::ErrorKind::StorageFull,
            Self::Sql(error) => codes(error).0 == Some(rusqlite::ErrorCode::DiskFull),
            Self::Exists(_) | Self::Interrupted | Self::Unexpected(_) => false,
        }
    }

    fn carrying(error: CarryError) -> Self {
        match error {
            CarryError::Io { path, source } => Self::Io { path, source },
            CarryError::Sql(error) => Self::Sql(error),
        }
    }

    /// What it means for the start of a server.
    pub(crate) fn into_open(self, path: &Path) -> OpenError {
        match self {
            Self::Io { path, source } => OpenError::from_io(path, source),
            Self::Sql(error) => OpenError::from_sql(path, error),
            other => OpenError::Io { path: path.to_owned(), source: io::Error::other(other) },
        }
    }
}

/// What a copy of the whole came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Bodies that tasks need and the store has lost: they are not in the copy either.
    pub missing_bodies: u64,
    /// Bytes of output that went along, when it was asked for.
    pub output_bytes: Option<u64>,
}

/// Copies the store at `layout` to `path`, which must not exist: every row and every body in this one file, and, when it is asked
/// for, what attempts wrote in a directory [`beside`](output_beside) it. Commits go on meanwhile. When it returns the copy is
/// durable; what it fails at is removed. Waits for the writer.
///
/// # Errors
/// Something is at one of the paths; the store cannot be read; the copy cannot be written.
pub fn take(writer: &WriterHandle, layout: &Layout, path: &Path, with_output: bool) -> Result<Taken, BackupError> {
    let beside = with_output.then(|| make_beside(path)).transpose()?;
    carried::want_bodies(layout).map_err(BackupError::carrying)?;
    writer.backup(path).recv().map_err(|_| BackupError::Interrupted)??;
    let mut draft = Draft::again(path)?;
    let missing_bodies = carried::bodies_in(draft.connection(), layout).map_err(BackupError::carrying)?;
    let carry = |dir: &Unfinished| carried::output(&draft.conn, &layout.output(), &dir.path);
    let output_bytes = beside.as_ref().map(carry).transpose().map_err(BackupError::carrying)?;
    draft.finish()?;
    if let Some(mut dir) = beside {
        dir.done = true;
    }
    Ok(Taken { missing_bodies, output_bytes })
}

/// The directory of the output that goes with the copy at `path`.
#[must_use]
pub fn output_beside(path: &Path) -> PathBuf {
    carried::beside(path)
}

/// Makes that directory, which must not exist.
fn make_beside(path: &Path) -> Result<Unfinished, BackupError> {
    let dir = carried::beside(path);
    let io = |source| BackupError::Io { path: dir.clone(), source };
    if let Some(parent) = dir.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(io)?;
    }
    match DirBuilder::new().mode(0o700).create(&dir) {
        Ok(()) => Ok(Unfinished { path: dir, done: false }),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(BackupError::Exists(dir)),
        Err(error) => Err(io(error)),
    }
}

/// A copy that is not complete. It vanishes unless it is finished.
pub struct Draft {
    conn: Connection,
    file: Unfinished,
}

/// A file or directory that is removed when it is dropped before it is done.
struct Unfinished {
    path: PathBuf,
    done: bool,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.done {
            let _ = if self.path.is_dir() { fs::remove_dir_all(&self.path) } else { fs::remove_file(&self.path) };
        }
    }
}

impl Draft {
    /// A new database at `path`, which must not exist, for its owner only. Its directory is made if needed.
    pub fn create(path: &Path) -> Result<Self, BackupError> {
        let io = |source| BackupError::Io { path: path.to_owned(), source };
        if let Some(dir) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(io)?;
        }
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(BackupError::Exists(path.to_owned()));
            }
            Err(error) => return Err(io(error)),
        }
        Self::on(Unfinished { path: path.to_owned(), done: false })
    }

    /// A copy that was finished, to put more into it.
    fn again(path: &Path) -> Result<Self, BackupError> {
        Self::on(Unfinished { path: path.to_owned(), done: false })
    }

    fn on(file: Unfinished) -> Result<Self, BackupError> {
        let conn = Connection::open(&file.path).map_err(BackupError::Sql)?;
        conn.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;").map_err(BackupError::Sql)?;
        Ok(Self { conn, file })
    }

    /// Where to copy to.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.conn
    }

    /// Makes the copy durable.
    pub fn finish(self) -> Result<(), BackupError> {
        let Self { conn, mut file } = self;
        // One plain file, which can be read where nothing can be written beside it.
        conn.execute_batch("PRAGMA journal_mode = DELETE;").map_err(BackupError::Sql)?;
        conn.close().map_err(|(_, error)| BackupError::Sql(error))?;
        let synced = File::open(&file.path).and_then(|copy| copy.sync_all()).and_then(|()| match file.path.parent() {
            Some(dir) => File::open(dir).and_then(|dir| dir.sync_all()),
            None => Ok(()),
        });
        synced.map_err(|source| BackupError::Io { path: file.path.clone(), source })?;
        file.done = true;
        Ok(())
    }
}

/// Copies the database of `conn` to `path`, which must not exist. Nobody may write to it meanwhile.
pub fn copy(conn: &Connection, path: &Path) -> Result<(), BackupError> {
    let mut draft = Draft::create(path)?;
    whole(conn, draft.connection())?;
    draft.finish()
}

/// Copies everything in `from` over everything in `to`, in one transaction.
pub fn whole(from: &Connection, to: &mut Connection) -> Result<(), BackupError> {
    let backup = Backup::new(from, to).map_err(BackupError::Sql)?;
    match backup.step(-1).map_err(BackupError::Sql)? {
        StepResult::Done => Ok(()),
        other => Err(BackupError::Unexpected(format!("{other:?}"))),
    }
}
