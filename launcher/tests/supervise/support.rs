//! Starting launchers, and hearing from them.

use ouroboros_process::{Child, Command, Lead, PidFd, Program, Signal, Spawner, Status, Stdio, pty};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// Ten times what anything here needs.
pub const DEADLINE: Duration = Duration::from_secs(60);

pub const FAKE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/supervise/fake-server");

pub fn spawner() -> &'static Spawner {
    static SPAWNER: OnceLock<Spawner> = OnceLock::new();
    SPAWNER.get_or_init(|| Spawner::start().unwrap())
}

pub fn launcher() -> &'static str {
    env!("CARGO_BIN_EXE_ouroboros")
}

/// Says that a test cannot run here; under OUROBOROS_TEST_STRICT=1 that is a failure.
pub fn skip(reason: &str) {
    eprintln!("SKIP {reason}");
    assert!(std::env::var("OUROBOROS_TEST_STRICT").as_deref() != Ok("1"), "skipped: {reason}");
}

/// A data directory, and the script of its servers.
pub struct Home {
    dir: tempfile::TempDir,
    pub env: Vec<(OsString, OsString)>,
}

impl Home {
    pub fn new(script: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut home = Self { dir, env: Vec::new() };
        home.set("PATH", path);
        home.set("OUROBOROS_HOME", home.data());
        home.set("OUROBOROS_TEST_SERVER", FAKE);
        home.set("OUROBOROS_TEST_DIR", home.dir.path().to_owned());
        home.set("OUROBOROS_TEST_SCRIPT", script);
        home
    }

    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.into(), value.into()));
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// What the servers noted, a line each.
    pub fn notes(&self) -> Vec<String> {
        self.lines("notes")
    }

    pub fn lines(&self, name: &str) -> Vec<String> {
        std::fs::read_to_string(self.path(name)).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// How many servers were started.
    pub fn lives(&self) -> u32 {
        self.lines("lives").last().map_or(0, |count| count.parse().unwrap())
    }

    /// Starts `ouroboros up` here, without a terminal.
    pub fn up(&self, args: &[&str]) -> Launch {
        let words: Vec<&str> = ["up"].iter().chain(args).copied().collect();
        self.start(&words)
    }

    /// Starts `ouroboros` here, without a terminal.
    pub fn start(&self, args: &[&str]) -> Launch {
        self.command(launcher(), args, Vec::new(), None)
    }

    /// Starts a shell command here in which `$0` is the launcher.
    pub fn shell(&self, command: &str, inherit: Vec<(OwnedFd, i32)>) -> Launch {
        self.command("/bin/sh", &["-c", command, launcher()], inherit, None)
    }

    /// Starts `ouroboros up` here as the leader of a terminal's session. Its two outputs are still pipes.
    pub fn up_on(&self, terminal: OwnedFd) -> Launch {
        self.command(launcher(), &["up"], Vec::new(), Some(terminal))
    }

    fn command(&self, program: &str, args: &[&str], inherit: Vec<(OwnedFd, i32)>, terminal: Option<OwnedFd>) -> Launch {
        let (out, stdout) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let (err, stderr) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let lead = if terminal.is_some() { Lead::Terminal } else { Lead::Session };
        let child = spawner().spawn(Command {
            args: args.iter().map(Into::into).collect(),
            env: self.env.clone(),
            stdin: terminal.map_or(Stdio::Null, Stdio::Fd),
            stdout: Stdio::Fd(stdout),
            stderr: Stdio::Fd(stderr),
            inherit,
            lead,
            ..Command::new(Program::Path(program.into()))
        });
        Launch { child: child.unwrap(), out: Lines::new(out), err: Lines::new(err) }
    }
}

/// A new terminal: our end, and the launcher's.
pub fn terminal() -> (File, OwnedFd) {
    let pty = pty::open(80, 24).unwrap();
    (pty.master.into(), pty.slave)
}

/// A launcher that was started. It is killed when a test leaves it behind; its servers end with it.
pub struct Launch {
    pub child: Child,
    pub out: Lines,
    pub err: Lines,
}

impl Launch {
    pub fn pid(&self) -> i32 {
        self.child.pid()
    }

    pub fn signal(&self, signal: Signal) {
        self.child.pidfd().signal(signal).unwrap();
    }

    /// Waits until its server is ready.
    pub fn ready(&mut self) {
        self.out.until("Ouroboros runs");
    }

    /// Closes our ends of its outputs.
    pub fn stop_reading(&mut self) {
        let nothing = || Lines::new(pipe_with(PipeFlags::CLOEXEC).unwrap().0);
        (self.out, self.err) = (nothing(), nothing());
    }

    /// Waits for its end.
    pub fn end(&self) -> Status {
        assert!(self.child.pidfd().wait_dead(DEADLINE), "it does not end");
        self.child.wait().unwrap().status
    }

    /// Waits for its end with an exit code, and gives everything that it said on standard error.
    pub fn exits(mut self, code: u8) -> String {
        let status = self.end();
        let text = self.err.rest();
        assert_eq!(status, Status::Exited(code), "{text}");
        text
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        let _ = self.child.pidfd().signal(Signal::KILL);
    }
}

/// An output, a line at a time.
pub struct Lines {
    pipe: File,
    seen: Vec<u8>,
    text: String,
}

impl Lines {
    fn new(pipe: OwnedFd) -> Self {
        Self { pipe: pipe.into(), seen: Vec::new(), text: String::new() }
    }

    /// The next line, or `None` at the end.
    pub fn next(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.seen.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.seen.drain(..=end).collect();
                let line = String::from_utf8(line).unwrap();
                self.text.push_str(&line);
                return Some(line.trim_end().to_owned());
            }
            let mut fds = [PollFd::new(&self.pipe, PollFlags::IN)];
            let span = Timespec { tv_sec: DEADLINE.as_secs().try_into().unwrap(), tv_nsec: 0 };
            assert_ne!(poll(&mut fds, Some(&span)).unwrap(), 0, "no line within the deadline, after:\n{}", self.text);
            let mut buffer = [0; 4096];
            let length = self.pipe.read(&mut buffer).unwrap();
            if length == 0 {
                return None;
            }
            self.seen.extend_from_slice(&buffer[..length]);
        }
    }

    /// Reads on to a line that contains `words`.
    pub fn until(&mut self, words: &str) -> String {
        while let Some(line) = self.next() {
            if line.contains(words) {
                return line;
            }
        }
        panic!("no {words:?} in:\n{}", self.text);
    }

    /// Everything from the beginning to the end.
    pub fn rest(&mut self) -> String {
        while self.next().is_some() {}
        self.text.clone()
    }
}

/// Waits until the process with this number is gone.
pub fn wait_gone(pid: i32) {
    let Some(process) = PidFd::open(pid).unwrap() else { return };
    assert!(process.wait_dead(DEADLINE), "{pid} lives on");
}

/// Whether the process with this number lives.
pub fn lives(pid: i32) -> bool {
    PidFd::open(pid).unwrap().is_some_and(|process| !process.is_dead())
}
