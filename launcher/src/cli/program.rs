//! Other programs: the server's binary beside ours, an editor, a browser, systemd.

use super::Failure;
use nix::sys::signal::{SigSet, Signal as Blocked};
use ouroboros_process::{Child, Command, Lead, Program, Signal, Spawner, Status, Stdio};
use rustix::process::Pid;
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use std::ffi::{CString, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The name of the server's binary, which is installed beside ours.
const SERVER: &str = "ouroboros-server";

/// The path of this program.
pub fn own() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::io("the path of this program is not known", &error))
}

/// The binary with this name beside ours.
pub fn beside(name: &str) -> Result<PathBuf, Failure> {
    let path = own()?.parent().unwrap_or(Path::new("/")).join(name);
    if path.is_file() {
        return Ok(path);
    }
    Err(Failure::new("not_installed", format!("{} is not there; nothing was done", path.display()))
        .remedy("The three programs are installed side by side; install Ouroboros again."))
}

/// The server's binary.
pub fn server() -> Result<PathBuf, Failure> {
    beside(SERVER)
}

/// Turns this process into the server's binary with these arguments. Returns only when that failed.
pub fn become_server(arguments: &[&str]) -> Failure {
    let path = match server() {
        Ok(path) => path,
        Err(failure) => return failure,
    };
    let own = path.clone().into_os_string();
    let words = std::iter::once(own.into_vec()).chain(arguments.iter().map(|argument| argument.as_bytes().to_vec()));
    let words: Result<Vec<CString>, _> = words.map(CString::new).collect();
    let failed = |why: String| Failure::new("not_started", format!("{} did not start: {why}", path.display()));
    match words.as_deref() {
        Ok(words @ [program, ..]) => match nix::unistd::execv(program, words) {
            Ok(never) => match never {},
            Err(error) => failed(error.to_string()),
        },
        Ok([]) | Err(_) => failed("an argument holds a NUL byte".to_owned()),
    }
}

/// Starts a program that goes on without us, in a session of its own.
pub fn leave_running(name: &str, arguments: &[&str]) -> Result<(), Failure> {
    let mut command = command(name, arguments)?;
    command.lead = Lead::Session;
    start(name, command).map(drop)
}

/// Runs a program to its end and gives its exit code, 128+n for a signal. Only its errors are shown.
pub fn run(name: &str, arguments: &[&str], show_errors: bool) -> Result<u8, Failure> {
    let mut command = command(name, arguments)?;
    command.stderr = if show_errors { Stdio::Inherit } else { Stdio::Null };
    ended(name, &start(name, command)?)
}

/// Runs a shell command line on our terminal, as the foreground job, and gives its exit code.
pub fn run_on_terminal(line: &str, argument: &Path) -> Result<u8, Failure> {
    let mut command = command("sh", &["-c", line, "sh"])?;
    command.args.push(argument.into());
    (command.stdin, command.stdout, command.stderr) = (Stdio::Inherit, Stdio::Inherit, Stdio::Inherit);
    let terminal = Foreground::of_this_terminal();
    let child = start("sh", command)?;
    if let Some(terminal) = &terminal {
        terminal.hand_to(&child);
    }
    ended("sh", &child)
}

/// The path of a program by `PATH`.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|path| is_executable(path))
}

/// Whether we may execute the file.
pub fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

fn command(name: &str, arguments: &[&str]) -> Result<Command, Failure> {
    let path = find(name).ok_or_else(|| Failure::new("not_found", format!("the program {name} is not installed")))?;
    let mut command = Command::new(Program::Path(path));
    command.arg0 = Some(name.into());
    command.args = arguments.iter().map(OsString::from).collect();
    command.env = std::env::vars_os().collect();
    Ok(command)
}

fn start(name: &str, command: Command) -> Result<Child, Failure> {
    static SPAWNER: OnceLock<Option<Spawner>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| Spawner::start().ok()).as_ref();
    let spawner =
        spawner.ok_or_else(|| Failure::new("not_started", format!("{name} did not start: no thread to be had")))?;
    spawner.spawn(command).map_err(|error| Failure::new("not_started", format!("{name} did not start: {error}")))
}

fn ended(name: &str, child: &Child) -> Result<u8, Failure> {
    let exit = child.wait().map_err(|error| Failure::io(format!("waiting for {name}"), &error))?;
    Ok(match exit.status {
        Status::Exited(code) => code,
        Status::Signaled { signal, .. } => 128_u8.saturating_add(signal),
    })
}

/// The controlling terminal, given back to our process group when this is dropped.
struct Foreground {
    terminal: File,
    before: Pid,
}

impl Foreground {
    fn of_this_terminal() -> Option<Self> {
        let terminal = File::options().read(true).write(true).open("/dev/tty").ok()?;
        let before = tcgetpgrp(&terminal).ok()?;
        Some(Self { terminal, before })
    }

    /// Makes the child's group the one that reads from the terminal. It may have tried already and been stopped for it.
    fn hand_to(&self, child: &Child) {
        let given = Pid::from_raw(child.pid()).is_some_and(|group| tcsetpgrp(&self.terminal, group).is_ok());
        if given {
            // It may have ended already.
            let _ = child.kill_group(Signal::CONT);
        }
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        // Who is not in the foreground may set it only with this signal blocked (tcsetpgrp(3)).
        let stop: SigSet = [Blocked::SIGTTOU].into_iter().collect();
        let blocked = stop.thread_block().is_ok();
        let _ = tcsetpgrp(&self.terminal, self.before);
        if blocked {
            let _ = stop.thread_unblock();
        }
    }
}
