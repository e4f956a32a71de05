//! Asking systemd.

use crate::cli::args::system::Owner;
use crate::cli::{Failure, program};

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
        let line = self.line(arguments);
        let shown = format!("systemctl {}", line.join(" "));
        match program::run("systemctl", &line, true)? {
            0 => Ok(()),
            code => Err(Failure::new("systemd_failed", format!("`{shown}` ended with code {code}"))
                .remedy(format!("`{}` says why.", self.status_line()))),
        }
    }

    /// Whether the service runs.
    pub fn is_active(self) -> bool {
        let line = self.line(&["is-active", "--quiet", "ouroboros"]);
        program::run("systemctl", &line, false).is_ok_and(|code| code == 0)
    }

    fn line<'a>(self, arguments: &[&'a str]) -> Vec<&'a str> {
        let scope: &[&str] = if self.system { &[] } else { &["--user"] };
        scope.iter().chain(arguments).copied().collect()
    }

    const fn status_line(self) -> &'static str {
        if self.system { "systemctl status ouroboros" } else { "systemctl --user status ouroboros" }
    }
}
