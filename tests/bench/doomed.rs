//! Workers that die at their start, each leaving a line.

use crate::sample::micros;
use crate::stand_in;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The file that says that workers die.
pub const ORDER: &str = "die";

/// Programs of which the worker can be told to die.
pub struct Doomed {
    dir: PathBuf,
    launcher: PathBuf,
}

impl Doomed {
    /// Copies the programs to `dir`.
    ///
    /// # Errors
    /// A program is missing or cannot be copied.
    pub fn new(dir: &Path) -> anyhow::Result<Self> {
        Ok(Self { dir: dir.to_owned(), launcher: stand_in::install(dir)? })
    }

    /// The launcher among them.
    pub fn launcher(&self) -> PathBuf {
        self.launcher.clone()
    }

    /// From now on every worker dies at its start, or none.
    pub fn die(&self, die: bool) -> std::io::Result<()> {
        let order = self.dir.join(ORDER);
        if die { std::fs::write(order, b"") } else { std::fs::remove_file(order) }
    }

    /// When workers died, microseconds.
    pub fn deaths(&self) -> Vec<u64> {
        let text = std::fs::read_to_string(self.dir.join("deaths")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }
}

/// Dies as the worker `own`.
pub fn die(own: &Path) -> ExitCode {
    let log = std::fs::OpenOptions::new().create(true).append(true).open(own.with_file_name("deaths"));
    let _ = log.and_then(|mut log| log.write_all(format!("{}\n", micros()).as_bytes()));
    ExitCode::FAILURE
}
