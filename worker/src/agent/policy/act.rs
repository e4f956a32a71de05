//! What is decided about.

use serde_json::{Value, json};
use std::path::Path;

/// Characters of a program's arguments that a person is shown.
const SHOWN: usize = 2_000;

/// Something that an agent is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act<'a> {
    /// Files in the folder change.
    Change,
    /// A program runs.
    Run {
        /// Program and arguments.
        argv: &'a [String],
        /// Where, absolute.
        cwd: &'a str,
        /// Whether it asks for the network.
        network: bool,
        /// Whether it asks to reach beyond the folder.
        unconfined: bool,
        /// What it reads.
        stdin: &'a str,
    },
    /// A page is fetched.
    Fetch {
        /// Scheme, host and port.
        origin: &'a str,
    },
    /// A file outside the folder is read.
    ReadOutside {
        /// The directory it is in, absolute.
        directory: &'a str,
    },
}

impl Act<'_> {
    /// What exactly would be done, for a person.
    pub fn summary(&self) -> String {
        match self {
            Self::Change => "Change files in the folder".to_owned(),
            Self::Run { argv, cwd, network, unconfined, stdin: _ } => {
                let with = match (unconfined, network) {
                    (true, _) => " with all your rights, outside any confinement",
                    (false, true) => " with access to the network",
                    (false, false) => "",
                };
                let shown: String = quoted(argv).chars().take(SHOWN).collect();
                let cut = if shown.len() < quoted(argv).len() { " …" } else { "" };
                format!("Run in {cwd}{with}:\n{shown}{cut}")
            }
            Self::Fetch { origin } => format!("Fetch pages from {origin}"),
            Self::ReadOutside { directory } => format!("Read files in {directory}"),
        }
    }

    /// What a rule would remember.
    pub fn pattern(&self) -> Value {
        match self {
            Self::Change => json!({ "act": "change" }),
            Self::Run { argv, cwd, network, unconfined, stdin: _ } => {
                json!({ "act": "run", "argv": argv, "cwd": cwd, "network": network, "unconfined": unconfined })
            }
            Self::Fetch { origin } => json!({ "act": "fetch", "origin": origin }),
            Self::ReadOutside { directory } => json!({ "act": "read", "directory": directory }),
        }
    }

    /// All of it.
    pub fn whole(&self) -> Value {
        let mut whole = self.pattern();
        if let (Self::Run { stdin, .. }, Some(fields)) = (self, whole.as_object_mut()) {
            fields.insert("stdin".to_owned(), Value::from(*stdin));
        }
        whole
    }

    /// Whether a rule that remembers this is about it.
    pub fn matches(&self, pattern: &Value) -> bool {
        match self {
            Self::ReadOutside { directory } => {
                pattern.get("act").and_then(Value::as_str) == Some("read")
                    && pattern
                        .get("directory")
                        .and_then(Value::as_str)
                        .is_some_and(|allowed| Path::new(directory).starts_with(allowed))
            }
            Self::Change | Self::Run { .. } | Self::Fetch { .. } => *pattern == self.pattern(),
        }
    }
}

/// Arguments as a shell would take them.
fn quoted(argv: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    let quote = |argument: &String| {
        if !argument.is_empty() && argument.chars().all(plain) {
            argument.clone()
        } else {
            format!("'{}'", argument.replace('\'', "'\\''"))
        }
    };
    argv.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_shown_as_a_shell_would_take_them() {
        let argv = ["sh".to_owned(), "-c".to_owned(), "echo 'a b'".to_owned(), String::new()];
        let act = Act::Run { argv: &argv, cwd: "/f", network: false, unconfined: true, stdin: "" };
        assert_eq!(
            act.summary(),
            "Run in /f with all your rights, outside any confinement:\nsh -c 'echo '\\''a b'\\''' ''"
        );
        let long = ["x".repeat(9_000)];
        let shown = Act::Run { argv: &long, cwd: "/f", network: true, unconfined: false, stdin: "" }.summary();
        assert!(shown.len() < 3_000 && shown.ends_with('…'), "{}", shown.len());
    }
}
