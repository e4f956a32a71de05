//! A server reduced to one connection, and what the scenarios share.

use ouroboros_process::{Child, Command, PidFd, Program, SpawnError, Spawner, Status, Stdio};
use ouroboros_proto::kind::{
    AttemptId, AttemptReport, Ending, Generation, Identity, InstallationId, Millis, ProcessId, Stream, TaskId,
};
use ouroboros_proto::wire::codec::{PREFIX, body_length};
use ouroboros_proto::wire::{
    CommandWork, FromWorker, Order, PROTOCOL, Report, ServerHello, Stdin, ToWorker, WorkerHello, decode, encode,
};
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::TempDir;

/// Ten times what anything here needs.
pub const DEADLINE: Duration = Duration::from_secs(30);
pub const GENERATION: Generation = Generation::new(7);

/// A directory with a listening socket in it.
pub struct Desk {
    pub dir: TempDir,
    pub listener: UnixListener,
}

/// A worker that has been welcomed.
pub struct Worker {
    pub child: Child,
    pub stream: UnixStream,
    pub attempt: AttemptId,
    pub dir: TempDir,
    pub hello: WorkerHello,
}

/// A process behind its barrier.
pub struct Begun {
    pub process: ProcessId,
    pub identity: Identity,
    pub command: String,
}

/// Everything an attempt came to.
pub struct Finished {
    pub report: AttemptReport,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub announced: Vec<(Stream, u64)>,
}

fn spawner() -> &'static Spawner {
    static SPAWNER: OnceLock<Spawner> = OnceLock::new();
    SPAWNER.get_or_init(|| Spawner::start().unwrap())
}

/// Starts the binary in this mode.
pub fn start(mode: &[&str], env: Vec<(OsString, OsString)>, namespaces: bool) -> Result<Child, SpawnError> {
    start_program(env!("CARGO_BIN_EXE_ouroboros-worker"), mode, env, namespaces)
}

pub fn start_program(
    program: &str,
    args: &[&str],
    env: Vec<(OsString, OsString)>,
    namespaces: bool,
) -> Result<Child, SpawnError> {
    let mut command = Command::new(Program::Path(program.into()));
    command.args = args.iter().map(Into::into).collect();
    command.env = env;
    command.stderr = Stdio::Inherit;
    command.namespaces = namespaces;
    spawner().spawn(command)
}

pub fn exit_code(child: &Child) -> Status {
    assert!(child.pidfd().wait_dead(DEADLINE), "the process does not end");
    child.wait().unwrap().status
}

impl Desk {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join("socket")).unwrap();
        Self { dir, listener }
    }

    pub fn environment(&self, namespaces: bool) -> Vec<(OsString, OsString)> {
        let server = if namespaces { 0 } else { std::process::id() };
        [
            ("OUROBOROS_WORKER_SOCKET", self.dir.path().join("socket").into_os_string()),
            ("OUROBOROS_WORKER_ID", "3".into()),
            ("OUROBOROS_WORKER_GENERATION", GENERATION.to_string().into()),
            ("OUROBOROS_WORKER_TOKEN", "ab".repeat(32).into()),
            ("OUROBOROS_SERVER_PID", server.to_string().into()),
        ]
        .map(|(name, value)| (name.into(), value))
        .to_vec()
    }

    pub fn start(&self, namespaces: bool) -> Result<Child, SpawnError> {
        start(&["serve"], self.environment(namespaces), namespaces)
    }

    pub fn accept(&self) -> (UnixStream, WorkerHello) {
        let (stream, _) = self.listener.accept().unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let hello = read(&stream).unwrap();
        (stream, hello)
    }
}

pub fn welcome() -> ServerHello {
    ServerHello {
        protocol: PROTOCOL,
        build: "test".to_owned(),
        generation: GENERATION,
        installation: InstallationId::mint(),
        refused: None,
    }
}

pub fn read<T: DeserializeOwned>(mut stream: &UnixStream) -> io::Result<T> {
    let mut prefix = [0; PREFIX];
    stream.read_exact(&mut prefix)?;
    let mut body = vec![0; body_length(prefix).unwrap()];
    stream.read_exact(&mut body)?;
    Ok(decode(&body).unwrap())
}

impl Worker {
    /// Started on the host and welcomed.
    pub fn new() -> Self {
        Self::try_new(false).unwrap()
    }

