//! Running the program.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A home of its own, with nothing in it.
pub struct Home(tempfile::TempDir);

impl Home {
    pub fn new() -> Self {
        Self(tempfile::Builder::new().prefix("ouroboros-cli").tempdir_in("/tmp").unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// A named pipe: who reads it waits until somebody has written to it.
    pub fn fifo(&self, name: &str) -> PathBuf {
        let path = self.file(name);
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        path
    }

    /// The program with these arguments, and no environment but this home.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ouroboros"));
        command.args(arguments).env_clear().current_dir(self.path());
        command.env("OUROBOROS_HOME", self.path()).env("HOME", self.path()).env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn spawn(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.finish(self.spawn(arguments))
    }

    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        // It may leave before it has read everything.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let ran = self.finish(child);
        writer.join().unwrap();
        ran
    }

    pub fn finish(&self, child: Child) -> Ran {
        Ran::of(child.wait_with_output().unwrap(), self)
    }
}

/// What a run gave.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    home: String,
}

impl Ran {
    fn of(output: Output, home: &Home) -> Self {
        let home = home.path().to_str().unwrap().to_owned();
        Self { code: output.status.code(), stdout: output.stdout, stderr: output.stderr, home }
    }

    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).replace(&self.home, "[HOME]")
    }

    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).replace(&self.home, "[HOME]")
    }

    /// The answer, which must be one JSON document.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// All of it, for a snapshot.
    pub fn shown(&self) -> String {
        let code = self.code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        let mut text = format!("exit code {code}\n");
        for (name, stream) in [("stdout", self.out()), ("stderr", self.err())] {
            if !stream.is_empty() {
                write!(text, "--- {name}\n{stream}").unwrap();
            }
        }
        text
    }
}

/// Skips a test that cannot run here; it fails where everything must run.
pub fn skip(reason: &str) {
    eprintln!("SKIP {reason}");
    assert_ne!(std::env::var_os("OUROBOROS_TEST_STRICT").as_deref(), Some("1".as_ref()), "{reason}");
}

/// Starts a program that was copied just now: another test's child may hold the copy open for writing until it becomes its program.
pub fn spawn_copy(command: &mut std::process::Command) -> std::process::Child {
    loop {
        match command.spawn() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            spawned => return spawned.unwrap(),
        }
    }
}
