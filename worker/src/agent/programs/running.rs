//! One process of an agent.

use super::window::Window;
use crate::command::{Barred, Tools, barred};
use crate::exec::Request;
use crate::wake;
use ouroboros_process::{Child, Signal, Stdio};
use ouroboros_proto::agent::{Confined, Unconfined};
use ouroboros_proto::kind::{BootMicros, Identity, Millis, ProcessId, clock};
use ouroboros_sandbox::Confinement;
use ouroboros_sandbox::report::{self, Failure, Word};
use ouroboros_tools::programs::{End, Ran};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{MemfdFlags, SeekFrom, fcntl_getfl, fcntl_setfl, memfd_create, seek};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes read at once.
const CHUNK: usize = 64 << 10;
/// What is read at most after everything that wrote is gone.
const LEFTOVER: usize = 1 << 20;
/// How long the reader of a service that is gone is waited for.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A process and what it writes.
pub struct Running {
    process: ProcessId,
    child: Child,
    /// Closed when it was released.
    barrier: Option<OwnedFd>,
    status: OwnedFd,
    /// What exec mode said so far.
    words: Vec<Word>,
    streams: Vec<(Option<OwnedFd>, Arc<Mutex<Window>>)>,
    /// Told when nobody reads for it any more.
    reader: Option<Receiver<()>>,
    since: BootMicros,
    /// When it was seen to be over.
    until: Option<BootMicros>,
}

/// What a process reads, and how much is kept of what it writes.
pub struct Streams<'a> {
    /// What it reads.
    pub stdin: &'a [u8],
    /// Whether standard error is kept apart.
    pub apart: bool,
    /// Bytes that are kept of each stream, half of them from the start.
    pub kept: usize,
}

/// Why it was ended by us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Its time was over.
    TimedOut,
    /// The call was stopped.
    Stopped,
}

impl Running {
    /// Starts it behind its barrier.
    ///
    /// # Errors
    /// It could not be started; nothing is left.
    pub fn start(
        tools: &Tools,
        request: &Request,
        confinement: &Confinement,
        wanted: &Streams<'_>,
    ) -> io::Result<Self> {
        let Streams { stdin, apart, kept } = *wanted;
        let stdin = if stdin.is_empty() { Stdio::Null } else { Stdio::Fd(in_memory(stdin)?) };
        let (out, stdout) = stream()?;
        let mut streams = vec![(Some(out), shared(kept))];
        let stderr = if apart {
            let (err, stderr) = stream()?;
            streams.push((Some(err), shared(kept)));
            stderr
        } else {
            stdout.try_clone()?
        };
        let confinement = Some(confinement.hand_over()?);
        let Barred { process, child, barrier, status } =
            barred(tools, request, (stdin, stdout, stderr), None, confinement).map_err(io::Error::other)?;
        let (barrier, words) = (Some(barrier), Vec::new());
        let (since, until, reader) = (clock::boot(), None, None);
        Ok(Self { process, child, barrier, status, words, streams, reader, since, until })
    }

    pub fn process(&self) -> ProcessId {
        self.process
    }

    pub fn pid(&self) -> i32 {
        self.child.pid()
    }

    pub fn identity(&self) -> &Identity {
        self.child.identity()
    }

    /// Opens the barrier.
    pub fn release(&mut self) {
        if let Some(barrier) = self.barrier.take() {
            // It cannot block, and fails only when the process is dead, which is seen next.
            let _ = rustix::io::write(&barrier, &[1]);
            self.since = clock::boot();
        }
    }

    /// Whether the process itself is dead. Its tree need not be.
    pub fn is_over(&self) -> bool {
        self.child.pidfd().is_dead()
    }

