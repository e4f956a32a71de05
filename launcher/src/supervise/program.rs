//! The server's program: the file beside our own.

use super::refusal::Refusal;
use ouroboros_proto::kind::ExitCode;
use rustix::fs::{Access, access};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

const NAME: &str = "ouroboros-server";

/// Where the server is. Asked once: a launcher that was replaced on disk still knows where it came from.
///
/// # Errors
/// Our own place cannot be found.
pub fn locate(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Refusal> {
    if cfg!(debug_assertions)
        && let Some(path) = variable("OUROBOROS_TEST_SERVER")
    {
        return Ok(path.into());
    }
    let own = std::env::current_exe().map_err(|error| Refusal::system("find its own program", &error))?;
    Ok(own.with_file_name(NAME))
}

/// Checks that there is something to execute. Asked before each start, since an upgrade replaces it.
///
/// # Errors
/// It is not there, is no file, or may not be executed.
pub fn verify(path: &Path) -> Result<(), Refusal> {
    let found = std::fs::metadata(path).and_then(|found| {
        if found.is_file() { Ok(access(path, Access::EXEC_OK)?) } else { Err(io::Error::other("it is not a file")) }
    });
    found.map_err(|error| missing(path, &error))
}

/// The server could not be executed.
pub fn missing(path: &Path, error: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(
        ExitCode::Unavailable,
        format!("the server {} cannot be started: {error}; stored tasks are kept", path.display()),
        "Install `ouroboros`, `ouroboros-server` and `ouroboros-worker` of one build side by side.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_executable_file_will_do() {
        let dir = tempfile::tempdir().unwrap();
        let plain = dir.path().join("plain");
        std::fs::write(&plain, "").unwrap();
        assert!(verify(&std::env::current_exe().unwrap()).is_ok());
        for path in [dir.path().to_owned(), dir.path().join("absent"), plain] {
            let refusal = verify(&path).unwrap_err();
            assert_eq!(refusal.code, ExitCode::Unavailable);
            assert!(refusal.message.contains(path.to_str().unwrap()), "{refusal:?}");
        }
    }
}