    pub fn try_new(namespaces: bool) -> Result<Self, SpawnError> {
        let desk = Desk::new();
        let child = desk.start(namespaces)?;
        let (stream, hello) = desk.accept();
        (&stream).write_all(&encode(&welcome()).unwrap()).unwrap();
        Ok(Self { child, stream, attempt: AttemptId::mint(), dir: desk.dir, hello })
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    fn base(&self) -> PathBuf {
        self.dir.path().join("attempts/1")
    }

    /// A command in the worker's directory, with nothing but a `PATH`.
    pub fn work(&self, argv: &[&str]) -> CommandWork {
        CommandWork {
            argv: argv.iter().map(|&word| word.to_owned()).collect(),
            env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
            cwd: self.dir.path().display().to_string(),
            umask: None,
            stdin: Stdin::Null,
            pty: None,
            timeout: None,
            no_new_privs: true,
            output_limit: 1 << 20,
            output_base: self.base().display().to_string(),
        }
    }

    pub fn shell(&self, script: &str) -> CommandWork {
        self.work(&["sh", "-c", script])
    }

    pub fn order(&self, order: Order) {
        self.order_as(self.attempt, GENERATION, order);
    }

    pub fn order_as(&self, attempt: AttemptId, generation: Generation, order: Order) {
        let frame = ToWorker { attempt, generation, order };
        (&self.stream).write_all(&encode(&frame).unwrap()).unwrap();
    }

    pub fn next(&self) -> FromWorker {
        let frame: FromWorker = read(&self.stream).expect("no frame from the worker");
        assert_eq!((frame.attempt, frame.generation), (self.attempt, GENERATION));
        frame
    }

    /// Hands out the work and takes the first report.
    pub fn begin(&self, work: CommandWork) -> Begun {
        self.order(Order::Run { task: TaskId::mint(), work: Box::new(work) });
        let frame = self.next();
        assert_eq!(frame.sequence, 1);
        match frame.report {
            Report::ProcessStarted { process, identity, command } => Begun { process, identity, command },
            other => panic!("{other:?}"),
        }
    }

    pub fn release(&self, begun: &Begun) {
        self.order(Order::Release { process: begun.process });
    }

    /// Reads until the stream has this many bytes.
    pub fn await_output(&self, stream: Stream, at_least: u64) {
        loop {
            match self.next().report {
                Report::Output { stream: of, written } if of == stream && written >= at_least => return,
                Report::Output { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    pub fn stored(&self, name: &str) -> Vec<u8> {
        std::fs::read(format!("{}.{name}", self.base().display())).unwrap_or_default()
    }

    /// Reads to the terminal report, without acknowledging it.
    pub fn terminal(&self) -> (FromWorker, AttemptReport, Vec<(Stream, u64)>) {
        let mut announced = Vec::new();
        loop {
            let frame = self.next();
            match frame.report {
                Report::Output { stream, written } => announced.push((stream, written)),
                Report::Terminal(report) => return (frame, report, announced),
                ref other => panic!("{other:?}"),
            }
        }
    }

    /// Reads to the end, acknowledges it and sees the worker leave.
    pub fn finish(self) -> Finished {
        let (frame, report, announced) = self.terminal();
        self.order(Order::Acknowledge { sequence: frame.sequence });
        assert_eq!(exit_code(&self.child), Status::Exited(0));
        assert_eq!(self.stored("ending"), encode(&frame).unwrap());
        Finished { report, stdout: self.stored("stdout"), stderr: self.stored("stderr"), announced }
    }

    /// All of it.
    pub fn run(self, work: CommandWork) -> Finished {
        let begun = self.begin(work);
        self.release(&begun);
        self.finish()
    }
}

impl Finished {
    pub fn ending(&self) -> Ending {
        self.report.ending
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }
}

pub fn shell(script: &str) -> Finished {
    let worker = Worker::new();
    let work = worker.shell(script);
    worker.run(work)
}

/// Whether no process has the number (any more).
pub fn is_gone(pid: i32) -> bool {
    PidFd::open(pid).unwrap().is_none_or(|process| process.is_dead())
}

/// The numbers a script printed, one a line.
pub fn numbers(bytes: &[u8]) -> Vec<i32> {
    std::str::from_utf8(bytes).unwrap().lines().map(|line| line.trim().parse().unwrap()).collect()
}

pub fn seconds(seconds: u64) -> Millis {
    Millis::seconds(seconds)
}
