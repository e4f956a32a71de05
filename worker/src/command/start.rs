//! Starting the process behind its barrier.

use super::Tools;
use super::deaths::Deaths;
use super::output::Output;
use crate::exec::Request;
use ouroboros_process::spawn::Step;
use ouroboros_process::{Child, Command, Lead, Program, SpawnError, Stdio, pty};
use ouroboros_proto::kind::{Ending, ProcessId, Stream};
use ouroboros_proto::wire::{CommandWork, Stdin};
use ouroboros_sandbox::{BARRIER, CONFINEMENT, STATUS};
use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::io;
use std::os::fd::OwnedFd;

/// The character that ends input on a terminal (termios(3), VEOF).
const END_OF_FILE: u8 = 4;
/// Characters of a command that are shown to people.
const SHOWN: usize = 200;

/// A process that waits in exec mode.
pub struct Started {
    /// Its name towards the server.
    pub process: ProcessId,
    /// The process.
    pub child: Child,
    /// A byte into it opens the barrier; closing it ends the process.
    pub barrier: OwnedFd,
    /// Where exec mode says why the command did not start.
    pub status: OwnedFd,
    /// What it writes.
    pub output: Output,
    /// Deaths below us.
    pub deaths: Deaths,
}

/// Our ends and the command's ends of its streams.
struct Streams {
    sources: Vec<(Stream, OwnedFd)>,
    stdin: Stdio,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

/// Starts it. Nothing of the command has run when this returns.
///
/// # Errors
/// The ending of the attempt; no process is left.
pub fn behind_barrier(tools: &Tools, work: &CommandWork) -> Result<Started, Ending> {
    let streams = streams(work).map_err(set_up_failed)?;
    let output = Output::new(streams.sources, &work.output_base, work.output_limit);
    let deaths = Deaths::notice().map_err(set_up_failed)?;
    let request = request(work);
    let streams = (streams.stdin, streams.stdout, streams.stderr);
    let Barred { process, child, barrier, status } =
        barred(tools, &request, streams, work.umask, None).map_err(not_spawned)?;
    Ok(Started { process, child, barrier, status, output, deaths })
}

/// A process that waits in exec mode, and nothing beside.
pub struct Barred {
    /// Its name towards the server.
    pub process: ProcessId,
    /// The process.
    pub child: Child,
    /// As in [`Started`].
    pub barrier: OwnedFd,
    /// As in [`Started`].
    pub status: OwnedFd,
}

/// Starts a process with these streams, and with what exec mode reads its confinement from where the request says so. Nothing of what it is to become has run when this returns.
///
/// # Errors
/// It could not be started; no process is left.
pub fn barred(
    tools: &Tools,
    request: &Request,
    (stdin, stdout, stderr): (Stdio, OwnedFd, OwnedFd),
    umask: Option<u32>,
    confinement: Option<OwnedFd>,
) -> Result<Barred, SpawnError> {
    let no_pipe = |errno: Errno| SpawnError::Other { step: Step::Descriptors, errno: errno.raw_os_error() };
    let (barrier_reader, barrier) = pipe_with(PipeFlags::CLOEXEC).map_err(no_pipe)?;
    let (status, status_writer) = pipe_with(PipeFlags::CLOEXEC).map_err(no_pipe)?;
    nonblocking(&status).map_err(no_pipe)?;
    let mut command = Command::new(Program::Fd(std::sync::Arc::clone(&tools.program)));
    command.arg0 = Some("ouroboros-worker".into());
    command.args = request.arguments();
    command.env = request.environment().map_err(|_| SpawnError::Invalid("a variable's name is not one"))?;
    command.stdin = stdin;
    command.stdout = Stdio::Fd(stdout);
    command.stderr = Stdio::Fd(stderr);
    command.inherit = vec![(barrier_reader, BARRIER), (status_writer, STATUS)];
    command.inherit.extend(confinement.map(|confinement| (confinement, CONFINEMENT)));
    command.umask = umask;
    command.lead = Lead::Session;
    let child = tools.spawner.spawn(command)?;
    Ok(Barred { process: ProcessId::mint(), child, barrier, status })
}

/// The command as it is shown to people: one line, cut.
pub fn shown(argv: &[String]) -> String {
    argv.join(" ").chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect()
}

fn request(work: &CommandWork) -> Request {
    Request {
        parent: rustix::process::getpid().as_raw_nonzero().get(),
        terminal: work.pty.is_some(),
        no_new_privs: work.no_new_privs,
        confined: false,
        ours: false,
        cwd: work.cwd.clone().into(),
        argv: work.argv.iter().map(Into::into).collect(),
        env: work.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
    }
}

fn streams(work: &CommandWork) -> io::Result<Streams> {
    let stdin = match &work.stdin {
        Stdin::Null => Stdio::Null,
        Stdin::File { path } => {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
            Stdio::Fd(rustix::fs::open(path, flags, Mode::empty())?)
        }
    };
    if let Some(size) = work.pty {
        let pty = pty::open(size.columns, size.rows)?;
        nonblocking(&pty.master)?;
        let stderr = pty.slave.try_clone()?;
        // Programs that ask whether they have a terminal ask standard input too. Nobody types: reading it meets an end.
        let stdin = match stdin {
            Stdio::Null => {
                rustix::io::write(&pty.master, &[END_OF_FILE])?;
                Stdio::Fd(pty.slave.try_clone()?)
            }
            file => file,
        };
        return Ok(Streams { sources: vec![(Stream::Stdout, pty.master)], stdin, stdout: pty.slave, stderr });
    }
    let (out_reader, stdout) = pipe_with(PipeFlags::CLOEXEC)?;
    let (err_reader, stderr) = pipe_with(PipeFlags::CLOEXEC)?;
    nonblocking(&out_reader)?;
    nonblocking(&err_reader)?;
    let sources = vec![(Stream::Stdout, out_reader), (Stream::Stderr, err_reader)];
    Ok(Streams { sources, stdin, stdout, stderr })
}

/// For our end only: the other one is a file description of its own.
fn nonblocking(fd: &OwnedFd) -> Result<(), Errno> {
    fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK)
}

fn not_spawned(error: SpawnError) -> Ending {
    match error {
        // The kernel found the argv too large already on the way to exec mode, which only adds a few bytes.
        SpawnError::NotExecutable { errno } if errno == Errno::TOOBIG.raw_os_error() => Ending::NotExecutable { errno },
        SpawnError::NotExecutable { errno }
        | SpawnError::BadDirectory { errno }
        | SpawnError::Limit { errno, .. }
        | SpawnError::Namespace { errno, .. }
        | SpawnError::Other { errno, .. } => Ending::SetUpFailed { errno },
        SpawnError::NotFound => Ending::SetUpFailed { errno: Errno::NOENT.raw_os_error() },
        SpawnError::Invalid(_) => invalid(),
    }
}

fn set_up_failed(error: io::Error) -> Ending {
    Ending::SetUpFailed { errno: error.raw_os_error().unwrap_or(0) }
}

fn invalid() -> Ending {
    Ending::SetUpFailed { errno: Errno::INVAL.raw_os_error() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_command_is_one_bounded_line() {
        assert_eq!(shown(&["a\nb".to_owned(), "c".to_owned()]), "a b c");
        assert_eq!(shown(&["é".repeat(300)]).chars().count(), SHOWN);
    }
}
