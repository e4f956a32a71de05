//! The environment that a process of ours is started with.

use ouroboros_settings::Key;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Name and value.
pub type Variable = (OsString, OsString);

/// Names the descriptor on which a server says that it is ready.
pub const READY_FD: &str = "OUROBOROS_READY_FD";
/// The launcher's process number.
pub const LAUNCHER_PID: &str = "OUROBOROS_LAUNCHER_PID";
/// What an earlier server left and could not be ended, as a JSON list.
pub const UNPROVEN: &str = "OUROBOROS_UNPROVEN";

/// Between us and a service manager (sd_notify(3), sd_listen_fds(3)), or between an earlier launcher and its server: whoever
/// inherits them would speak for us.
const OURS: [&str; 10] = [
    "NOTIFY_SOCKET",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "LISTEN_PID",
    "LISTEN_PIDFDID",
    "LISTEN_FDS",
    "LISTEN_FDNAMES",
    READY_FD,
    LAUNCHER_PID,
    UNPROVEN,
];

/// `all` without what is meant for this process alone.
pub fn inherited(all: impl IntoIterator<Item = Variable>) -> Vec<Variable> {
    let sane = |name: &OsStr| !name.is_empty() && !name.as_bytes().contains(&b'=');
    all.into_iter().filter(|(name, _)| sane(name) && !OURS.iter().any(|ours| name == ours)).collect()
}

/// The same, with settings of the command line as the variables that stand for them.
pub fn with_settings(mut variables: Vec<Variable>, settings: &[(Key, String)]) -> Vec<Variable> {
    for (key, value) in settings {
        let name = OsString::from(key.variable());
        variables.retain(|(known, _)| *known != name);
        variables.push((name, value.into()));
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_wins_and_private_names_stay_here() {
        let all =
            [("A", "1"), ("NOTIFY_SOCKET", "@x"), ("OUROBOROS_QUEUE_SLOTS", "1"), ("LISTEN_FDS", "2"), ("=C", "x")];
        let all = all.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let key: Key = "queue.slots".parse().unwrap();
        let found = with_settings(inherited(all), &[(key, "3".to_owned()), (key, "4".to_owned())]);
        let expected = [("A", "1"), ("OUROBOROS_QUEUE_SLOTS", "4")];
        assert_eq!(found, expected.map(|(name, value)| (OsString::from(name), OsString::from(value))));
    }
}