    /// Readable when it is dead.
    pub fn poll_death(&self) -> PollFd<'_> {
        PollFd::new(&**self.child.pidfd(), PollFlags::IN)
    }

    /// Readable when exec mode said something, or is gone.
    pub fn poll_words(&self) -> PollFd<'_> {
        PollFd::new(&self.status, PollFlags::IN)
    }

    /// What to wait for.
    pub fn poll_fds(&self) -> Vec<PollFd<'_>> {
        let streams = self.streams.iter().filter_map(|(source, _)| source.as_ref());
        let mut fds: Vec<PollFd<'_>> = streams.map(|source| PollFd::new(source, PollFlags::IN)).collect();
        fds.push(self.poll_death());
        fds
    }

    /// Reads what is there, at most `CHUNK` of each stream.
    pub fn read(&mut self) {
        if self.is_over() && self.until.is_none() {
            self.until = Some(clock::boot());
        }
        let mut buffer = vec![0; CHUNK];
        for (source, window) in &mut self.streams {
            read(source, window, &mut buffer);
        }
    }

    /// Has a thread read what it writes from now on: nobody waits for it any more, and it must not wait for us.
    ///
    /// # Errors
    /// No thread is to be had.
    pub fn read_beside(&mut self) -> io::Result<()> {
        let Some((source @ Some(_), window)) = self.streams.first_mut() else { return Ok(()) };
        let (mut source, window) = (source.take(), Arc::clone(window));
        let (told, reader) = sync_channel(1);
        std::thread::Builder::new().name("service".to_owned()).spawn(move || {
            let mut buffer = vec![0; CHUNK];
            while let Some(fd) = &source {
                wake::until(&mut [PollFd::new(fd, PollFlags::IN)], None);
                read(&mut source, &window, &mut buffer);
            }
            let _ = told.send(());
        })?;
        self.reader = Some(reader);
        Ok(())
    }

    /// Reads what is left once nothing that writes is left; somebody outside who was handed a writing end cannot keep us here.
    pub fn drain(&mut self) {
        if let Some(reader) = self.reader.take() {
            let _ = reader.recv_timeout(LAST_WORDS);
        }
        let mut buffer = vec![0; CHUNK];
        for (source, window) in &mut self.streams {
            let mut left = LEFTOVER;
            while left > 0 {
                match read(source, window, &mut buffer) {
                    0 => break,
                    count => left = left.saturating_sub(count),
                }
            }
            *source = None;
        }
    }

    /// Sends a signal to its group.
    pub fn signal(&self, signal: Signal) -> bool {
        self.child.kill_group(signal).is_ok()
    }

    /// Asks its group to end. Those that are stopped cannot act on it before they continue.
    pub fn ask_to_end(&self) {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
    }

    /// Whether it has written this.
    pub fn wrote(&self, text: &str) -> bool {
        self.streams.iter().any(|(_, window)| lock(window).contains(text.as_bytes()))
    }

    /// How long it has run.
    pub fn took(&self) -> Duration {
        let until = self.until.unwrap_or_else(clock::boot);
        Duration::from_millis(until.since(self.since).get())
    }

    /// What it wrote to a stream, counted from 0.
    pub fn seen(&self, stream: usize) -> ouroboros_tools::programs::Seen {
        self.streams.get(stream).map(|(_, window)| lock(window).seen()).unwrap_or_default()
    }

    /// What is in force for it, as it was read back; `None` when that is not known yet, or nothing is.
    pub fn confined(&mut self) -> Option<Confined> {
        self.listen();
        self.words.iter().find_map(|word| match word {
            Word::Confined(confined) => Some(confined.clone()),
            Word::Failed(_) | Word::Unconfined(_) => None,
        })
    }

    fn listen(&mut self) {
        self.words.extend(report::read(&self.status));
    }

    /// How it ended; `None` while it runs. Reaps it. The error is why it never became its program.
    pub fn end(&mut self, cause: Option<Cause>, out_of_memory: &dyn Fn() -> bool) -> Option<Result<End, NotStarted>> {
        use ouroboros_process::Status;
        let exit = match self.child.try_wait() {
            Ok(exit) => exit?,
            Err(error) => return Some(Err(NotStarted::Failed(error))),
        };
        self.listen();
        let said = self.words.iter().find_map(|word| match word {
            Word::Failed(failure) => Some(not_started(*failure)),
            Word::Unconfined(why) => Some(Err(NotStarted::Unconfined(why.clone()))),
            Word::Confined(_) => None,
        });
        Some(match (said, cause, exit.status) {
            (Some(said), _, _) => said,
            (None, Some(Cause::TimedOut), _) => Ok(End::TimedOut),
            (None, Some(Cause::Stopped), _) => Ok(End::Stopped),
            (None, None, _) if self.barrier.is_some() => Err(NotStarted::Failed(Errno::CHILD.into())),
            (None, None, Status::Exited(code)) => Ok(End::Exited(code)),
            (None, None, Status::Signaled { signal, .. }) => {
                Ok(End::Signaled { signal, out_of_memory: signal == 9 && out_of_memory() })
            }
        })
    }

    /// All of it, for a program that is over.
    pub fn ran(&self, end: End, left: usize) -> Ran {
        Ran { end, took: self.took(), stdout: self.seen(0), stderr: self.seen(1), left }
    }
}

/// Why a program never began.
pub enum NotStarted {
    /// The system failed.
    Failed(io::Error),
    /// It could not be confined as it must be.
    Unconfined(Unconfined),
}

fn not_started(failure: Failure) -> Result<End, NotStarted> {
    let error = io::Error::from_raw_os_error;
    match failure {
        Failure::SetUp { errno } | Failure::Directory { errno } => Err(NotStarted::Failed(error(errno))),
        Failure::NotFound => Ok(End::NotFound),
        Failure::NotExecutable { errno } => Ok(End::NotExecutable(error(errno).to_string())),
    }
}

fn shared(kept: usize) -> Arc<Mutex<Window>> {
    Arc::new(Mutex::new(Window::new(kept)))
}

fn lock(window: &Mutex<Window>) -> MutexGuard<'_, Window> {
    window.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A pipe whose reading end does not block.
fn stream() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfl(&reader, fcntl_getfl(&reader)? | rustix::fs::OFlags::NONBLOCK)?;
    Ok((reader, writer))
}

/// Something to read, as a file without a name.
fn in_memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("stdin", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    seek(&file, SeekFrom::Start(0))?;
    Ok(file.into())
}

/// Bytes read; 0 when there is nothing now or nothing more.
fn read(source: &mut Option<OwnedFd>, window: &Mutex<Window>, buffer: &mut [u8]) -> usize {
    let Some(fd) = source else { return 0 };
    loop {
        match rustix::io::read(&*fd, &mut *buffer) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return 0,
            Ok(0) | Err(_) => {
                *source = None;
                return 0;
            }
            Ok(count) => {
                lock(window).take(buffer.get(..count).unwrap_or_default());
                return count;
            }
        }
    }
}

/// Between TERM and KILL for one program.
pub const GRACE: Millis = Millis::seconds(2);
