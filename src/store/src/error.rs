//! What can go wrong, by operation.

use ouroboros_proto::kind::ExitCode;
use std::io;
use std::path::PathBuf;

/// The data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The path is taken by something that is not a directory.
    #[error("{path} is not a directory")]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// It belongs to somebody else.
    #[error("{path} belongs to user {uid}, not to you")]
    Foreign {
        /// What belongs to them.
        path: PathBuf,
        /// Their number.
        uid: u32,
    },
    /// Permissions forbid writing.
    #[error("{path} may not be written by you")]
    Denied {
        /// What may not be written.
        path: PathBuf,
    },
    /// The file system is mounted read-only.
    #[error("{path} is on a read-only file system")]
    ReadOnly {
        /// What cannot be written.
        path: PathBuf,
    },
    /// No room is left.
    #[error("the disk that holds {path} is full")]
    Full {
        /// What could not be written.
        path: PathBuf,
    },
    /// A newer version wrote it.
    #[error("{path} was written by a newer version (format {found}; this version reads up to {known})")]
    Newer {
        /// The database.
        path: PathBuf,
        /// The format found.
        found: i64,
        /// The newest format known here.
        known: i64,
    },
    /// The file system has no file locks or no shared memory.
    #[error("the file system of {path} does not support the file locks that a database needs")]
    NoLocks {
        /// The database.
        path: PathBuf,
    },
    /// The database is damaged.
    #[error("the database {path} is damaged: {detail}")]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// The file is a database of another program.
    #[error("{path} is not a database of this program")]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// Another program holds the database.
    #[error("the database {path} is in use by another program")]
    Busy {
        /// The database.
        path: PathBuf,
    },
    /// Reading or writing failed.
    #[error("{path}: {source}")]
    Io {
        /// What was read or written.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// SQLite failed in another way.
    #[error("the database {path} failed: {source}")]
    Sql {
        /// The database.
        path: PathBuf,
        /// What it said.
        source: rusqlite::Error,
    },
}

impl OpenError {
    /// What the owner can do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NotADirectory { .. } => "Move it away, or name another data directory with OUROBOROS_HOME.",
            Self::Foreign { .. } => "Run as its owner, or name another data directory with OUROBOROS_HOME.",
            Self::Denied { .. } => {
                "Make it writable for you (chmod u+rwX), or name another data directory with OUROBOROS_HOME."
            }
            Self::ReadOnly { .. } => "Mount it writable, or name another data directory with OUROBOROS_HOME.",
            Self::Full { .. } => "Free some space on it, then start again. Nothing that was accepted is lost.",
            Self::Newer { .. } => "Start the newer version, or restore a copy that this version made (see `backups`).",
            Self::NoLocks { .. } => "Put the data directory on a local file system; name it with OUROBOROS_HOME.",
            Self::Corrupt { .. } => {
                "Restore a backup with `ouroboros restore FILE`; the damaged database is kept beside it."
            }
            Self::NotOurs { .. } => "Move that file away, or name another data directory with OUROBOROS_HOME.",
            Self::Busy { .. } => "Close the program that has it open, then start again.",
            Self::Io { .. } | Self::Sql { .. } => "Check the disk (the kernel's log says more), then start again.",
        }
    }

    /// The exit code of a server that cannot open its data directory.
    #[must_use]
    pub const fn exit_code(&self) -> ExitCode {
        match self {
            Self::NotADirectory { .. } => ExitCode::CantCreate,
            Self::Foreign { .. } | Self::Denied { .. } | Self::ReadOnly { .. } => ExitCode::NoPermission,
            Self::Newer { .. } | Self::Corrupt { .. } | Self::NotOurs { .. } => ExitCode::Data,
            Self::NoLocks { .. } | Self::Busy { .. } => ExitCode::Unavailable,
            Self::Full { .. } | Self::Io { .. } | Self::Sql { .. } => ExitCode::Io,
        }
    }

    /// The variant for an I/O error at `path`.
    pub(crate) fn from_io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::NotADirectory => Self::NotADirectory { path },
            io::ErrorKind::PermissionDenied => Self::Denied { path },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path },
            _ => Self::Io { path, source },
        }
    }

    /// The variant for an error of SQLite about the database at `path`.
    pub(crate) fn from_sql(path: impl Into<PathBuf>, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        use rusqlite::ffi;
        let path = path.into();
        let (code, extended) = codes(&source);
        match (code, extended) {
            (
                _,
                Some(
                    ffi::SQLITE_IOERR_LOCK
                    | ffi::SQLITE_IOERR_RDLOCK
                    | ffi::SQLITE_IOERR_UNLOCK
                    | ffi::SQLITE_IOERR_SHMOPEN
                    | ffi::SQLITE_IOERR_SHMMAP
                    | ffi::SQLITE_IOERR_SHMLOCK,
                ),
            )
            | (Some(ErrorCode::FileLockingProtocolFailed), _) => Self::NoLocks { path },
            (Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase), _) => {
                Self::Corrupt { path, detail: source.to_string() }
            }
            (Some(ErrorCode::DiskFull), _) => Self::Full { path },
            (Some(ErrorCode::ReadOnly), _) => Self::ReadOnly { path },
            (Some(ErrorCode::PermissionDenied), _) => Self::Denied { path },
            (Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked), _) => Self::Busy { path },
            _ => Self::Sql { path, source },
        }
    }
}

