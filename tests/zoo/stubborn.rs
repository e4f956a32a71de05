//! Shapes that stay where they are and will not go.

use crate::argument;
use crate::raw::{self, Gate, Zoo};
use std::ffi::CString;
use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;

pub fn ignore_term(zoo: &Zoo, _: &[String]) -> ExitCode {
    raw::ignore_all();
    zoo.ready();
    zoo.stay()
}

pub fn spin_on_exit(zoo: &Zoo, _: &[String]) -> ExitCode {
    raw::ignore_all();
    zoo.ready();
    loop {
        std::hint::spin_loop();
    }
}

/// The init of a namespace cannot stop itself, so a child stands for the shape as well.
pub fn stopped(zoo: &Zoo, _: &[String]) -> ExitCode {
    let child = zoo.fork("stopped", |zoo| {
        raw::raise_default(libc::SIGSTOP);
        zoo.stay()
    });
    raw::wait_stopped(child);
    zoo.ready();
    raw::raise_default(libc::SIGSTOP);
    zoo.stay()
}

pub fn non_dumpable(zoo: &Zoo, _: &[String]) -> ExitCode {
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    let gate = Gate::new();
    zoo.fork("hidden", |zoo| {
        gate.open();
        zoo.stay()
    });
    gate.wait();
    zoo.ready();
    zoo.stay()
}

/// From then on the process shows as a zombie though it lives.
pub fn main_thread_exits(zoo: &Zoo, _: &[String]) -> ExitCode {
    let other = zoo.clone();
    std::thread::spawn(move || {
        let path = format!("/proc/self/task/{}/stat", std::process::id());
        while !std::fs::read_to_string(&path).is_ok_and(|stat| stat.contains(") Z ")) {
            std::thread::yield_now();
        }
        other.ready();
        other.stay()
    });
    raw::exit_thread()
}

pub fn fill_memory(zoo: &Zoo, rest: &[String]) -> ExitCode {
    let bytes: usize = argument(rest, 64 << 20);
    let mut held: Vec<u8> = Vec::with_capacity(bytes);
    held.resize(bytes, 1);
    zoo.ready();
    // Keeps the memory in use until the end.
    std::hint::black_box(&held);
    zoo.stay()
}

/// `su` asks for a password on the pipe we hold, or as root waits for the shell it started.
pub fn setuid(zoo: &Zoo, _: &[String]) -> ExitCode {
    let is_setuid = |path: &&&str| {
        std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o4111 == 0o4111)
    };
    let Some(program) = ["/usr/bin/su", "/bin/su"].iter().find(is_setuid) else {
        eprintln!("zoo: no set-uid program here");
        return ExitCode::from(77);
    };
    let stdin = Gate::new();
    let standing = Gate::new();
    let child = zoo.fork("setuid", |_| {
        raw::as_stdin(stdin.reader());
        for stream in 1..3 {
            raw::to_null(stream);
        }
        let left = u32::try_from((zoo.ends_at - raw::boot_nanos()) / 1_000_000_000).unwrap_or(1).max(1);
        raw::alarm(left);
        raw::close_on_exec(standing.writer());
        let text = |text: &str| CString::new(text).unwrap_or_default();
        let marker = zoo.marker.as_deref().unwrap_or(std::path::Path::new("")).display();
        // The marker keeps the shell recognisable, and the second command keeps it a shell.
        let command = format!("sleep {left}; : {marker}");
        let args = [text("su"), text("-s"), text("/bin/sh"), text("-c"), text(&command)];
        let _ = nix::unistd::execve(&text(program), &args, &[text("PATH=/usr/bin:/bin")]);
    });
    // Opens when it has executed.
    standing.wait();
    zoo.ready();
    let _ = child;
    zoo.stay()
}
