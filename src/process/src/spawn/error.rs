//! Why a process did not start.

use std::fmt;
use std::io;

/// The step of a start that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Opening or moving descriptors.
    Descriptors,
    /// Creating the process.
    Clone,
    /// Becoming leader of a group or session.
    Lead,
    /// Mapping the user into the user namespace.
    UserMap,
    /// Asking for the parent-death signal, or the parent was gone already.
    DeathSignal,
    /// Making mounts private and mounting `/proc`.
    Mounts,
    /// Taking the terminal.
    Terminal,
    /// Entering the working directory.
    Directory,
    /// Executing the program.
    Execute,
    /// Reading the identity of the started process.
    Identity,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Descriptors => "preparing descriptors",
            Self::Clone => "creating the process",
            Self::Lead => "leading a group",
            Self::UserMap => "mapping the user",
            Self::DeathSignal => "asking for the parent-death signal",
            Self::Mounts => "mounting /proc",
            Self::Terminal => "taking the terminal",
            Self::Directory => "entering the working directory",
            Self::Execute => "executing the program",
            Self::Identity => "reading the identity of the process",
        })
    }
}

/// A process did not start. Nothing of it is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SpawnError {
    /// There is no program file, or its interpreter is missing.
    #[error("the program was not found")]
    NotFound,
    /// The program is there but cannot be executed, also because its arguments and environment are too large (`E2BIG`).
    #[error("the program cannot be executed ({})", io::Error::from_raw_os_error(*errno))]
    NotExecutable {
        /// `errno` of `execve`.
        errno: i32,
    },
    /// The working directory cannot be entered.
    #[error("the working directory cannot be entered ({})", io::Error::from_raw_os_error(*errno))]
    BadDirectory {
        /// `errno` of `chdir`.
        errno: i32,
    },
    /// A limit of the machine or the user is reached: processes, memory or descriptors. Later it may work.
    #[error("a limit was reached while {step} ({})", io::Error::from_raw_os_error(*errno))]
    Limit {
        /// Where.
        step: Step,
        /// The errno.
        errno: i32,
    },
    /// The machine does not allow the namespaces that were asked for.
    #[error("namespaces are not to be had: failed while {step} ({})", io::Error::from_raw_os_error(*errno))]
    Namespace {
        /// Where.
        step: Step,
        /// The errno.
        errno: i32,
    },
    /// A path, argument or variable holds a NUL byte, a variable's name is empty or holds `=`, or a descriptor number is invalid
    /// or given twice.
    #[error("not a valid command: {0}")]
    Invalid(&'static str),
    /// Something else.
    #[error("failed while {step} ({})", io::Error::from_raw_os_error(*errno))]
    Other {
        /// Where.
        step: Step,
        /// The errno.
        errno: i32,
    },
}

impl SpawnError {
    /// Sorts a failure by step and errno.
    pub(crate) fn at(step: Step, errno: i32, namespaces: bool) -> Self {
        match (step, errno) {
            (Step::Execute, libc::ENOENT | libc::ENOTDIR) => Self::NotFound,
            (_, libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE) => Self::Limit { step, errno },
            (Step::Execute, _) => Self::NotExecutable { errno },
            (Step::Directory, _) => Self::BadDirectory { errno },
            (Step::UserMap | Step::Mounts, _) => Self::Namespace { step, errno },
            (Step::Clone, _) if namespaces => Self::Namespace { step, errno },
            (Step::Descriptors | Step::Clone | Step::Lead | Step::DeathSignal | Step::Terminal | Step::Identity, _) => {
                Self::Other { step, errno }
            }
        }
    }

    /// As [`SpawnError::at`], for a failure outside the child.
    pub(crate) fn from_io(step: Step, error: &io::Error) -> Self {
        Self::at(step, error.raw_os_error().unwrap_or(libc::EIO), false)
    }
}
