//! Tools that run programs. What is run and what is told of it is decided here; how a program runs, confined and under custody, is
//! the business of who gives a [`Programs`].
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`run`] | `run_command`, `run_script` |
//! | [`service`] | `start_service`, `service_status`, `stop_service` |
//! | [`verify`] | `verify_and_record` |
//! | [`vcs`] | `vcs_status`, `vcs_diff`, `vcs_log`, `vcs_show` |
//! | `told` | what a model reads of a program's end |
//!
//! Invariants: a program is asked for once per call, so that nothing happens twice; what it wrote is masked as a whole before it is
//! cut; a program that ran and failed is a result, not a fault of the tool.

pub mod run;
pub mod service;
pub mod vcs;
pub mod verify;

mod told;

use crate::outcome::{Attempt, Code, Outcome};
use crate::registry::{Call, Tool};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// How long a program may run when the call does not say.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
/// How long at most.
pub const MOST_TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// Bytes of one argument, and of all together: what the kernel takes (execve(2)), with room for the environment.
const ARGUMENT_BYTES: usize = 128 << 10;
const ARGUMENTS_BYTES: usize = 1 << 20;

/// A program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Program and arguments; at least one.
    pub argv: Vec<String>,
    /// The text of the script whose file `argv` names: what is decided about, and shown.
    pub script: Option<String>,
    /// Where, absolute and without links.
    pub cwd: PathBuf,
    /// What it reads.
    pub stdin: Vec<u8>,
    /// Variables beside those that every program gets.
    pub env: Vec<(&'static str, &'static str)>,
    /// How long it may run.
    pub timeout: Duration,
    /// What it may do beyond looking.
    pub rights: Rights,
    /// Whether standard error is kept apart.
    pub apart: bool,
}

/// What a program may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// Look, and write in its own scratch directory.
    Look,
    /// What tasks are given.
    Usual {
        /// Whether it asks for the network.
        network: bool,
    },
    /// It asks to be confined by nothing but who it runs as.
    Unconfined,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It exited with this code.
    Exited(u8),
    /// A signal ended it.
    Signaled {
        /// Which.
        signal: u8,
        /// Whether memory ran out, as far as anybody knows.
        out_of_memory: bool,
    },
    /// Its time was over.
    TimedOut,
    /// The call was stopped.
    Stopped,
    /// There is no such program.
    NotFound,
    /// It cannot be executed; with the reason in words.
    NotExecutable(String),
}

/// What a program did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub end: End,
    /// How long it ran.
    pub took: Duration,
    /// Standard output, with standard error in it unless that was to be kept apart.
    pub stdout: Seen,
    /// Standard error, where it was kept apart.
    pub stderr: Seen,
    /// Processes that it left behind and that were ended.
    pub left: usize,
}

/// What was written to a stream, as far as it is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// From the start.
    pub head: Vec<u8>,
    /// Bytes between the two that are gone.
    pub lost: u64,
    /// To the end.
    pub tail: Vec<u8>,
}

/// A service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// Its process.
    pub pid: i32,
    /// How it ended, when it has.
    pub end: Option<End>,
    /// How long it has run.
    pub took: Duration,
    /// What it wrote, as far as it is kept.
    pub output: Seen,
}

/// When a service is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// A text that it writes. Without one and without a port it is ready when it still runs after [`Ready::within`].
    pub says: Option<String>,
    /// A port of this machine on which it accepts connections. With a text as well, both are waited for.
    pub port: Option<u16>,
    /// How long that may take.
    pub within: Duration,
}

/// Runs programs under custody. A refusal or a fault comes back as an outcome; nothing has run then.
pub trait Programs {
    /// Runs a program to its end, and ends what it leaves behind.
    ///
    /// # Errors
    /// It was not started.
    fn run(&self, start: Start) -> Attempt<Ran>;
    /// Starts a service and returns when it is ready, is over, or takes too long: it runs on then.
    ///
    /// # Errors
    /// It was not started.
    fn start(&self, name: &str, start: Start, ready: &Ready) -> Attempt<(Service, bool)>;
    /// The services of this attempt, in the order in which they were started.
    fn services(&self) -> Vec<Service>;
    /// Ends a service and everything it started.
    ///
    /// # Errors
    /// There is none of this name.
    fn stop(&self, name: &str) -> Attempt<Service>;
    /// Puts a file that only this attempt uses beside others of its kind; gives its path.
    ///
    /// # Errors
    /// It cannot be written.
    fn scratch(&self, name: &str, bytes: &[u8]) -> Attempt<PathBuf>;
}

