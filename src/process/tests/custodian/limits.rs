//! Runs without privilege, into the limits of the user and out of them again.

use ouroboros_process::{Command, Program, SpawnError, Spawner, Status, Stdio};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::process::ExitCode;

pub fn run(words: &[&str]) -> ExitCode {
    ignore_exits();
    let spawner = Spawner::start().unwrap();
    let start = |namespaces: bool| {
        let (path, args) = words.split_first().expect("a program");
        let args = args.iter().map(Into::into).collect();
        spawner.spawn(Command { args, namespaces, stderr: Stdio::Inherit, ..Command::new(Program::Path(path.into())) })
    };
    // An inherited "ignore" of SIGCHLD would have lost this exit.
    assert_eq!(start(false).unwrap().wait().unwrap().status, Status::Exited(3));

    for (resource, most) in [(Resource::Nofile, 4), (Resource::Nproc, 1)] {
        let before = getrlimit(resource);
        setrlimit(resource, Rlimit { current: Some(most), ..before }).unwrap();
        for namespaces in [false, true] {
            let failed = start(namespaces).map(|child| child.pid());
            assert!(matches!(failed, Err(SpawnError::Limit { .. })), "{resource:?} {failed:?}");
        }
        setrlimit(resource, before).unwrap();
        assert_eq!(start(false).unwrap().wait().unwrap().status, Status::Exited(3));
    }
    println!("ok");
    ExitCode::SUCCESS
}

#[allow(unsafe_code, reason = "the state in which some service managers start programs")]
fn ignore_exits() {
    // SAFETY: installs no code.
    unsafe { nix::sys::signal::signal(nix::sys::signal::Signal::SIGCHLD, nix::sys::signal::SigHandler::SigIgn) }
        .unwrap();
}
