//! How our own processes end. One enum for launcher, server, worker and CLI.

/// Exit codes of `ouroboros`, `ouroboros-server` and `ouroboros-worker`.
///
/// The sixties and seventies are those of `sysexits.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ExitCode {
    /// Ended as asked; nothing is left behind.
    Stopped = 0,
    /// A planned restart: start again at once with the same data directory.
    Restart = 42,
    /// The command line or a request was malformed.
    Usage = 64,
    /// Stored data cannot be read, or is from a newer version.
    Data = 65,
    /// Something needed is not there: the lock is held, the port is taken, the worker binary is missing.
    Unavailable = 69,
    /// A file or directory could not be created.
    CantCreate = 73,
    /// Reading or writing failed.
    Io = 74,
    /// The data directory belongs to somebody else, or is not writable.
    NoPermission = 77,
    /// The configuration is not valid.
    Config = 78,
    /// Emergency stop: never start again by yourself.
    Panic = 99,
    /// A worker's parent went away.
    Orphaned = 100,
    /// A worker and its server speak different protocols.
    Mismatch = 101,
}

impl ExitCode {
    /// The number given to the operating system.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The named code with this number, if there is one.
    #[must_use]
    pub const fn from_code(code: i32) -> Option<Self> {
        Some(match code {
            0 => Self::Stopped,
            42 => Self::Restart,
            64 => Self::Usage,
            65 => Self::Data,
            69 => Self::Unavailable,
            73 => Self::CantCreate,
            74 => Self::Io,
            77 => Self::NoPermission,
            78 => Self::Config,
            99 => Self::Panic,
            100 => Self::Orphaned,
            101 => Self::Mismatch,
            _ => return None,
        })
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.code())
    }
}
