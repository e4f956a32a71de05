//! What to start.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

/// The program file.
#[derive(Debug, Clone)]
pub enum Program {
    /// At this path, relative to the child's working directory; no search.
    Path(PathBuf),
    /// An open executable, run as `/proc/self/fd/N`: the file that was opened, whatever has replaced it at its path since. It
    /// must be a binary; an interpreter could not open it again.
    Fd(Arc<OwnedFd>),
}

/// A standard stream of the child.
#[derive(Debug)]
pub enum Stdio {
    /// `/dev/null`.
    Null,
    /// This descriptor; it is closed here once the child has it.
    Fd(OwnedFd),
    /// Ours.
    Inherit,
}

/// What the child leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lead {
    /// A process group of its own.
    Group,
    /// A session of its own, and with it a group.
    Session,
    /// A session whose controlling terminal is the child's standard input.
    Terminal,
}

/// One process to start.
#[derive(Debug)]
pub struct Command {
    /// The program file.
    pub program: Program,
    /// `argv[0]`; the program's path when `None`.
    pub arg0: Option<OsString>,
    /// The arguments after `argv[0]`.
    pub args: Vec<OsString>,
    /// The environment, exactly.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory; ours when `None`.
    pub cwd: Option<PathBuf>,
    /// Descriptor 0.
    pub stdin: Stdio,
    /// Descriptor 1.
    pub stdout: Stdio,
    /// Descriptor 2.
    pub stderr: Stdio,
    /// Further descriptors and the numbers the child has them under. Everything else is closed.
    pub inherit: Vec<(OwnedFd, i32)>,
    /// Its own PID and mount namespace with a fresh `/proc` (and a user namespace that keeps the user's id, unless we may do
    /// without). It is the init of that namespace and dies by SIGKILL when we do.
    pub namespaces: bool,
    /// Its file mode mask; ours when `None`.
    pub umask: Option<u32>,
    /// Whether it leads a group, a session or a terminal's session.
    pub lead: Lead,
}

impl Command {
    /// A command with an empty environment, `/dev/null` for all three streams, and nothing else inherited.
    #[must_use]
    pub fn new(program: Program) -> Self {
        Self {
            program,
            arg0: None,
            args: Vec::new(),
            env: Vec::new(),
            cwd: None,
            stdin: Stdio::Null,
            stdout: Stdio::Null,
            stderr: Stdio::Null,
            inherit: Vec::new(),
            namespaces: false,
            umask: None,
            lead: Lead::Group,
        }
    }
}
