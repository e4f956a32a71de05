//! Whether a path is a directory, told without waiting for a disk where the kernel already knows.

use super::Stop;
use super::check::refuse;
use ouroboros_proto::api::Code;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2, readlink};
use std::os::fd::AsRawFd as _;
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
    Err(unusable("command.cwd", cwd, &wrong))
}

/// The path of the directory `folder` without links, `.`, `..` and a slash at the end.
///
/// # Errors
/// It is no directory, its path is no text, or only a thread that may wait can tell.
pub fn real(folder: &str, may_block: bool) -> Result<String, Stop> {
    if let Some(path) = known_path(folder) {
        return Ok(path);
    }
    if !may_block {
        return Err(Stop::WouldBlock);
    }
    let path = std::fs::canonicalize(folder).map_err(|error| unusable(FOLDER, folder, &error.to_string()))?;
    if !path.is_dir() {
        return Err(unusable(FOLDER, folder, "it is not a directory"));
    }
    path.into_os_string().into_string().map_err(|_| unusable(FOLDER, folder, "its real path is not UTF-8"))
}

const FOLDER: &str = "agent.folder";

fn unusable(field: &str, cwd: &str, wrong: &str) -> Stop {
    refuse(Code::BadDirectory, field, &format!("The working directory {cwd:?} cannot be used: {wrong}")).into()
}

/// What the kernel calls a directory that it finds in its cache (proc(5), `/proc/pid/fd`).
fn known_path(folder: &str) -> Option<String> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let found = openat2(CWD, folder, flags, Mode::empty(), ResolveFlags::CACHED).ok()?;
    let path = readlink(format!("/proc/self/fd/{}", found.as_raw_fd()), Vec::new()).ok()?.into_string().ok()?;
    // So are directories called that are no longer there, and perhaps others.
    (path.starts_with('/') && !path.ends_with(" (deleted)")).then_some(path)
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
    fn every_spelling_of_a_folder_is_one_path() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&inner, &link).unwrap();
        let expected = std::fs::canonicalize(&inner).unwrap().into_os_string().into_string().unwrap();
        for spelling in ["inner", "inner/", "./inner/.", "inner/../inner", "link"] {
            let path = format!("{}/{spelling}", directory.path().display());
            assert_eq!(real(&path, true).unwrap(), expected, "{spelling}");
        }
        std::fs::write(directory.path().join("file"), "").unwrap();
        for wrong in ["file", "missing"] {
            let path = directory.path().join(wrong).display().to_string();
            assert!(matches!(real(&path, true), Err(Stop::Refused(error)) if error.code == Code::BadDirectory));
        }
    }

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
