//! The data directory and what stands beside us: made, locked, opened. Each failure says what to do about it.

use super::StartError;
use ouroboros_process::Program;
use ouroboros_process::lock::{Acquired, InstanceLock};
use ouroboros_proto::kind::{ExitCode, HoldReason};
use ouroboros_settings::{Paths, Settings};
use ouroboros_store::Opened;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::sync::Arc;
use std::time::Duration;

/// How long a successor waits for the server before it.
const PREDECESSOR_BOUND: Duration = Duration::from_secs(10);

/// Makes the directories, for their owner only.
pub(super) fn make_directories(paths: &Paths) -> Result<(), StartError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    for dir in [paths.data_dir(), paths.runtime_dir()] {
        builder.create(dir).map_err(|error| {
            StartError::new(
                match error.kind() {
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ExitCode::NoPermission,
                    _ => ExitCode::CantCreate,
                },
                format!("the directory {} cannot be made: {error}", dir.display()),
                "Make its parent writable, or choose another place with OUROBOROS_HOME.",
            )
        })?;
    }
    let runtime = paths.runtime_dir();
    let owner = fs::metadata(runtime).map_err(|error| io_error("look at its runtime directory", &error))?;
    if owner.uid() != rustix::process::geteuid().as_raw() {
        return Err(StartError::new(
            ExitCode::NoPermission,
            format!("the directory {} belongs to somebody else", runtime.display()),
            "Run as its owner, or choose another place with OUROBOROS_HOME.",
        ));
    }
    Ok(())
}

/// The lock that says who owns the data directory. Held until the process ends; a successor waits for it.
pub(super) fn take_lock(paths: &Paths) -> Result<InstanceLock, StartError> {
    let path = paths.server_lock();
    match InstanceLock::wait(&path, PREDECESSOR_BOUND) {
        Ok(Acquired::Held(lock)) => Ok(lock),
        Ok(Acquired::Busy { pid }) => {
            let holder = pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
            Err(StartError::new(
                ExitCode::Unavailable,
                format!("{holder} serves {} already", paths.data_dir().display()),
                "Use that one, stop it with `ouroboros stop`, or choose another place with OUROBOROS_HOME.",
            ))
        }
        Ok(Acquired::Unsupported) => Err(StartError::new(
            ExitCode::Unavailable,
            format!(
                "the file system of {} has no file locks, so two servers could not be told apart",
                paths.data_dir().display()
            ),
            "Keep the data directory on a local file system, with OUROBOROS_HOME.",
        )),
        Err(error) => Err(io_error(&format!("lock {}", path.display()), &error)),
    }
}

/// The worker beside our own executable, opened now: replacing the file later does not mix builds.
pub(super) fn worker_program() -> Result<Program, StartError> {
    let own = std::env::current_exe().map_err(|error| io_error("find its own executable", &error))?;
    let path = own.with_file_name("ouroboros-worker");
    let missing = |error: &io::Error| {
        StartError::new(
            ExitCode::Unavailable,
            format!("the worker {} cannot be opened: {error}", path.display()),
            "Install the three programs side by side.",
        )
    };
    let file = File::open(&path).map_err(|error| missing(&error))?;
    Ok(Program::Fd(Arc::new(OwnedFd::from(file))))
}

/// Opens the store.
pub(super) fn open_store(paths: &Paths, settings: &Settings) -> Result<Opened, StartError> {
    let mut options = ouroboros_store::Options::new(paths.data_dir());
    options.reserve_bytes = settings.disk_reserve.get();
    options.low_water_bytes = settings.disk_low_water.get();
    ouroboros_store::open(&options)
        .map_err(|error| StartError::new(error.exit_code(), error.to_string(), error.remedy()))
}

/// Why the queue is held from the start, when it is.
pub(super) fn hold_reason(paths: &Paths, copied: bool) -> Option<HoldReason> {
    if paths.panic_marker().exists() {
        Some(HoldReason::Panic)
    } else if copied {
        Some(HoldReason::Copied)
    } else {
        None
    }
}

/// A failure of the machine.
pub(super) fn io_error(what: &str, error: &io::Error) -> StartError {
    StartError::new(
        ExitCode::Io,
        format!("the server could not {what}: {error}"),
        "Nothing was changed. Look at the disk and at the limits of this user (`ulimit -a`).",
    )
}
