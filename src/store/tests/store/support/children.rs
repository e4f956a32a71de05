//! Child processes: this test binary again, told to run one of the workloads in `child`.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A workload for a child.
pub struct Child {
    command: Command,
}

#[allow(
    clippy::disallowed_methods,
    reason = "the process crate is above what is tested here; each child is waited for"
)]
impl Child {
    /// Decisions of the script from the state in `dir` on, up to `last`.
    pub fn new(dir: &Path, last: u64) -> Self {
        Self::build(Command::new(std::env::current_exe().unwrap()), dir, last)
    }

    /// The same, started by `shell`, a script that ends in `exec "$@"`.
    pub fn under(shell: &str, dir: &Path, last: u64) -> Self {
        let mut command = Command::new("sh");
        command.arg("-c").arg(shell).arg("sh").arg(std::env::current_exe().unwrap());
        Self::build(command, dir, last)
    }

    fn build(mut command: Command, dir: &Path, last: u64) -> Self {
        command
            .args(["--exact", "child::workload", "--ignored", "--nocapture", "--test-threads=1"])
            .env("STORE_TEST_DIR", dir)
            .env("STORE_TEST_LAST", last.to_string())
            .env_remove("OUROBOROS_TEST_FAILPOINT")
            .stdin(Stdio::null());
        Self { command }
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn run(mut self) -> Report {
        Report::read(&self.command.output().unwrap())
    }
}

/// What a child told before it ended.
#[derive(Debug)]
pub struct Report {
    /// Whether it came to its end.
    pub ended: bool,
    /// The last decision that it heard was committed.
    pub acknowledged: u64,
    /// Commits that failed.
    pub failures: u64,
    /// All it said.
    pub text: String,
}

impl Report {
    fn read(output: &Output) -> Self {
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let said =
            |word: &str| text.lines().filter_map(|line| line.strip_prefix(word)?.trim().parse::<u64>().ok()).max();
        Self {
            ended: output.status.success() && text.contains("\nended\n"),
            acknowledged: said("acknowledged ").unwrap_or(0),
            failures: said("failures ").unwrap_or(0),
            text,
        }
    }
}

/// Runs a program of the system and tells whether it succeeded.
#[allow(clippy::disallowed_methods, reason = "the process crate is above what is tested here; it is waited for")]
pub fn succeeds(program: &str, args: &[&OsStr]) -> bool {
    Command::new(program).args(args).stdin(Stdio::null()).output().is_ok_and(|output| output.status.success())
}
