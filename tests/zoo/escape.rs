//! Shapes that leave their parent, group or session.

use crate::argument;
use crate::raw::{self, Gate, Zoo};
use std::ffi::CString;
use std::process::ExitCode;

/// The orphan keeps the group but no stream, so only the group shows where it belongs.
pub fn leader_exits(zoo: &Zoo, _: &[String]) -> ExitCode {
    let gate = Gate::new();
    zoo.fork("orphan", |zoo| {
        (0..3).for_each(raw::to_null);
        gate.open();
        zoo.stay()
    });
    gate.wait();
    zoo.ready();
    ExitCode::SUCCESS
}

/// Runs `body` in an orphan that leads a session of its own.
fn orphan(zoo: &Zoo, body: impl FnOnce(&Zoo)) {
    zoo.fork("between", |zoo| {
        raw::new_session();
        zoo.fork("orphan", body);
    });
}

pub fn double_fork(zoo: &Zoo, _: &[String]) -> ExitCode {
    let gate = Gate::new();
    orphan(zoo, |zoo| {
        (0..3).for_each(raw::to_null);
        gate.open();
        zoo.stay()
    });
    gate.wait();
    zoo.ready();
    zoo.stay()
}

pub fn clear_env(zoo: &Zoo, _: &[String]) -> ExitCode {
    let gate = Gate::new();
    orphan(zoo, |zoo| {
        (0..3).for_each(raw::to_null);
        anew(zoo, gate.writer(), &["sleep"]);
    });
    gate.wait();
    zoo.ready();
    zoo.stay()
}

pub fn hold_pipe(zoo: &Zoo, _: &[String]) -> ExitCode {
    let gate = Gate::new();
    orphan(zoo, |zoo| {
        gate.open();
        zoo.stay()
    });
    gate.wait();
    zoo.ready();
    ExitCode::SUCCESS
}

/// No marker for each hop: it would only slow the runaway down.
pub fn chain(zoo: &Zoo, rest: &[String]) -> ExitCode {
    let hops: u64 = argument(rest, 250);
    zoo.ready();
    (0..3).for_each(raw::to_null);
    let mut left = hops;
    while left > 0 && raw::boot_nanos() < zoo.ends_at {
        // The one that forked exits; only its child goes on.
        match raw::fork_here() {
            0 => raw::new_session(),
            -1 => raw::nap(1000),
            _ => raw::exit_now(0),
        }
        left -= 1;
    }
    raw::arm_kill(zoo.ends_at);
    zoo.stay()
}

/// Each level is executed anew, as nested shells are: a copy of a copy of a copy would cost the kernel the square of its depth.
pub fn tower(zoo: &Zoo, rest: &[String]) -> ExitCode {
    let levels: u32 = argument(rest, 250);
    match zoo.gate {
        Some(writer) => {
            level(zoo, levels, writer);
            zoo.ready();
        }
        None => {
            let gate = Gate::new();
            level(zoo, levels, gate.writer());
            gate.wait();
            zoo.ready();
        }
    }
    zoo.stay()
}

fn level(zoo: &Zoo, levels: u32, gate: i32) {
    if levels > 0 {
        zoo.fork("level", |zoo| {
            raw::new_session();
            anew(zoo, gate, &["tower", &(levels - 1).to_string()]);
        });
    }
}

/// Executes this program again, without environment, as a shape that opens the gate when it stands.
fn anew(zoo: &Zoo, gate: i32, shape: &[&str]) {
    let text = |text: &str| CString::new(text).unwrap_or_default();
    let (gate, ends_at) = (gate.to_string(), zoo.ends_at.to_string());
    let mut args = ["zoo", "--gate", &gate, "--ends-at", &ends_at].map(text).to_vec();
    if let Some(marker) = &zoo.marker {
        args.extend([text("--marker"), text(&marker.to_string_lossy())]);
    }
    args.extend(shape.iter().map(|word| text(word)));
    let _ = nix::unistd::execve::<CString, CString>(c"/proc/self/exe", &args, &[]);
}

/// Some lines stay in the group, some lead a session; the leader goes on starting children of its own.
pub fn fork_storm(zoo: &Zoo, rest: &[String]) -> ExitCode {
    let lines: u32 = argument(rest, 8);
    for line in 0..lines {
        if raw::fork_here() == 0 {
            (0..3).for_each(raw::to_null);
            run_line(zoo, line % 2 == 0);
        }
    }
    zoo.ready();
    (0..3).for_each(raw::to_null);
    loop {
        if raw::fork_here() == 0 {
            raw::nap(500);
            raw::exit_now(0);
        }
        raw::reap_ended();
        raw::nap(200);
    }
}

/// One process after the other, each living a fraction of a millisecond.
fn run_line(zoo: &Zoo, leave: bool) -> ! {
    while raw::boot_nanos() < zoo.ends_at {
        raw::nap(200);
        match raw::fork_here() {
            0 if leave => raw::new_session(),
            0 | -1 => {}
            _ => raw::exit_now(0),
        }
    }
    raw::exit_now(0)
}
