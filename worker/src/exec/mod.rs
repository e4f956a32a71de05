//! Exec mode: what every foreign command starts as.
//!
//! The spawning side never runs code in a copy of itself, so everything a process must do to itself before `execve` happens
//! here; what is wanted of confinement comes as a descriptor, and what is in force goes back over the status pipe. Then it waits behind its barrier: until the worker's byte arrives nothing of the command has run, and if the worker
//! goes away nothing of it ever will.
//!
//! Arguments and environment arrive as the kernel hands them over, so nothing is parsed or copied twice. Each variable carries
//! a prefix that keeps it from having effects here, where it could run code in front of the barrier (`LD_PRELOAD`).

mod request;

pub use request::Request;

use crate::note::note;
use ouroboros_process::SpawnError;
use ouroboros_process::exec::{replace, resolve};
use ouroboros_proto::agent::{ConfineStep, Unconfined};
use ouroboros_proto::kind::ExitCode;
use ouroboros_sandbox::report::{self, Failure, Word};
use ouroboros_sandbox::{Confinement, Custody, Inherited, custody, take_confinement};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Where programs are searched when the environment names no `PATH`, as in execvp(3).
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Waits and becomes the command; comes back only when it cannot, after it reported why. The code means nothing then.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Ok(inherited) = Inherited::take() else {
        note("exec mode is for workers");
        return ExitCode::Usage;
    };
    let failed = |failure| report::write(&inherited.status, &Word::Failed(failure));
    let Some(request) = Request::from_arguments(arguments) else {
        failed(Failure::SetUp { errno: Errno::INVAL.raw_os_error() });
        return ExitCode::Usage;
    };
    match prepare(&request, &inherited) {
        // What comes from the network is never read where an attempt is held, so it is read here.
        Ok(()) if request.ours => return fetch(),
        Ok(()) => failed(become_it(&request)),
        Err(Some(failure)) => failed(failure),
        Err(None) => {}
    }
    ExitCode::Unavailable
}

fn fetch() -> ExitCode {
    if ouroboros_fetch::main() == std::process::ExitCode::SUCCESS { ExitCode::Stopped } else { ExitCode::Io }
}

/// Everything up to the open barrier. `Err(None)` when it never opens, or when it was said already why it need not.
fn prepare(request: &Request, inherited: &Inherited) -> Result<(), Option<Failure>> {
    let unconfined = |why| {
        report::write(&inherited.status, &Word::Unconfined(why));
        None
    };
    // Its number is free as long as nothing was opened.
    let confinement = request.confined.then(confinement).transpose().map_err(unconfined)?;
    let no_new_privs = request.no_new_privs && confinement.is_none();
    let wanted = Custody { parent: request.parent, terminal: request.terminal, no_new_privs };
    custody::enter(wanted).map_err(|error| Some(Failure::SetUp { errno: error.raw_os_error().unwrap_or(0) }))?;
    if let Some(confinement) = confinement {
        let confined = ouroboros_sandbox::apply(&confinement, request.parent).map_err(unconfined)?;
        report::write(&inherited.status, &Word::Confined(confined));
    }
    loop {
        match rustix::io::read(&inherited.barrier, &mut [0_u8; 1]) {
            Ok(0) => return Err(None),
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(Some(Failure::SetUp { errno: error.raw_os_error() })),
        }
    }
}

fn confinement() -> Result<Confinement, Unconfined> {
    let failed = |errno: i32| Unconfined::Failed { step: ConfineStep::Request, errno };
    let from = take_confinement().map_err(|error| failed(error.raw_os_error()))?;
    Confinement::take_over(from).map_err(|error| failed(error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error())))
}

/// Returns only when it failed.
fn become_it(request: &Request) -> Failure {
    if let Err(error) = rustix::process::chdir(request.cwd.as_os_str()) {
        return Failure::Directory { errno: error.raw_os_error() };
    }
    let path = request.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
    let Some(name) = request.argv.first() else { return Failure::NotFound };
    match resolve(name, path) {
        Ok(program) => failure(&program, replace(&program, &request.argv, &request.env)),
        Err(error) => failure(Path::new(name), error),
    }
}

/// A file that is there while the kernel says `ENOENT` names an interpreter that is not.
fn failure(program: &Path, error: SpawnError) -> Failure {
    match error {
        SpawnError::NotFound if program.is_file() => Failure::NotExecutable { errno: Errno::NOENT.raw_os_error() },
        SpawnError::NotFound => Failure::NotFound,
        SpawnError::NotExecutable { errno } | SpawnError::Limit { errno, .. } => Failure::NotExecutable { errno },
        SpawnError::BadDirectory { errno } => Failure::Directory { errno },
        SpawnError::Namespace { errno, .. } | SpawnError::Other { errno, .. } => Failure::SetUp { errno },
        SpawnError::Invalid(_) => Failure::SetUp { errno: Errno::INVAL.raw_os_error() },
    }
}
