//! What is decided about.

use ouroboros_proto::kind::hex::hex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::path::Path;

/// Bytes of a program's arguments, of its input and of an address that a person is shown.
const SHOWN: usize = 1_500;
/// Bytes of input that a rule remembers; of more it remembers the SHA-256.
const REMEMBERED: usize = 256;

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
        /// The whole address.
        url: &'a str,
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
            Self::Run { argv, cwd, network, unconfined, stdin } => {
                let with = match (unconfined, network) {
                    (true, _) => " with all your rights, outside any confinement",
                    (false, true) => " with access to the network",
                    (false, false) => "",
                };
                let input = if stdin.is_empty() { String::new() } else { format!("\nIts input:\n{}", shown(stdin)) };
                format!("Run in {cwd}{with}:\n{}{input}", shown(&quoted(argv)))
            }
            Self::Fetch { origin, url } => format!("Fetch pages from {origin}, now:\n{}", shown(url)),
            Self::ReadOutside { directory } => format!("Read files in {directory}"),
        }
    }

    /// What a rule would remember.
    pub fn pattern(&self) -> Value {
        match self {
            Self::Change => json!({ "act": "change" }),
            Self::Run { argv, cwd, network, unconfined, stdin } => {
                let mut pattern =
                    json!({ "act": "run", "argv": argv, "cwd": cwd, "network": network, "unconfined": unconfined });
                // What a program reads may say what it does, as with a shell.
                let input = match stdin.len() {
                    0 => None,
                    1..=REMEMBERED => Some(("stdin", (*stdin).to_owned())),
                    _ => Some(("stdin_sha256", hex(&Sha256::digest(stdin)))),
                };
                if let (Some((name, input)), Some(fields)) = (input, pattern.as_object_mut()) {
                    fields.insert(name.to_owned(), Value::from(input));
                }
                pattern
            }
            Self::Fetch { origin, url: _ } => json!({ "act": "fetch", "origin": origin }),
            Self::ReadOutside { directory } => json!({ "act": "read", "directory": directory }),
        }
    }

    /// All of it.
    pub fn whole(&self) -> Value {
        let mut whole = self.pattern();
        let more = match self {
            Self::Run { stdin, .. } => Some(("stdin", *stdin)),
            Self::Fetch { url, .. } => Some(("url", *url)),
            Self::Change | Self::ReadOutside { .. } => None,
        };
        if let (Some((name, text)), Some(fields)) = (more, whole.as_object_mut()) {
            fields.insert(name.to_owned(), Value::from(text));
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

/// The beginning of a text, marked where it is cut.
fn shown(text: &str) -> String {
    let end = text.floor_char_boundary(SHOWN);
    match text.get(..end) {
        Some(beginning) if end < text.len() => format!("{beginning} …"),
        Some(_) | None => text.to_owned(),
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

    #[test]
    fn what_a_program_reads_is_shown_and_is_part_of_what_a_rule_remembers() {
        let argv = ["sh".to_owned()];
        let reads = |stdin| Act::Run { argv: &argv, cwd: "/f", network: true, unconfined: false, stdin };
        let (short, long, other) = ("rm -r archive", "é".repeat(5_000), "é".repeat(5_001));
        assert!(reads(short).summary().ends_with(":\nsh\nIts input:\nrm -r archive"), "{}", reads(short).summary());
        let shown = reads(&long).summary();
        assert!(shown.len() < 3_000 && shown.ends_with('…'), "{}", shown.len());
        let inputs = ["", short, "rm -r archives", &long, &other];
        for (at, one) in inputs.into_iter().enumerate() {
            let pattern = reads(one).pattern();
            assert!(pattern.to_string().len() < 2_000, "{pattern}");
            for (place, input) in inputs.into_iter().enumerate() {
                assert_eq!(reads(input).matches(&pattern), at == place, "{pattern}");
            }
            assert_eq!(reads(one).whole()["stdin"], one);
        }
    }

    #[test]
    fn a_page_is_shown_by_its_address_and_remembered_by_its_origin() {
        let fetch = |url| Act::Fetch { origin: "https://a.example", url };
        let act = fetch("https://a.example/x?key=secret");
        assert!(act.summary().contains("https://a.example/x?key=secret"), "{}", act.summary());
        assert_eq!(act.whole()["url"], "https://a.example/x?key=secret");
        assert!(fetch("https://a.example/y").matches(&act.pattern()), "a rule is about the origin");
    }
}
