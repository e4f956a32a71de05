//! Runs as root of a PID namespace of its own, and makes another process take the number of a recorded one.

use ouroboros_process::ledger::{Ended, Verdict};
use ouroboros_process::{Child, Command, PidFd, Program, Signal, SpawnError, Spawner, Stdio, identity, ledger};
use std::process::ExitCode;
use std::time::Duration;

const BOUND: Duration = Duration::from_secs(20);

pub fn run(words: &[&str]) -> ExitCode {
    let spawner = Spawner::start().unwrap();
    let start = || start(&spawner, words).unwrap();
    if let Err(error) = std::fs::write("/proc/sys/kernel/ns_last_pid", "500") {
        println!("skip {error}");
        return ExitCode::SUCCESS;
    }

    // Between a restart and the look at its ledger.
    let recorded = end(start());
    let stranger = take_number(&start, recorded.pid);
    assert!(!recorded.same(stranger.identity()), "{recorded:?} {stranger:?}");
    assert!(matches!(ledger::judge(&recorded), Verdict::Stranger), "{:?}", ledger::judge(&recorded));
    assert!(matches!(ledger::end(&recorded, BOUND), Ended::Ended));
    assert!(!stranger.pidfd().is_dead(), "the stranger was signalled");
    assert_eq!(stranger.try_wait().unwrap(), None);
    // Kernels without pidfd inodes and rows written by them are told apart by the start time alone.
    let old_row = ouroboros_proto::kind::Identity { pidfd_inode: None, ..recorded.clone() };
    if recorded.start_ticks != stranger.identity().start_ticks {
        assert!(matches!(ledger::judge(&old_row), Verdict::Stranger));
    }
    end(stranger);

    // Between the check and the signal.
    let first = start();
    let Verdict::Ours(held) = ledger::judge(first.identity()) else { panic!("own child not recognised") };
    let recorded = end(first);
    let stranger = take_number(&start, recorded.pid);
    assert!(held.is_dead());
    assert!(held.signal(Signal::KILL).is_err(), "the handle reached somebody");
    assert!(!stranger.pidfd().wait_dead(Duration::from_millis(20)), "the stranger was signalled");
    assert!(identity::read(recorded.pid).unwrap().unwrap().same(stranger.identity()));
    assert!(PidFd::open(recorded.pid).unwrap().is_some());
    end(stranger);
    println!("ok");
    ExitCode::SUCCESS
}

fn start(spawner: &Spawner, words: &[&str]) -> Result<Child, SpawnError> {
    let (path, args) = words.split_first().expect("a program");
    let args = args.iter().map(Into::into).collect();
    spawner.spawn(Command { args, stderr: Stdio::Inherit, ..Command::new(Program::Path(path.into())) })
}

/// Ends and reaps it; what remains is what a ledger knows.
fn end(child: Child) -> ouroboros_proto::kind::Identity {
    child.pidfd().signal(Signal::KILL).unwrap();
    child.wait().unwrap();
    child.identity().clone()
}

fn take_number(start: &dyn Fn() -> Child, number: i32) -> Child {
    std::fs::write("/proc/sys/kernel/ns_last_pid", (number - 1).to_string()).unwrap();
    let child = start();
    assert_eq!(child.pid(), number, "the number was not given again");
    child
}
