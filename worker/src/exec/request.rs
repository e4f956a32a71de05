//! How a worker tells exec mode what to become: `exec PARENT FLAGS CWD ARGV…` and the environment.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// In front of each variable's name. No name that begins like this means anything to the loader, libc or us.
const PREFIX: &str = ".";
/// Flag: standard output becomes the controlling terminal.
const TERMINAL: char = 't';
/// Flag: no new privileges.
const NO_NEW_PRIVS: char = 'n';

/// Flag: a confinement comes with it, as the descriptor `CONFINEMENT`.
const CONFINED: char = 'c';

/// Flag: it becomes no other program.
const OURS: char = 'o';

/// What to become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The worker's process number.
    pub parent: i32,
    /// Whether standard output becomes the controlling terminal.
    pub terminal: bool,
    /// Whether `no_new_privs` is set.
    pub no_new_privs: bool,
    /// Whether a confinement comes with it, which sets `no_new_privs` by itself.
    pub confined: bool,
    /// Whether it stays this program, and fetches a page.
    pub ours: bool,
    /// Where to run.
    pub cwd: PathBuf,
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
}

/// A variable's name is empty, or holds `=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a variable's name is empty or holds '='")]
pub struct BadVariable;

impl Request {
    /// The arguments after `argv[0]`.
    pub fn arguments(&self) -> Vec<OsString> {
        let flags: String = [
            (self.terminal, TERMINAL),
            (self.no_new_privs, NO_NEW_PRIVS),
            (self.confined, CONFINED),
            (self.ours, OURS),
        ]
        .into_iter()
        .filter_map(|(set, flag)| set.then_some(flag))
        .collect();
        let head = ["exec".into(), self.parent.to_string().into(), flags.into(), self.cwd.clone().into_os_string()];
        head.into_iter().chain(self.argv.iter().cloned()).collect()
    }

    /// The environment to start exec mode with.
    ///
    /// # Errors
    /// When a name could not be told from another after the way through the kernel.
    pub fn environment(&self) -> Result<Vec<(OsString, OsString)>, BadVariable> {
        self.env
            .iter()
            .map(|(name, value)| {
                if name.is_empty() || name.as_bytes().contains(&b'=') {
                    return Err(BadVariable);
                }
                let mut prefixed = OsString::from(PREFIX);
                prefixed.push(name);
                Ok((prefixed, value.clone()))
            })
            .collect()
    }

    /// Reads the arguments after `exec`, and the environment of this process. `None` when they are not ours.
    pub fn from_arguments(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let parent = arguments.next()?.to_str()?.parse().ok()?;
        let flags = arguments.next()?.into_string().ok()?;
        let cwd = arguments.next()?.into();
        let argv: Vec<OsString> = arguments.collect();
        let env = std::env::vars_os().filter_map(|(name, value)| Some((unprefixed(&name)?, value))).collect();
        Some(Self {
            parent,
            terminal: flags.contains(TERMINAL),
            no_new_privs: flags.contains(NO_NEW_PRIVS),
            confined: flags.contains(CONFINED),
            ours: flags.contains(OURS),
            cwd,
            argv,
            env,
        })
    }
}

fn unprefixed(name: &OsStr) -> Option<OsString> {
    name.as_bytes().strip_prefix(PREFIX.as_bytes()).map(|name| OsString::from_vec(name.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request {
            parent: 7,
            terminal: true,
            no_new_privs: true,
            confined: true,
            ours: true,
            cwd: "/tmp".into(),
            argv: vec!["a".into(), "".into(), "--".into()],
            env: vec![("LD_PRELOAD".into(), "x".into())],
        }
    }

    #[test]
    fn arguments_survive_the_way() {
        let sent = request();
        let read = Request::from_arguments(sent.arguments().into_iter().skip(1)).unwrap();
        assert_eq!(read, Request { env: Vec::new(), ..sent });
    }

    #[test]
    fn variables_mean_nothing_on_the_way() {
        let sent = request().environment().unwrap();
        assert_eq!(sent, vec![(OsString::from(".LD_PRELOAD"), OsString::from("x"))]);
        assert_eq!(unprefixed(OsStr::new(".LD_PRELOAD")).unwrap(), "LD_PRELOAD");
        assert!(unprefixed(OsStr::new("LD_PRELOAD")).is_none());
        let bad = Request { env: vec![("".into(), "x".into())], ..request() };
        assert_eq!(bad.environment(), Err(BadVariable));
    }
}
