//! The environment that a command is given: ours, without what looks like a secret.
//!
//! What is submitted is stored and can be read again by its owner, so a key that merely happened to be exported must not
//! come along. Names decide, never values. `SSH_AUTH_SOCK` comes along: it names a socket and holds no key.

use crate::cli::Failure;
use crate::cli::args::value::Variable;
use ouroboros_proto::kind::sensitive::looks_secret;
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Starts of names that are about this program, and would change what a nested one does.
const STARTS: [&str; 1] = ["OUROBOROS_"];

/// What is sent.
#[derive(Debug, PartialEq, Eq, Default)]
pub struct Environment {
    /// The variables.
    pub variables: BTreeMap<String, String>,
    /// Names that were left out.
    pub left_out: Vec<String>,
}

/// The environment of a command from `ours` and what was asked for; with `clean` only the latter.
pub fn build(
    ours: impl Iterator<Item = (OsString, OsString)>,
    asked: &[Variable],
    clean: bool,
) -> Result<Environment, Failure> {
    let ours: Vec<(OsString, OsString)> = ours.collect();
    let mut environment = Environment::default();
    for (name, value) in ours.iter().filter(|_| !clean) {
        match (name.to_str(), value.to_str()) {
            (Some(name), Some(value)) if !is_secret(name) => {
                environment.variables.insert(name.to_owned(), value.to_owned());
            }
            _ => environment.left_out.push(name.to_string_lossy().into_owned()),
        }
    }
    for variable in asked {
        let (name, value) = match variable {
            Variable::Set(name, value) => (name, value.clone()),
            Variable::Pass(name) => (name, passed(&ours, name)?),
        };
        environment.left_out.retain(|left_out| left_out != name);
        environment.variables.insert(name.clone(), value);
    }
    environment.left_out.sort();
    Ok(environment)
}

fn passed(ours: &[(OsString, OsString)], name: &str) -> Result<String, Failure> {
    let value = ours.iter().find(|(known, _)| known.to_str() == Some(name)).map(|(_, value)| value);
    let value = value.ok_or_else(|| {
        Failure::usage(format!("--env {name}: there is no such variable here; nothing was submitted"))
            .remedy(format!("Give it a value: `--env {name}=VALUE`."))
    })?;
    let text = value.to_str().map(ToOwned::to_owned);
    text.ok_or_else(|| Failure::usage(format!("--env {name}: its value is not valid UTF-8; nothing was submitted")))
}

/// Whether a name looks like that of a secret, or is about this program.
fn is_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    looks_secret(name) || STARTS.iter().any(|start| upper.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::{Environment, build, is_secret};
    use crate::cli::args::value::Variable;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    fn ours() -> impl Iterator<Item = (OsString, OsString)> {
        let bad = OsString::from_vec(vec![0xff]);
        let text = [("PATH", "/bin"), ("GITHUB_TOKEN", "t"), ("OUROBOROS_HOME", "/o"), ("EMPTY", "")];
        text.map(|(name, value)| (name.into(), value.into())).into_iter().chain([("BAD".into(), bad)])
    }

    fn environment(variables: &[(&str, &str)], left_out: &[&str]) -> Environment {
        Environment {
            variables: variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            left_out: left_out.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn names_of_secrets_and_names_about_this_program_are_told_apart() {
        for name in ["GITHUB_TOKEN", "smtp_pass", "OUROBOROS_QUEUE_SLOTS", "ouroboros_home"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["PATH", "MY_OUROBOROS_", "SSH_AUTH_SOCK"] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn secrets_stay_here_unless_they_are_named() {
        let all = build(ours(), &[], false).unwrap();
        assert_eq!(all, environment(&[("EMPTY", ""), ("PATH", "/bin")], &["BAD", "GITHUB_TOKEN", "OUROBOROS_HOME"]));
        let asked = [Variable::Pass("GITHUB_TOKEN".into()), Variable::Set("PATH".into(), "/x".into())];
        let some = build(ours(), &asked, false).unwrap();
        let expected = [("EMPTY", ""), ("GITHUB_TOKEN", "t"), ("PATH", "/x")];
        assert_eq!(some, environment(&expected, &["BAD", "OUROBOROS_HOME"]));
        let clean = build(ours(), &asked, true).unwrap();
        assert_eq!(clean, environment(&[("GITHUB_TOKEN", "t"), ("PATH", "/x")], &[]));
        for name in ["MISSING", "BAD"] {
            assert!(build(ours(), &[Variable::Pass(name.into())], false).is_err(), "{name}");
        }
    }
}
