//! Holding one program, and ending it in the way each line of standard input names.

use ouroboros_process::{Child, Command, Program, Signal, Spawner, Stdio, reaper, set_subreaper};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::ExitCode;
use std::time::Duration;

/// Ten times what the slowest shape needs.
const BOUND: Duration = Duration::from_secs(20);

pub fn run(words: &[&str]) -> ExitCode {
    let mut options = words.split(|word| *word == "--");
    let flags = options.next().unwrap_or_default();
    let program: Vec<&str> = words.iter().copied().skip(flags.len() + 1).collect();
    if !flags.contains(&"--no-subreaper") {
        set_subreaper().unwrap();
    }
    let spawner = Spawner::start().unwrap();
    let (stdin, _hold) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let (lines, stdout) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let (path, args) = program.split_first().expect("a program");
    let command = Command {
        args: args.iter().map(Into::into).collect(),
        stdin: Stdio::Fd(stdin),
        stdout: Stdio::Fd(stdout),
        stderr: Stdio::Inherit,
        namespaces: flags.contains(&"--namespaces"),
        ..Command::new(Program::Path(path.into()))
    };
    let child = match spawner.spawn(command) {
        Ok(child) => child,
        Err(error) => {
            say(&format!("failed {error}"));
            return ExitCode::FAILURE;
        }
    };
    let mut ready = String::new();
    BufReader::new(File::from(lines)).read_line(&mut ready).unwrap();
    if flags.contains(&"--drop-after") {
        super::become_nobody();
    }
    say(&format!("{} child {}", ready.trim(), child.pid()));
    obey(&child);
    // A test that failed leaves nothing either.
    let _ = child.kill_group(Signal::KILL);
    if !flags.contains(&"--no-subreaper") {
        reaper::end_everything(&|_| false, BOUND);
    }
    ExitCode::SUCCESS
}

fn say(line: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).unwrap();
}

fn obey(child: &Child) {
    for line in std::io::stdin().lines() {
        let start = ouroboros_proto::kind::clock::boot();
        let (report, bound) = match line.unwrap().as_str() {
            "everything" => (reaper::end_everything(&|_| false, BOUND), BOUND),
            "tree" => (reaper::end_tree(child, BOUND), BOUND),
            "tree-briefly" => (reaper::end_tree(child, Duration::from_millis(50)), Duration::from_millis(50)),
            "adopted" => (reaper::end_adopted(BOUND), BOUND),
            "orphans" => {
                child.pidfd().signal(Signal::KILL).unwrap();
                assert!(child.pidfd().wait_dead(BOUND));
                (reaper::end_adopted(BOUND), BOUND)
            }
            "group" => {
                let _ = child.kill_group(Signal::KILL);
                assert!(child.pidfd().wait_dead(BOUND));
                (reaper::Report::default(), BOUND)
            }
            other => panic!("unknown order {other}"),
        };
        let took = ouroboros_proto::kind::clock::boot().get() - start.get();
        let exit = child.try_wait().map(|exit| exit.map(|exit| exit.status));
        let refused = report.survivors.iter().filter(|survivor| survivor.refused).count();
        say(&format!(
            "report clean={} ended={} survivors={} refused={refused} unknown={:?} micros={took} bound={} exit={exit:?}",
            report.is_clean(),
            report.ended,
            report.survivors.len(),
            report.unknown,
            bound.as_millis(),
        ));
    }
}