/// The tools of this kind.
#[must_use]
pub fn all() -> Vec<Box<dyn Tool>> {
    vec![
        Box::new(run::RunCommand),
        Box::new(run::RunScript),
        Box::new(service::StartService),
        Box::new(service::ServiceStatus),
        Box::new(service::StopService),
        Box::new(verify::VerifyAndRecord),
        Box::new(vcs::VcsStatus),
        Box::new(vcs::VcsDiff),
        Box::new(vcs::VcsLog),
        Box::new(vcs::VcsShow),
    ]
}

fn programs<'a>(call: &Call<'a>) -> Attempt<&'a dyn Programs> {
    call.programs
        .ok_or_else(|| Outcome::not_ok(Code::HiddenByPolicy, "Programs cannot be run here. Go on without them."))
}

/// The directory that a call names, as a path without links.
fn directory(call: &Call<'_>, path: Option<&str>) -> Attempt<PathBuf> {
    let shown = call.folder.directory(path.unwrap_or("."))?;
    let folder = call.folder.path();
    Ok(if shown.path.as_os_str().is_empty() { folder.to_owned() } else { folder.join(&shown.path) })
}

/// Program and arguments that the kernel takes.
fn checked(argv: Vec<String>) -> Attempt<Vec<String>> {
    let bad = |words: String| Err(Outcome::not_ok(Code::BadArguments, words));
    if argv.first().is_none_or(String::is_empty) {
        return bad("argv is empty. Give the program first: [\"cargo\", \"test\"]. Nothing was done.".to_owned());
    }
    if argv.iter().any(|argument| argument.contains('\0')) {
        return bad("An argument contains a zero byte. Nothing was done.".to_owned());
    }
    if argv.iter().any(|argument| argument.len() >= ARGUMENT_BYTES) {
        return bad(format!(
            "An argument has {ARGUMENT_BYTES} bytes or more, which the system does not take. Write it to a file. Nothing was done."
        ));
    }
    if argv.iter().map(String::len).sum::<usize>() > ARGUMENTS_BYTES {
        return bad(format!(
            "The arguments have more than {ARGUMENTS_BYTES} bytes together. Write them to a file. Nothing was done."
        ));
    }
    Ok(argv)
}

fn timeout(seconds: Option<u64>) -> Attempt<Duration> {
    match seconds.map(Duration::from_secs) {
        None => Ok(DEFAULT_TIMEOUT),
        Some(Duration::ZERO) => Err(Outcome::not_ok(Code::BadArguments, "timeout_s is 0. Nothing was done.")),
        Some(time) if time > MOST_TIMEOUT => {
            let words = format!(
                "timeout_s is at most {}. For what runs longer use start_service. Nothing was done.",
                MOST_TIMEOUT.as_secs()
            );
            Err(Outcome::not_ok(Code::BadArguments, words))
        }
        Some(time) => Ok(time),
    }
}

/// The parts of a schema that several tools share.
fn argv_schema() -> Value {
    serde_json::json!({
        "type": "array", "items": { "type": "string" }, "minItems": 1,
        "description": "The program and its arguments; no shell reads them."
    })
}

fn cwd_schema() -> Value {
    serde_json::json!({ "type": "string", "description": "Where it runs, relative to the folder; the folder when absent." })
}

fn timeout_schema() -> Value {
    serde_json::json!({
        "type": "integer", "minimum": 1, "maximum": MOST_TIMEOUT.as_secs(),
        "description": format!("Seconds it may run; {} when absent.", DEFAULT_TIMEOUT.as_secs())
    })
}

fn network_schema() -> Value {
    serde_json::json!({
        "type": "boolean",
        "description": "Whether it needs the network, which is off otherwise. The person may have to allow it."
    })
}

#[cfg(test)]
mod tests;
