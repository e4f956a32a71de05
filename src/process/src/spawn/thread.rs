//! The one thread that starts processes, and that reaps those whose handle was dropped.

use super::command::Command;
use super::error::{SpawnError, Step};
use super::launch::{self, Stack, Started};
use super::plan::Plan;
use crate::child::Child;
use crate::pidfd::PidFd;
use crate::{proc, registry};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::{Mode, OFlags};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// A handle on the spawning thread. The thread never ends before the process does, whatever becomes of the handles, since its end
/// would set off the death signals of what it started.
#[derive(Debug, Clone)]
pub struct Spawner {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    inbox: Mutex<VecDeque<Message>>,
    wake: OwnedFd,
    null: OwnedFd,
}

/// At most one `Start` for each blocked caller and one `Disown` for each child.
enum Message {
    Start(Box<Plan>, SyncSender<Result<Started, SpawnError>>),
    Disown(i32, Arc<PidFd>),
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Start(..) => "Start",
            Self::Disown(..) => "Disown",
        })
    }
}

// SAFETY: the pointers inside a plan are into memory the plan itself owns, and whoever has the plan has it alone.
#[allow(unsafe_code)]
unsafe impl Send for Plan {}

impl Spawner {
    /// Starts the thread. Once a process: descriptors that were inherited are made close-on-exec, and an inherited "ignore" of
    /// SIGCHLD, which would lose every exit, is set back to the default.
    ///
    /// # Errors
    /// When no thread or descriptor is to be had.
    pub fn start() -> io::Result<Self> {
        seal_descriptors()?;
        notice_exits()?;
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC)?;
        let shared = Arc::new(Shared { inbox: Mutex::new(VecDeque::new()), wake, null });
        let stack = Stack::new()?;
        let spawner = Self { shared: Arc::clone(&shared) };
        let base = StackOfThread(stack);
        std::thread::Builder::new().name("spawner".to_owned()).spawn(move || serve(&shared, base))?;
        Ok(spawner)
    }

    /// Starts a process. Returns when it has executed its program, or failed to. Blocks for as long as the kernel takes: about a
    /// tenth of a millisecond on a quiet machine, longer when the program's file system is slow.
    ///
    /// # Errors
    /// [`SpawnError`]; nothing of the process is left then.
    pub fn spawn(&self, command: Command) -> Result<Child, SpawnError> {
        let namespaced = command.namespaces;
        let plan = Plan::new(command, self.shared.null.as_fd())?;
        let (reply, answer) = sync_channel(1);
        self.send(Message::Start(Box::new(plan), reply)).map_err(|error| SpawnError::from_io(Step::Clone, &error))?;
        let lost = SpawnError::Other { step: Step::Clone, errno: libc::ECHILD };
        let started = answer.recv().map_err(|_| lost)??;
        Ok(Child::new(started.identity, started.pidfd, namespaced, started.slot, self.clone()))
    }

    /// Leaves the reaping of a child to the thread.
    pub(crate) fn disown(&self, pid: i32, pidfd: Arc<PidFd>) {
        // When the wake-up is lost the child is reaped at the next one.
        let _ = self.send(Message::Disown(pid, pidfd));
    }

    fn send(&self, message: Message) -> io::Result<()> {
        self.shared.inbox.lock().unwrap_or_else(PoisonError::into_inner).push_back(message);
        rustix::io::write(&self.shared.wake, &1_u64.to_ne_bytes())?;
        Ok(())
    }
}

/// Moves the stack to the thread.
struct StackOfThread(Stack);

// SAFETY: the mapping belongs to the process, and only the spawning thread uses it.
#[allow(unsafe_code)]
unsafe impl Send for StackOfThread {}

fn serve(shared: &Shared, stack: StackOfThread) {
    let StackOfThread(stack) = stack;
    block_signals();
    let mut disowned: Vec<(i32, Arc<PidFd>)> = Vec::new();
    loop {
        wait(shared, &disowned);
        let batch: Vec<Message> = {
            let mut inbox = shared.inbox.lock().unwrap_or_else(PoisonError::into_inner);
            inbox.drain(..).collect()
        };
        for message in batch {
            match message {
                // A caller that stopped waiting drops the answer, and with it goes the pidfd; it cannot, since it blocks.
                Message::Start(plan, reply) => drop(reply.send(launch::launch(&plan, &stack))),
                Message::Disown(pid, pidfd) => disowned.push((pid, pidfd)),
            }
        }
        disowned.retain(|(pid, pidfd)| {
            // Whoever ends everything may have reaped it already; then its number is not ours to wait for.
            let mut registry = registry::lock();
            registry.is_ours(*pid) && !(pidfd.is_dead() && registry.reap(*pid).is_ok())
        });
    }
}

/// Until a message or the death of a disowned child.
fn wait(shared: &Shared, disowned: &[(i32, Arc<PidFd>)]) {
    let mut fds = vec![PollFd::new(&shared.wake, PollFlags::IN)];
    fds.extend(disowned.iter().map(|(_, pidfd)| PollFd::new(&**pidfd, PollFlags::IN)));
    if poll(&mut fds, None).is_ok() && fds.first().is_some_and(|wake| wake.revents().contains(PollFlags::IN)) {
        let _ = rustix::io::read(&shared.wake, &mut [0_u8; 8]);
    }
}

/// Handlers of this process must run on other threads: a child shares this one's memory while it starts.
fn block_signals() {
    // It cannot fail with these arguments (sigprocmask(2)).
    let _ = nix::sys::signal::SigSet::all().thread_block();
}

fn seal_descriptors() -> io::Result<()> {
    for number in proc::numbers_in("/proc/self/fd")?.unwrap_or_default() {
        if number > 2 {
            seal(number);
        }
    }
    Ok(())
}

#[allow(unsafe_code)]
fn seal(number: i32) {
    // SAFETY: takes no pointer. A descriptor that was closed meanwhile is refused harmlessly.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
    if flags != -1 {
        // SAFETY: as above; only a flag changes.
        unsafe { libc::fcntl(number, libc::F_SETFD, flags | libc::FD_CLOEXEC) };
    }
}

#[allow(unsafe_code)]
fn notice_exits() -> io::Result<()> {
    use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: the default action runs no code.
    let before = unsafe { sigaction(Signal::SIGCHLD, &default) }?;
    let loses = matches!(before.handler(), SigHandler::SigIgn) || before.flags().contains(SaFlags::SA_NOCLDWAIT);
    if !loses {
        // SAFETY: what was installed before, by code that is still there.
        unsafe { sigaction(Signal::SIGCHLD, &before) }?;
    }
    Ok(())
}
