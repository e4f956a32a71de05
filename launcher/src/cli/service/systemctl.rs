//! Asking systemd.

use crate::cli::args::system::Owner;
use crate::cli::{Failure, program};

/// The unit of the launcher.
pub const SERVICE: &str = "ouroboros.service";

/// The unit of the address that systemd listens on.
pub const SOCKET: &str = "ouroboros.socket";

/// `systemctl` for one kind of service.
#[derive(Debug, Clone, Copy)]
pub struct Systemctl {
    system: bool,
}

impl Systemctl {
    /// For this owner's services.
    pub fn of(owner: &Owner) -> Self {
        Self { system: owner.system }
    }

    /// Runs it to its end.
    pub fn act(self, arguments: &[&str]) -> Result<(), Failure> {
        match program::run("systemctl", &self.line(arguments), true)? {
            0 => Ok(()),
            code => {
                let shown = self.words(arguments);
                Err(Failure::new("systemd_failed", format!("`{shown}` ended with code {code}"))
                    .remedy(format!("`{}` says why.", self.words(&["status", SERVICE]))))
            }
        }
    }

    /// The command line, for people.
    pub fn words(self, arguments: &[&str]) -> String {
        format!("systemctl {}", self.line(arguments).join(" "))
    }

    /// Whether the unit is active.
    pub fn is_active(self, unit: &str) -> bool {
        let line = self.line(&["is-active", "--quiet", unit]);
        program::run("systemctl", &line, false).is_ok_and(|code| code == 0)
    }

    fn line<'a>(self, arguments: &[&'a str]) -> Vec<&'a str> {
        let scope: &[&str] = if self.system { &[] } else { &["--user"] };
        scope.iter().chain(arguments).copied().collect()
    }
}
