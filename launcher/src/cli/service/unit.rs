//! The text of the unit.

use crate::cli::args::system::Owner;
use std::path::{Path, PathBuf};

/// Variables that say where everything is; the service must find the same places as the command line.
const PLACES: [&str; 3] = ["OUROBOROS_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"];

/// Where a service of the machine keeps everything when nothing else is said; systemd makes it and gives it to its user.
const SYSTEM_HOME: &str = "/var/lib/ouroboros";

/// Seconds that a stop may take: more than the longest that `server.stop_timeout` allows and its final sweep.
const STOP_SECONDS: u32 = 620;

/// What a unit is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// This program.
    pub program: PathBuf,
    /// Whether it is a service of the machine.
    pub system: bool,
    /// Whom it runs as.
    pub user: Option<String>,
    /// Variables of its environment.
    pub environment: Vec<(String, String)>,
}

impl Unit {
    /// The unit for this installation.
    pub fn of(owner: &Owner, program: &Path) -> Self {
        let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut environment: Vec<(String, String)> =
            PLACES.iter().filter_map(|name| Some(((*name).to_owned(), set(name)?))).collect();
        if owner.system && !environment.iter().any(|(name, _)| name == "OUROBOROS_HOME") {
            environment = vec![("OUROBOROS_HOME".to_owned(), SYSTEM_HOME.to_owned())];
        }
        Self { program: program.to_owned(), system: owner.system, user: owner.user.clone(), environment }
    }

    /// The one directory of everything, when there is one.
    pub fn home(&self) -> Option<&str> {
        self.environment.iter().find(|(name, _)| name == "OUROBOROS_HOME").map(|(_, value)| value.as_str())
    }

    /// The text (systemd.service(5), systemd.kill(5), systemd.resource-control(5)).
    pub fn render(&self) -> String {
        // Variables are replaced in arguments only, so a `$` in the path stands for itself.
        let program = quoted(&self.program.display().to_string());
        let environment: String = self
            .environment
            .iter()
            .map(|(name, value)| format!("Environment={}\n", quoted(&format!("{name}={value}"))))
            .collect();
        let user = self.user.as_ref().map(|user| format!("User={user}\n")).unwrap_or_default();
        let state = if self.system && self.home() == Some(SYSTEM_HOME) {
            "StateDirectory=ouroboros\nStateDirectoryMode=0700\n"
        } else {
            ""
        };
        let target = if self.system { "multi-user.target" } else { "default.target" };
        format!(
            "\
[Unit]
Description=Ouroboros, a supervised task queue
Documentation=man:ouroboros(1)
After=local-fs.target

[Service]
Type=notify
NotifyAccess=main
ExecStart={program} up
ExecReload=/bin/kill -HUP $MAINPID
{user}{environment}{state}\
# The launcher has the server end everything in order; what is left after that is killed.
KillMode=mixed
TimeoutStopSec={STOP_SECONDS}
# A group for each attempt is made below this one.
Delegate=yes
# Memory that a task used up is that task's end, not the server's.
OOMPolicy=continue
# 42 asks for a restart; 99 is an emergency stop, and the others do not get better by trying again.
Restart=on-failure
RestartSec=1
RestartForceExitStatus=42
RestartPreventExitStatus=99 64 65 77 78

[Install]
WantedBy={target}
"
        )
    }
}

/// The lines of a unit that set its environment.
pub fn environment_lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with("Environment=")).collect()
}

/// One word of a unit, whatever is in it.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('\n', "\\n");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::{Unit, environment_lines, quoted};

    fn unit(system: bool) -> Unit {
        Unit {
            program: "/opt/my $1 100%/ouroboros".into(),
            system,
            user: system.then(|| "ada".to_owned()),
            environment: vec![(
                "OUROBOROS_HOME".into(),
                if system { "/var/lib/ouroboros" } else { "/srv/o \"x\"" }.into(),
            )],
        }
    }

    #[test]
    fn the_unit_says_what_the_server_relies_on() {
        let text = unit(false).render();
        for line in [
            "Type=notify",
            "KillMode=mixed",
            "Delegate=yes",
            "OOMPolicy=continue",
            "RestartForceExitStatus=42",
            "RestartPreventExitStatus=99 64 65 77 78",
            "TimeoutStopSec=620",
            "WantedBy=default.target",
            "ExecStart=\"/opt/my $1 100%%/ouroboros\" up",
            "Environment=\"OUROBOROS_HOME=/srv/o \\\"x\\\"\"",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is missing from\n{text}");
        }
        assert!(!text.contains("StateDirectory") && !text.contains("User="));
    }

    #[test]
    fn a_service_of_the_machine_has_a_user_and_a_place() {
        let text = unit(true).render();
        for line in ["User=ada", "StateDirectory=ouroboros", "WantedBy=multi-user.target"] {
            assert!(text.lines().any(|known| known == line), "{line} is missing from\n{text}");
        }
        assert_eq!(environment_lines(&text), ["Environment=\"OUROBOROS_HOME=/var/lib/ouroboros\""]);
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "systemd's own word on the text is wanted")]
    fn systemd_accepts_the_units_of_user_and_machine() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy("/bin/true", dir.path().join("my $1 100%")).unwrap();
        for scope in ["--user", "--system"] {
            let file = dir.path().join("ouroboros.service");
            let program = dir.path().join("my $1 100%");
            std::fs::write(&file, Unit { program, ..unit(scope == "--system") }.render()).unwrap();
            let socket = dir.path().join("ouroboros.socket");
            std::fs::write(&socket, super::super::socket::render("[::1]:8765".parse().unwrap())).unwrap();
            let mut verify = std::process::Command::new("systemd-analyze");
            verify.args(["verify", "--man=no", scope]).args([&file, &socket]).env("XDG_RUNTIME_DIR", dir.path());
            let Ok(verified) = verify.output() else {
                eprintln!("SKIP systemd-analyze is not installed");
                assert_ne!(std::env::var_os("OUROBOROS_TEST_STRICT").as_deref(), Some("1".as_ref()));
                return;
            };
            let said = String::from_utf8_lossy(&verified.stderr);
            let about_it: Vec<&str> = said.lines().filter(|line| line.contains("ouroboros.")).collect();
            assert!(verified.status.success() && about_it.is_empty(), "{scope}: {said}");
        }
    }

    #[test]
    fn nothing_in_a_value_ends_its_line() {
        assert_eq!(quoted("a\nExecStart=/bin/x"), "\"a\\nExecStart=/bin/x\"");
    }
}
