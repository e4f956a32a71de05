//! The system calls that make shapes. Every process arms its own end first, so that nothing outlives a test by more than its time.
#![allow(
    unsafe_code,
    reason = "the shapes are made of fork, stops and half-dead processes, which safe code does not offer"
)]

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

/// What every process of a shape carries.
#[derive(Debug, Clone)]
pub struct Zoo {
    /// Where each writes its role and number.
    pub marker: Option<PathBuf>,
    /// When all of it must be gone: nanoseconds of the boot clock.
    pub ends_at: i64,
    /// A descriptor that takes the place of the ready line, for a shape inside a shape.
    pub gate: Option<i32>,
}

impl Zoo {
    /// Begins a process: arms its end and writes its marker.
    pub fn enter(&self, role: &str) {
        arm_kill(self.ends_at);
        let Some(path) = &self.marker else { return };
        let line = format!("{role} {}\n", std::process::id());
        let written = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes()));
        if let Err(error) = written {
            eprintln!("zoo: cannot write the marker {}: {error}", path.display());
        }
    }

    /// Says that the shape stands.
    pub fn ready(&self) {
        match self.gate {
            Some(fd) => {
                // SAFETY: the caller of this binary handed the descriptor over for this one use.
                drop(unsafe { OwnedFd::from_raw_fd(fd) });
            }
            None => {
                let mut out = io::stdout();
                let _ = writeln!(out, "ready {}", std::process::id()).and_then(|()| out.flush());
            }
        }
    }

    /// Forks. The child begins as `role`, runs `body` and exits 0 if that returns. Gives the child's number.
    pub fn fork(&self, role: &str, body: impl FnOnce(&Self)) -> i32 {
        let pid = fork_here();
        assert!(pid >= 0, "fork: {}", io::Error::last_os_error());
        if pid == 0 {
            self.enter(role);
            body(self);
            exit_now(0);
        }
        pid
    }

    /// Sleeps until the end.
    pub fn stay(&self) -> ! {
        loop {
            // SAFETY: takes no pointer.
            unsafe { libc::pause() };
        }
    }
}

/// A pipe on which somebody waits until every other holder has closed its end.
pub struct Gate {
    reader: OwnedFd,
    writer: OwnedFd,
}

impl Gate {
    /// A new one, inherited by forks and by `execve`.
    pub fn new() -> Self {
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        // SAFETY: the kernel has just made both.
        let [reader, writer] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        Self { reader, writer }
    }

    /// The end whose closing opens the gate.
    pub fn writer(&self) -> i32 {
        self.writer.as_raw_fd()
    }

    /// The end that waits.
    pub fn reader(&self) -> i32 {
        self.reader.as_raw_fd()
    }

    /// In the process that must stand: opens the gate, as far as this process goes.
    pub fn open(&self) {
        // SAFETY: this process does not use the end again; it never drops the gate, since it ends by a signal or `_exit`.
        unsafe { libc::close(self.writer.as_raw_fd()) };
    }

    /// In the process that waits.
    pub fn wait(self) {
        drop(self.writer);
        let mut rest = Vec::new();
        let _ = std::fs::File::from(self.reader).read_to_end(&mut rest);
    }
}

/// Forks; 0 in the child, -1 when it failed. Without a marker, and without an end of the child's own unless it arms one.
pub fn fork_here() -> i32 {
    // SAFETY: these processes have one thread when they fork.
    unsafe { libc::fork() }
}

/// Nanoseconds of the boot clock.
pub fn boot_nanos() -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a pointer to a live value.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// SIGKILL for this process at that time: works on what ignores signals or is stopped. The init of a namespace is spared by signals
/// from inside unless it handles them, so it exits by a handler.
pub fn arm_kill(at: i64) {
    let is_init = std::process::id() == 1;
    let signal = if is_init { libc::SIGRTMIN() } else { libc::SIGKILL };
    if is_init {
        let handler: extern "C" fn(libc::c_int) = end_by_handler;
        // SAFETY: the handler only ends the process.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
    // SAFETY: all-zero values are valid; the pointers are to live values; the timer lives until the process ends.
    unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_SIGNAL;
        event.sigev_signo = signal;
        let mut timer: libc::timer_t = std::mem::zeroed();
        assert_eq!(libc::timer_create(libc::CLOCK_BOOTTIME, &raw mut event, &raw mut timer), 0);
        let mut when: libc::itimerspec = std::mem::zeroed();
        when.it_value = libc::timespec { tv_sec: at / 1_000_000_000, tv_nsec: at % 1_000_000_000 };
        assert_eq!(libc::timer_settime(timer, libc::TIMER_ABSTIME, &raw const when, std::ptr::null_mut()), 0);
    }
}

extern "C" fn end_by_handler(_: libc::c_int) {
    exit_now(137)
}

/// SIGALRM after so many seconds; it is kept across `execve`, where timers are not.
pub fn alarm(seconds: u32) {
    // SAFETY: takes no pointer.
    unsafe { libc::alarm(seconds) };
}

/// Ends the process without running anything.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: never returns and touches nothing of ours.
    unsafe { libc::_exit(code) }
}

/// Ends only the calling thread, without running anything.
pub fn exit_thread() -> ! {
    loop {
        // SAFETY: ends this thread; what it owns is abandoned.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    }
}

/// Ignores every signal that can be ignored.
pub fn ignore_all() {
    for signal in 1..32 {
        // SAFETY: installs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Sends a signal to this process, with its default action and not blocked.
pub fn raise_default(signal: i32) {
    // SAFETY: an all-zero set is empty; installs no code.
    unsafe {
        let none: libc::sigset_t = std::mem::zeroed();
        libc::signal(signal, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        libc::raise(signal);
    }
}

/// Waits until a child has stopped.
pub fn wait_stopped(pid: i32) {
    // SAFETY: no status is asked for.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WUNTRACED) };
}

/// Waits for the children that have ended already.
pub fn reap_ended() {
    // SAFETY: no status is asked for.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {}
}

/// Leads a new session.
pub fn new_session() {
    let _ = rustix::process::setsid();
}

/// Points a standard stream at `/dev/null`.
pub fn to_null(stream: i32) {
    // SAFETY: a C string and descriptors of this process.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        libc::dup2(null, stream);
        libc::close(null);
    }
}

/// Puts a descriptor in the place of standard input.
pub fn as_stdin(fd: i32) {
    // SAFETY: takes no pointer.
    unsafe { libc::dup2(fd, 0) };
}

/// Closes a descriptor when this process executes another program.
pub fn close_on_exec(fd: i32) {
    // SAFETY: takes no pointer.
    unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
}

/// Sleeps a little, as part of a shape.
pub fn nap(micros: u32) {
    // SAFETY: takes no pointer.
    unsafe { libc::usleep(micros) };
}