/// Primary and extended result code, when SQLite gave one.
pub fn codes(error: &rusqlite::Error) -> (Option<rusqlite::ErrorCode>, Option<i32>) {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => (Some(failure.code), Some(failure.extended_code)),
        rusqlite::Error::SqlInputError { error: failure, .. } => (Some(failure.code), Some(failure.extended_code)),
        _ => (None, None),
    }
}

/// A commit failed. Whether its changes are stored is not known until the store was opened again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("commit failed ({kind}): {detail}")]
pub struct CommitError {
    /// In which way.
    pub kind: CommitErrorKind,
    /// The decision whose change was refused, when one can be named.
    pub decision: Option<u64>,
    /// What SQLite or the operating system said.
    pub detail: String,
}

/// In which way a commit failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CommitErrorKind {
    /// No room is left.
    #[error("disk full")]
    DiskFull,
    /// Reading or writing failed.
    #[error("input or output error")]
    Io,
    /// A change contradicts what is stored: a fault of the decision, not of the disk.
    #[error("constraint of {statement}")]
    Constraint {
        /// What was being written.
        statement: &'static str,
    },
    /// The database is damaged.
    #[error("damaged")]
    Corrupt,
    /// Another program holds the database.
    #[error("busy")]
    Busy,
    /// Something else.
    #[error("other")]
    Other,
}

impl CommitError {
    /// The error for what SQLite said while `statement` ran.
    pub(crate) fn from_sql(statement: &'static str, error: &rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        let kind = match codes(error).0 {
            Some(ErrorCode::DiskFull) => CommitErrorKind::DiskFull,
            Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch) => CommitErrorKind::Constraint { statement },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => CommitErrorKind::Corrupt,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => CommitErrorKind::Busy,
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::ReadOnly) => CommitErrorKind::Io,
            _ => CommitErrorKind::Other,
        };
        Self { kind, decision: None, detail: format!("{statement}: {error}") }
    }

    /// The error for a change that contradicts what is stored.
    pub(crate) fn contradiction(statement: &'static str, detail: impl Into<String>) -> Self {
        Self { kind: CommitErrorKind::Constraint { statement }, decision: None, detail: detail.into() }
    }
}

/// A read failed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// All connections were in use for too long, or the store is being opened again.
    #[error("the store is busy")]
    Busy,
    /// The read took over a second and was ended.
    #[error("the read took too long and was ended")]
    TooLong,
    /// A stored row cannot be understood.
    #[error("a stored row of {table} cannot be read: {why}")]
    Unreadable {
        /// Its table.
        table: &'static str,
        /// Why.
        why: String,
    },
    /// The bytes in a content file are not those that were stored.
    #[error("the content file {path} is damaged")]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// A file could not be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// SQLite failed.
    #[error("the database failed: {0}")]
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for ReadError {
    fn from(error: rusqlite::Error) -> Self {
        match codes(&error).0 {
            Some(rusqlite::ErrorCode::OperationInterrupted) => Self::TooLong,
            Some(rusqlite::ErrorCode::DatabaseBusy) => Self::Busy,
            _ => Self::Sql(error),
        }
    }
}
