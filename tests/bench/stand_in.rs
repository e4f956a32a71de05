//! This program under the worker's name, beside the real one.
//!
//! A server opens its worker's binary once, so it cannot be replaced while it runs. What stands in for it looks at its start for a file
//! that says what to be, and becomes the real one where there is none.

use crate::{caller, doomed};
use nix::unistd::execv;
use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const WORKER: &str = "ouroboros-worker";

/// Copies the programs to `dir`, with this one in the worker's place. The launcher among them.
///
/// # Errors
/// A program is missing or cannot be copied.
pub fn install(dir: &Path) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(dir)?;
    for name in ["ouroboros", "ouroboros-server"] {
        std::fs::copy(support::program(name), dir.join(name))?;
    }
    std::fs::copy(support::program(WORKER), dir.join("real-worker"))?;
    std::fs::copy(std::env::current_exe()?, dir.join(WORKER))?;
    Ok(dir.join("ouroboros"))
}

/// Whether this process was started as a worker.
pub fn is_wanted() -> bool {
    std::env::current_exe().is_ok_and(|own| own.file_name().is_some_and(|name| name == WORKER))
}

/// Is what the files beside it say.
pub fn run() -> ExitCode {
    let Ok(own) = std::env::current_exe() else { return ExitCode::FAILURE };
    let words: Vec<OsString> = std::env::args_os().collect();
    if words.get(1).is_some_and(|mode| mode == "serve") {
        if own.with_file_name(doomed::ORDER).exists() {
            return doomed::die(&own);
        }
        let control = own.with_file_name(caller::CONTROL);
        if control.exists() {
            return caller::serve(&control);
        }
    }
    let text = |word: OsString| CString::new(word.into_vec()).unwrap_or_default();
    let words: Vec<CString> = words.into_iter().map(text).collect();
    let _ = execv(&text(own.with_file_name("real-worker").into_os_string()), &words);
    ExitCode::FAILURE
}
