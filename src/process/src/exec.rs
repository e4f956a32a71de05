//! What a process does to itself before it becomes another program, and becoming it. For the exec mode of the worker binary: the
//! spawning side never runs code in a forked copy of itself.

use crate::spawn::{SpawnError, Step};
use nix::sys::signal::{SigSet, SigmaskHow};
use rustix::process::{Pid, Resource, Rlimit, Signal};
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Whether the expected parent was still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parent {
    /// It is, and its end will be ours.
    Alive,
    /// It ended before the signal was asked for, which therefore never comes.
    Gone,
}

/// Asks for SIGKILL when the thread that started us ends. `expected` is the parent's number as `getppid` shows it; 0 in the init of
/// a PID namespace. Set-uid programs lose the signal at `execve`.
///
/// # Errors
/// When the kernel refuses.
pub fn set_parent_death_kill(expected: i32) -> io::Result<Parent> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let parent = rustix::process::getppid().map_or(0, |parent| parent.as_raw_nonzero().get());
    Ok(if parent == expected { Parent::Alive } else { Parent::Gone })
}

/// Leads a session of its own; no change if it leads one already.
///
/// # Errors
/// When it leads a group without a session, which `Lead::Session` at the start avoids.
pub fn lead_session() -> io::Result<()> {
    let own = rustix::process::getpid();
    if rustix::process::getsid(None::<Pid>)? != own {
        rustix::process::setsid()?;
    }
    Ok(())
}

/// No core dumps, for us and everything started by us.
///
/// # Errors
/// When the kernel refuses.
pub fn no_core_dumps() -> io::Result<()> {
    limit(Resource::Core, 0)
}

/// Lowers a resource limit for us and everything started by us; both the soft and the hard one, so it cannot be raised again. A
/// limit that is lower already stays.
///
/// # Errors
/// When the kernel refuses.
pub fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let now = rustix::process::getrlimit(resource);
    let lower = |value: Option<u64>| Some(value.map_or(most, |value| value.min(most)));
    rustix::process::setrlimit(resource, Rlimit { current: lower(now.current), maximum: lower(now.maximum) })?;
    Ok(())
}

/// How readily the kernel picks us when memory runs out, -1000 to 1000; inherited. Lowering it below an inherited value needs a
/// privilege.
///
/// # Errors
/// When the kernel refuses.
pub fn oom_score_adj(value: i16) -> io::Result<()> {
    std::fs::write("/proc/self/oom_score_adj", value.to_string())
}

/// Nothing started from here gains privileges by `execve`: set-uid bits and file capabilities do nothing. For the calling thread and
/// what it starts.
///
/// # Errors
/// When the kernel refuses.
pub fn no_new_privs() -> io::Result<()> {
    Ok(rustix::thread::set_no_new_privs(true)?)
}

/// The file a program's name means: the name itself when it holds a slash, else the first executable file of that name in the
/// directories of `path` (a `PATH` variable; an empty entry is the working directory).
///
/// # Errors
/// `NotFound`, or `NotExecutable` when the only files of that name may not be executed.
pub fn resolve(name: &OsStr, path: &OsStr) -> Result<PathBuf, SpawnError> {
    if name.is_empty() {
        return Err(SpawnError::NotFound);
    }
    if name.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(name));
    }
    let mut failure = SpawnError::NotFound;
    for dir in path.as_bytes().split(|byte| *byte == b':') {
        let dir = if dir.is_empty() { Path::new(".") } else { Path::new(OsStr::from_bytes(dir)) };
        let file = dir.join(name);
        if !file.is_file() {
            continue;
        }
        match rustix::fs::access(&file, rustix::fs::Access::EXEC_OK) {
            Ok(()) => return Ok(file),
            Err(error) => failure = SpawnError::NotExecutable { errno: error.raw_os_error() },
        }
    }
    Err(failure)
}

/// Becomes another program, with an empty signal mask and the default action for every signal the Rust runtime ignores. Returns only
/// when that failed. `args` holds `argv[0]` too. Call it from the only thread, or from one nobody misses.
#[must_use]
pub fn replace(program: &Path, args: &[OsString], env: &[(OsString, OsString)]) -> SpawnError {
    let text = |text: &OsStr| {
        CString::new(text.as_bytes()).map_err(|_| SpawnError::Invalid("a path or argument holds a NUL byte"))
    };
    let ready = || -> Result<(CString, Vec<CString>, Vec<CString>), SpawnError> {
        let args = args.iter().map(|arg| text(arg)).collect::<Result<_, _>>()?;
        Ok((text(program.as_os_str())?, args, crate::spawn::environment(env)?))
    };
    let (program, args, env) = match ready() {
        Ok(ready) => ready,
        Err(error) => return error,
    };
    if let Err(errno) = default_signals() {
        return SpawnError::at(Step::Execute, errno as i32, false);
    }
    match nix::unistd::execve(&program, &args, &env) {
        Ok(never) => match never {},
        Err(errno) => SpawnError::at(Step::Execute, errno as i32, false),
    }
}

#[allow(unsafe_code)]
fn default_signals() -> nix::Result<()> {
    use nix::sys::signal::{SigHandler, Signal, signal};
    // SAFETY: the default action runs no code.
    unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) }?;
    nix::sys::signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_resolve_as_a_shell_does() {
        let path = OsStr::new("/nonexistent:/usr/bin:/bin");
        assert!(resolve(OsStr::new("sh"), path).unwrap().ends_with("sh"));
        assert_eq!(resolve(OsStr::new("./x"), path).unwrap(), PathBuf::from("./x"));
        assert_eq!(resolve(OsStr::new("no-such-program-here"), path), Err(SpawnError::NotFound));
        assert_eq!(resolve(OsStr::new(""), path), Err(SpawnError::NotFound));
    }

    #[test]
    fn a_file_without_the_bit_is_found_but_not_executable() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("plain"), b"").unwrap();
        let found = resolve(OsStr::new("plain"), dir.path().as_os_str());
        assert!(matches!(found, Err(SpawnError::NotExecutable { .. })), "{found:?}");
    }
}
