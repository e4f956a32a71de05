//! A worker or server reduced to its custody, for the tests: it adopts, starts one program, and ends it when it is told to.
//!
//! ```text
//! custodian [--as-nobody] hold [--no-subreaper] [--namespaces] [--root-child] -- PROGRAM ARGS…
//! custodian lock FILE
//! custodian reuse PROGRAM ARGS…
//! custodian limits PROGRAM ARGS…
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test program: what fails must be seen at once"
)]

mod hold;
mod limits;
mod reuse;

use ouroboros_process::lock::{Acquired, InstanceLock};
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.first() == Some(&"--as-nobody") {
        words.remove(0);
        become_nobody();
    }
    match words.split_first() {
        Some((&"hold", rest)) => hold::run(rest),
        Some((&"lock", [path])) => lock(Path::new(path)),
        Some((&"reuse", rest)) => reuse::run(rest),
        Some((&"limits", rest)) => limits::run(rest),
        Some((&"probe", _)) => wait_for_end(),
        _ => ExitCode::from(2),
    }
}

/// Gives up root for good and stays as open to examination as a program started by that user.
fn become_nobody() {
    let nobody = 65_534;
    nix::unistd::setgroups(&[]).unwrap();
    nix::unistd::setresgid(nobody.into(), nobody.into(), nobody.into()).unwrap();
    nix::unistd::setresuid(nobody.into(), nobody.into(), nobody.into()).unwrap();
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable).unwrap();
}

fn lock(path: &Path) -> ExitCode {
    match InstanceLock::acquire(path) {
        Ok(Acquired::Held(_lock)) => {
            println!("ready held");
            wait_for_end()
        }
        other => {
            println!("ready {other:?}");
            ExitCode::from(69)
        }
    }
}

fn wait_for_end() -> ExitCode {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    ExitCode::SUCCESS
}
