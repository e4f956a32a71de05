//! Process shapes: each sub-command is a way in which programs make it hard to end them.
//!
//! Prints `ready <pid>` when the shape stands (`flood-output` on standard error). `--marker FILE` collects `<role> <pid>` lines, with
//! the numbers of the namespace the shape runs in. Everything ends by itself after `--max-seconds` (120). Every process keeps the
//! command line it was started with, so a unique marker path finds all of them.

mod escape;
mod plain;
mod raw;
mod stubborn;

use raw::Zoo;
use std::process::ExitCode;

/// One sub-command.
struct Shape {
    name: &'static str,
    about: &'static str,
    run: fn(&Zoo, &[String]) -> ExitCode,
}

const SHAPES: &[Shape] = &[
    Shape { name: "leader-exits", about: "a child stays in the group, the leader exits", run: escape::leader_exits },
    Shape {
        name: "double-fork",
        about: "an orphan in a session of its own; the leader stays",
        run: escape::double_fork,
    },
    Shape {
        name: "clear-env",
        about: "as double-fork, then executed anew without environment",
        run: escape::clear_env,
    },
    Shape {
        name: "hold-pipe",
        about: "the leader exits, an orphan in its own session keeps stdout",
        run: escape::hold_pipe,
    },
    Shape {
        name: "chain",
        about: "[HOPS=250] each forks one in a new session and exits; the last stays",
        run: escape::chain,
    },
    Shape { name: "tower", about: "[LEVELS=250] each forks one in a new session and stays", run: escape::tower },
    Shape {
        name: "fork-storm",
        about: "[LINES=8] lines of processes that fork and exit, for ever",
        run: escape::fork_storm,
    },
    Shape { name: "ignore-term", about: "ignores every signal it can", run: stubborn::ignore_term },
    Shape { name: "spin-on-exit", about: "ignores signals and burns CPU", run: stubborn::spin_on_exit },
    Shape { name: "stopped", about: "stopped by SIGSTOP, a child likewise", run: stubborn::stopped },
    Shape { name: "non-dumpable", about: "parent and child that /proc hides from others", run: stubborn::non_dumpable },
    Shape { name: "main-thread-exits", about: "the main thread ends, another stays", run: stubborn::main_thread_exits },
    Shape { name: "fill-memory", about: "BYTES touches so much memory", run: stubborn::fill_memory },
    Shape {
        name: "setuid",
        about: "waits in a set-uid program; exit code 77 when there is none",
        run: stubborn::setuid,
    },
    Shape { name: "three-deep", about: "child, grandchild, great-grandchild", run: plain::three_deep },
    Shape { name: "exit-at-once", about: "exits 0", run: plain::exit_at_once },
    Shape { name: "exit-code", about: "CODE exits with it", run: plain::exit_code },
    Shape { name: "kill-self", about: "SIGNAL dies by that signal", run: plain::kill_self },
    Shape { name: "sleep", about: "[SECONDS] sleeps, then exits 0", run: plain::sleep },
    Shape { name: "flood-output", about: "BYTES writes so much", run: plain::flood_output },
    Shape { name: "read-stdin", about: "reads to the end, prints `stdin <bytes>`", run: plain::read_stdin },
    Shape { name: "open-tty", about: "prints `tty yes` or `tty no`", run: plain::open_tty },
];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let mut zoo = Zoo { marker: None, ends_at: 0, gate: None };
    let mut seconds: i64 = 120;
    let mut ends_at = None;
    let name = loop {
        let word = words.next();
        let mut value = || words.next().unwrap_or_default();
        match word.as_deref() {
            Some("--marker") => zoo.marker = Some(value().into()),
            Some("--max-seconds") => seconds = value().parse().unwrap_or(seconds),
            // For a shape that executes this program again: the same end, and a descriptor in place of the ready line.
            Some("--ends-at") => ends_at = value().parse().ok(),
            Some("--gate") => zoo.gate = value().parse().ok(),
            Some(name) => break name.to_owned(),
            None => break String::new(),
        }
    };
    let Some(shape) = SHAPES.iter().find(|shape| shape.name == name) else { return usage() };
    let from_now = || raw::boot_nanos().saturating_add(seconds.saturating_mul(1_000_000_000));
    zoo.ends_at = ends_at.unwrap_or_else(from_now);
    zoo.enter("leader");
    let rest: Vec<String> = words.collect();
    (shape.run)(&zoo, &rest)
}

fn usage() -> ExitCode {
    eprintln!("usage: zoo [--marker FILE] [--max-seconds N] SHAPE [ARGUMENT]");
    for shape in SHAPES {
        eprintln!("  {:<18} {}", shape.name, shape.about);
    }
    ExitCode::from(2)
}

/// The shape's one argument, or what it is without.
fn argument<T: std::str::FromStr>(rest: &[String], default: T) -> T {
    rest.first().and_then(|word| word.parse().ok()).unwrap_or(default)
}
