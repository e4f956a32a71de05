//! Why the launcher does not start, or does not go on.

use ouroboros_proto::kind::ExitCode;
use std::io;
use std::path::Path;

/// What happened and what was kept, what to do, and the exit code for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// How the launcher ends.
    pub code: ExitCode,
    /// What happened and what was kept.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

impl Refusal {
    /// A refusal of these words.
    pub fn new(code: ExitCode, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { code, message: message.into(), remedy: remedy.into() }
    }

    /// The machine refused something that it normally gives.
    pub fn system(what: &str, error: &io::Error) -> Self {
        Self::new(
            ExitCode::Unavailable,
            format!("the launcher cannot {what}: {error}; nothing was started"),
            "Look at the limits of this user (`ulimit -a`) and of the machine.",
        )
    }

    /// The server ended with an exit code that says why it will not work until something is changed.
    pub fn of_server(code: ExitCode, data_dir: &Path) -> Self {
        let (what, remedy) = explain(code, data_dir);
        let number = code.code();
        Self::new(code, format!("the server ended with exit code {number}: {what}; accepted tasks are kept"), remedy)
    }
}

fn explain(code: ExitCode, data_dir: &Path) -> (&'static str, String) {
    let dir = data_dir.display();
    match code {
        ExitCode::Usage => (
            "it does not understand how it was started",
            "Install launcher, server and worker of one build side by side.".to_owned(),
        ),
        ExitCode::Data => (
            "the stored data cannot be read, or is of a newer version",
            "Start the newer build again, or put a backup in place with `ouroboros restore FILE`.".to_owned(),
        ),
        ExitCode::Unavailable => (
            "something that it needs is not there",
            "Its own message says what; `ouroboros doctor` checks the rest.".to_owned(),
        ),
        ExitCode::CantCreate => (
            "a file or directory could not be created",
            format!("Check free space and permissions of {dir}, then `ouroboros up`."),
        ),
        ExitCode::Io => ("reading or writing failed", format!("Check the disk that holds {dir}, then `ouroboros up`.")),
        ExitCode::NoPermission => (
            "its files belong to somebody else, or may not be written",
            format!("Make yourself the owner of {dir}, or choose another place with OUROBOROS_HOME."),
        ),
        ExitCode::Config => (
            "the configuration is not valid",
            "`ouroboros config check` names the line, `ouroboros config edit` changes it.".to_owned(),
        ),
        ExitCode::Stopped | ExitCode::Restart | ExitCode::Panic | ExitCode::Orphaned | ExitCode::Mismatch => {
            ("it ended", "`ouroboros up` starts it again.".to_owned())
        }
    }
}
