//! Why a path leads nowhere, and what a model is told of it.

use crate::outcome::{Code, Outcome};
use serde_json::json;
use std::io;

/// Why a path leads nowhere.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// There is nothing of that name.
    #[error("{0} does not exist")]
    NotFound(String),
    /// It leads out of every folder that may be used.
    #[error("{0} leads out of the folder")]
    Outside(String),
    /// It is, or lies in, a fenced place.
    #[error("{0} is fenced off")]
    Fenced(String),
    /// It may be read, not changed.
    #[error("{0} may be read, not changed")]
    ReadOnly(String),
    /// It belongs to version control, which changes its own files.
    #[error("{0} is one of version control's own files, which are not changed by tools on files")]
    VersionControl(String),
    /// It is guarded.
    #[error("{path} is part of the source of Ouroboros itself, which this task may not change there")]
    Guarded {
        /// The path.
        path: String,
        /// How that is refused.
        code: Code,
    },
    /// A symbolic link that is not followed: one that leads in a circle, or any where the kernel cannot follow them safely.
    #[error("{0} goes through a symbolic link that cannot be followed")]
    Link(String),
    /// A part of it is no directory.
    #[error("{0} is not a directory")]
    NotADirectory(String),
    /// It is a directory.
    #[error("{0} is a directory")]
    IsADirectory(String),
    /// It is a pipe, a socket or a device.
    #[error("{path} is {kind}, not a regular file")]
    Special {
        /// The path.
        path: String,
        /// What it is.
        kind: &'static str,
    },
    /// It is not a path.
    #[error("{path:?} is not a path: {why}")]
    Bad {
        /// What was given.
        path: String,
        /// Why not.
        why: &'static str,
    },
    /// Names on the way changed again and again.
    #[error("{0} is being changed by something else")]
    Busy(String),
    /// The system failed.
    #[error("{path} could not be opened")]
    Io {
        /// The path.
        path: String,
        /// How.
        source: io::Error,
    },
}

impl PathError {
    pub(crate) fn io(path: &str, source: impl Into<io::Error>) -> Self {
        Self::Io { path: path.to_owned(), source: source.into() }
    }

    /// Its code.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::NotFound(_) => Code::NotFound,
            Self::Outside(_) => Code::Outside,
            Self::Fenced(_) => Code::Fenced,
            Self::ReadOnly(_) | Self::VersionControl(_) => Code::ReadOnly,
            Self::Guarded { code, .. } => *code,
            Self::Link(_) => Code::LinkRefused,
            Self::NotADirectory(_) => Code::NotADirectory,
            Self::IsADirectory(_) => Code::IsADirectory,
            Self::Special { .. } => Code::NotARegularFile,
            Self::Bad { .. } => Code::BadPath,
            Self::Busy(_) => Code::ChangedMeanwhile,
            Self::Io { .. } => Code::Io,
        }
    }

    fn remedy(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "List its directory with list_files to see what is there.",
            Self::Outside(_) => "Use a path inside the folder, without links that are absolute or lead out of it.",
            Self::Fenced(_) => "It cannot be read, listed, searched or changed. Go on without it.",
            Self::ReadOnly(_) => "Only files in the main folder can be changed. Write a copy there.",
            Self::VersionControl(_) => "Nothing was changed. It may be read.",
            Self::Guarded { .. } => {
                "Nothing was changed. It may be read. Go on without it, and say in the end what you would change."
            }
            Self::Link(_) => "Use the path that the link stands for.",
            Self::NotADirectory(_) => "Use read_file for a file.",
            Self::IsADirectory(_) => "Use list_files for a directory.",
            Self::Special { .. } => "Only regular files can be used.",
            Self::Bad { .. } => "Use a relative path such as src/main.rs.",
            Self::Busy(_) => "Try again.",
            Self::Io { .. } => "",
        }
    }
}

impl From<PathError> for Outcome {
    fn from(error: PathError) -> Self {
        match &error {
            PathError::Io { path, source } => Self::io(&format!("{path} could not be opened"), source),
            PathError::NotFound(path)
            | PathError::Outside(path)
            | PathError::Fenced(path)
            | PathError::ReadOnly(path)
            | PathError::VersionControl(path)
            | PathError::Guarded { path, .. }
            | PathError::Link(path)
            | PathError::NotADirectory(path)
            | PathError::IsADirectory(path)
            | PathError::Special { path, .. }
            | PathError::Bad { path, .. }
            | PathError::Busy(path) => {
                let facts = json!({ "path": path });
                Self::not_ok(error.code(), format!("{error}. {}", error.remedy())).with(facts)
            }
        }
    }
}
