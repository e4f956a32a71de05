//! Starting shapes and looking for what is left of them.

use ouroboros_process::{Child, Command, Program, SpawnError, Spawner, Stdio, probe};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// Ten times what ending anything here needs, and well before a shape ends by itself.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Ten times what a shape needs to stand.
const STANDING: Duration = Duration::from_secs(60);

pub fn spawner() -> &'static Spawner {
    static SPAWNER: OnceLock<Spawner> = OnceLock::new();
    SPAWNER.get_or_init(|| Spawner::start().unwrap())
}

pub fn custodian() -> &'static str {
    env!("CARGO_BIN_EXE_custodian")
}

/// The zoo, which another package builds.
pub fn zoo() -> String {
    let named = std::env::var_os("OUROBOROS_ZOO").map(PathBuf::from);
    let beside = std::env::current_exe().unwrap().parent().and_then(Path::parent).map(|dir| dir.join("zoo"));
    let found = named.or(beside).filter(|path| path.is_file());
    let path =
        found.expect("the zoo is not built: run ./scripts/test, which builds all binaries first, or set OUROBOROS_ZOO");
    path.to_str().unwrap().to_owned()
}

/// Says that a test cannot run here; under OUROBOROS_TEST_STRICT=1 that is a failure.
pub fn skip(reason: &str) {
    eprintln!("SKIP {reason}");
    assert!(std::env::var("OUROBOROS_TEST_STRICT").as_deref() != Ok("1"), "skipped: {reason}");
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether namespaces can be had here; skips the test otherwise.
pub fn have_namespaces() -> bool {
    static FOUND: OnceLock<probe::Availability> = OnceLock::new();
    match FOUND.get_or_init(|| probe::probe(spawner(), Program::Path(custodian().into())).namespaces) {
        probe::Availability::Yes => true,
        probe::Availability::No { reason } => {
            skip(reason);
            false
        }
    }
}

/// A started program with its standard streams at hand.
pub struct Running {
    pub child: Child,
    pub stdin: Option<File>,
    stdout: File,
    seen: Vec<u8>,
}

pub fn try_start(words: &[&str], namespaces: bool) -> Result<Running, SpawnError> {
    let (stdin, ours_in) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let (ours_out, stdout) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let command = Command {
        args: words[1..].iter().map(Into::into).collect(),
        stdin: Stdio::Fd(stdin),
        stdout: Stdio::Fd(stdout),
        stderr: Stdio::Inherit,
        namespaces,
        ..Command::new(Program::Path(words[0].into()))
    };
    let child = spawner().spawn(command)?;
    Ok(Running { child, stdin: Some(ours_in.into()), stdout: ours_out.into(), seen: Vec::new() })
}

pub fn start(words: &[&str], namespaces: bool) -> Running {
    try_start(words, namespaces).unwrap()
}

impl Running {
    /// The next line, without its end; empty at the end of the output.
    pub fn line(&mut self) -> String {
        loop {
            if let Some(end) = self.seen.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.seen.drain(..=end).collect();
                return String::from_utf8(line).unwrap().trim_end().to_owned();
            }
            let mut fds = [PollFd::new(&self.stdout, PollFlags::IN)];
            let span = Timespec { tv_sec: STANDING.as_secs().try_into().unwrap(), tv_nsec: 0 };
            assert_ne!(poll(&mut fds, Some(&span)).unwrap(), 0, "no line within the deadline");
            let mut buffer = [0; 4096];
            let length = self.stdout.read(&mut buffer).unwrap();
            if length == 0 {
                return String::from_utf8(std::mem::take(&mut self.seen)).unwrap();
            }
            self.seen.extend_from_slice(&buffer[..length]);
        }
    }

    /// Gives a custodian an order and returns its report.
    pub fn order(&mut self, order: &str) -> String {
        writeln!(self.stdin.as_mut().unwrap(), "{order}").unwrap();
        let report = self.line();
        assert!(report.starts_with("report "), "{order}: {report:?}");
        report
    }

    /// Closes its standard input and waits for its end.
    pub fn finish(mut self) -> ouroboros_process::Exit {
        self.stdin = None;
        assert!(self.child.pidfd().wait_dead(DEADLINE), "it does not end");
        self.child.wait().unwrap()
    }
}

/// A shape under a marker by which everything of it is found.
pub struct Shape {
    _dir: tempfile::TempDir,
    pub words: Vec<String>,
    marker: String,
}

impl Shape {
    pub fn new(shape: &[&str]) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let marker = dir.path().join("marker").to_str().unwrap().to_owned();
        let mut words = ["--marker", &marker, "--max-seconds", "90"].map(str::to_owned).to_vec();
        words.insert(0, zoo());
        words.extend(shape.iter().map(|word| (*word).to_owned()));
        Self { _dir: dir, words, marker }
    }

    /// The sub-command of the zoo.
    pub fn name(&self) -> &str {
        &self.words[5]
    }

    /// `before` and then the shape's own words.
    pub fn after<'a>(&'a self, before: &[&'a str]) -> Vec<&'a str> {
        before.iter().copied().chain(self.words.iter().map(String::as_str)).collect()
    }

    /// The live processes of the shape, with their command lines; those of custodians do not count.
    pub fn alive(&self) -> Vec<(i32, String)> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
            // A dead main thread has no command line, but the other threads have.
            for task in std::fs::read_dir(entry.path().join("task")).into_iter().flatten().flatten() {
                let line = std::fs::read(task.path().join("cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                if line.contains(&self.marker) && !line.starts_with(custodian()) && !line.starts_with("unshare") {
                    found.push((pid, line));
                    break;
                }
            }
        }
        found
    }

    pub fn assert_gone(&self) {
        let alive = self.alive();
        assert!(alive.is_empty(), "still alive: {alive:?}");
    }
}
