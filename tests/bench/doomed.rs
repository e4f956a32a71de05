//! Workers that die: this program under the worker's name, beside a file that says so.
//!
//! A server opens its worker's binary once, so workers cannot be made to die by replacing the file. This stands in for it, becomes
//! the real one while there is no order to die, and leaves a line for each death.

use crate::sample::micros;
use nix::unistd::execv;
use std::ffi::{CString, OsString};
use std::io::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const WORKER: &str = "ouroboros-worker";

/// Programs of which the worker can be told to die.
pub struct Doomed {
    dir: PathBuf,
}

impl Doomed {
    /// Copies the programs to `dir`.
    ///
    /// # Errors
    /// A program is missing or cannot be copied.
    pub fn new(dir: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(dir)?;
        for name in ["ouroboros", "ouroboros-server"] {
            std::fs::copy(support::program(name), dir.join(name))?;
        }
        std::fs::copy(support::program(WORKER), dir.join("real-worker"))?;
        std::fs::copy(std::env::current_exe()?, dir.join(WORKER))?;
        Ok(Self { dir: dir.to_owned() })
    }

    /// The launcher among them.
    pub fn launcher(&self) -> PathBuf {
        self.dir.join("ouroboros")
    }

    /// From now on every worker dies at its start, or none.
    pub fn die(&self, die: bool) -> std::io::Result<()> {
        let order = self.dir.join("die");
        if die { std::fs::write(order, b"") } else { std::fs::remove_file(order) }
    }

    /// When workers died, microseconds.
    pub fn deaths(&self) -> Vec<u64> {
        let text = std::fs::read_to_string(self.dir.join("deaths")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }
}

/// Whether this process is to be such a worker.
pub fn is_wanted() -> bool {
    std::env::current_exe().is_ok_and(|own| own.file_name().is_some_and(|name| name == WORKER))
}

/// Dies or becomes the real worker.
pub fn run() -> ExitCode {
    let Ok(own) = std::env::current_exe() else { return ExitCode::FAILURE };
    let words: Vec<OsString> = std::env::args_os().collect();
    if words.get(1).is_some_and(|mode| mode == "serve") && own.with_file_name("die").exists() {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(own.with_file_name("deaths"));
        let _ = log.and_then(|mut log| log.write_all(format!("{}\n", micros()).as_bytes()));
        return ExitCode::FAILURE;
    }
    let text = |word: OsString| CString::new(word.into_vec()).unwrap_or_default();
    let words: Vec<CString> = words.into_iter().map(text).collect();
    let _ = execv(&text(own.with_file_name("real-worker").into_os_string()), &words);
    ExitCode::FAILURE
}
