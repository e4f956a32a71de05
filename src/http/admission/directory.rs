//! Whether a path is a directory, told without waiting for a disk where the kernel already knows.

use super::Stop;
use super::check::refuse;
use ouroboros_proto::api::Code;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use std::path::Path;

/// Checks that `cwd` is a directory.
///
/// # Errors
/// It is none, or only a thread that may wait can tell.
pub fn check(cwd: &str, may_block: bool) -> Result<(), Stop> {
    if known(cwd) {
        return Ok(());
    }
    if !may_block {
        return Err(Stop::WouldBlock);
    }
    let wrong = match std::fs::metadata(Path::new(cwd)) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => "it is not a directory".to_owned(),
        Err(error) => error.to_string(),
    };
    let text = format!("The working directory {cwd:?} cannot be used: {wrong}");
    Err(refuse(Code::BadDirectory, "command.cwd", &text).into())
}

/// Whether the kernel finds the directory in its cache. It does not wait for a disk or a network then (openat2(2),
/// `RESOLVE_CACHED`, Linux 5.12; an older kernel refuses, which says nothing).
fn known(cwd: &str) -> bool {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat2(CWD, cwd, flags, Mode::empty(), ResolveFlags::CACHED).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_does_not_know_needs_a_thread_that_may_wait() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing").display().to_string();
        assert!(matches!(check(&missing, false), Err(Stop::WouldBlock)));
        assert!(matches!(check(&missing, true), Err(Stop::Refused(error)) if error.code == Code::BadDirectory));
        let there = directory.path().display().to_string();
        assert!(check(&there, true).is_ok());
        assert!(matches!(check(&there, false), Ok(()) | Err(Stop::WouldBlock)));
    }
}
