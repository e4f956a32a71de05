//! What a verb could not do, and how it is told.

use crate::client::{BUILD, ClientError};
use ouroboros_proto::api::API_VERSION;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Why a verb did not do what it was asked for.
#[derive(Debug)]
pub enum Failure {
    /// Whoever read our output left. There is nobody to tell and nothing to tell.
    Closed,
    /// Something to tell.
    Told(Box<Report>),
}

/// What happened, what was kept, what to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// A stable word for it.
    pub code: String,
    /// What happened and what was kept.
    pub message: String,
    /// What to do.
    pub remedy: Option<String>,
    /// Facts.
    pub detail: Option<Value>,
    /// Exit code.
    pub exit: u8,
}

impl Failure {
    /// A failure with exit code 1.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self::Told(Box::new(Report {
            code: code.to_owned(),
            message: message.into(),
            remedy: None,
            detail: None,
            exit: 1,
        }))
    }

    /// Wrong usage: exit code 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new("usage", message).exit(super::USAGE)
    }

    /// Something on this machine failed.
    pub fn io(what: impl std::fmt::Display, error: &io::Error) -> Self {
        Self::new("io", format!("{what}: {error}"))
    }

    /// Whether it is this refusal.
    pub fn is(&self, code: ouroboros_proto::api::Code) -> bool {
        matches!(self, Self::Told(report) if report.code == code.as_str())
    }

    /// What happened, without what to do.
    pub fn message(&self) -> String {
        match self {
            Self::Told(report) => report.message.clone(),
            Self::Closed => String::new(),
        }
    }

    /// The same with what to do.
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        if let Self::Told(report) = &mut self {
            report.remedy = Some(remedy.into());
        }
        self
    }

    /// The same with another exit code.
    pub fn exit(mut self, exit: u8) -> Self {
        if let Self::Told(report) = &mut self {
            report.exit = exit;
        }
        self
    }

    /// The same with words before its message.
    pub fn about(mut self, what: &str) -> Self {
        if let Self::Told(report) = &mut self {
            report.message = format!("{what}: {}", report.message);
        }
        self
    }

    /// With an exit code that cannot be taken for one of a task's command.
    #[must_use]
    pub fn told_apart(mut self) -> Self {
        if let Self::Told(report) = &mut self
            && report.exit == 1
        {
            report.exit = super::OURS;
        }
        self
    }

    /// Tells it on standard error and gives the exit code. `other_build` is the server's, when it is not ours.
    pub fn tell(&self, json: bool, other_build: Option<&str>) -> u8 {
        let Self::Told(report) = self else { return 0 };
        let text = if json { format!("{}\n", report.json()) } else { report.text(other_build) };
        // Without a standard error the exit code has to do.
        let _ = io::stderr().write_all(text.as_bytes());
        report.exit
    }
}

impl Report {
    /// For programs.
    fn json(&self) -> Value {
        let Self { code, message, remedy, detail, exit } = self;
        json!({ "api": API_VERSION, "error":
            { "code": code, "message": message, "remedy": remedy, "detail": detail, "exit_code": exit } })
    }

    /// For people. Remedies are about one build; when two are at work that is said too.
    fn text(&self, other_build: Option<&str>) -> String {
        let lines: Vec<String> = self.message.lines().map(crate::render::clean).collect();
        let mut text = format!("error[{}]: {}\n", self.code, lines.join("\n  "));
        if let Some(remedy) = &self.remedy {
            let lines: Vec<String> = remedy.lines().map(crate::render::clean).collect();
            let _ = writeln!(text, "  {}", lines.join("\n  "));
        }
        if let Some(build) = other_build {
            let _ = writeln!(text, "  {}", skew(build));
        }
        text
    }
}

/// What to do when the server is of another build.
pub fn skew(build: &str) -> String {
    let build = crate::render::clean(build);
    format!(
        "The server is of build {build}, this command of {BUILD}; `ouroboros restart --drain` starts the installed one."
    )
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        match error {
            ClientError::NotRunning { .. } => Self::new("not_running", format!("Ouroboros is not running: {message}."))
                .remedy("Start it with `ouroboros up`."),
            ClientError::Unreachable { .. } => Self::new("unreachable", format!("{message}."))
                .remedy("`ouroboros doctor` checks who owns it and what its permissions are."),
            ClientError::Refused(refusal) => {
                let mut failure = Self::new(&refusal.code, &refusal.message);
                if let Self::Told(report) = &mut failure {
                    report.remedy.clone_from(&refusal.remedy);
                    report.detail.clone_from(&refusal.detail);
                }
                failure
            }
            ClientError::Lost(_) => {
                Self::new("connection_lost", format!("{message}; whether the request was carried out is not known."))
                    .remedy("`ouroboros status` says whether the server runs; `ouroboros logs --server` says why not.")
            }
            ClientError::Malformed(_) => Self::new("bad_answer", format!("{message}."))
                .remedy("Check that the server is of the build that is installed: `ouroboros doctor`."),
        }
    }
}

impl From<io::Error> for Failure {
    /// A failure to write an answer: a reader that left is nothing to tell.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::Closed } else { Self::io("standard output", &error) }
    }
}

#[cfg(test)]
mod tests {
    use super::Failure;
    use crate::client::{ClientError, Refusal};
    use std::io;

    #[test]
    fn a_reader_that_left_is_no_failure() {
        assert_eq!(Failure::from(io::Error::from(io::ErrorKind::BrokenPipe)).tell(false, None), 0);
        assert_eq!(Failure::from(io::Error::from(io::ErrorKind::StorageFull)).tell(false, None), 1);
    }

    #[test]
    fn a_refusal_keeps_its_words() {
        let refusal =
            Refusal::read(409, br#"{"code":"new_one","message":"No.","remedy":"Ask \u001b[1m nicely.","extra":1}"#);
        let Failure::Told(report) = Failure::from(ClientError::Refused(Box::new(refusal))) else { panic!() };
        assert_eq!(report.text(None), "error[new_one]: No.\n  Ask \\u{1b}[1m nicely.\n");
        assert!(report.text(Some("2")).contains("restart --drain"));
        assert_eq!(report.json()["error"]["code"], "new_one");
    }
    #[test]
    fn several_ways_on_are_a_line_each() {
        let failure = Failure::new("none", "No.").remedy("This.\nOr that.");
        let Failure::Told(report) = failure else { panic!() };
        assert_eq!(report.text(None), "error[none]: No.\n  This.\n  Or that.\n");
    }
}
