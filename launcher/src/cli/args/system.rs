//! Arguments of the verbs about the system as a whole.

use super::value::{keys, span};
use clap::Subcommand;
use ouroboros_proto::kind::Millis;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Arguments of `up`.
#[derive(Debug, clap::Args)]
pub struct Up {
    /// A setting for this life of the server, over environment and file; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Leave when idle: a verb started it by itself
    #[arg(long, hide = true)]
    pub auto: bool,
}

/// Arguments of `stop`.
#[derive(Debug, clap::Args)]
pub struct Stop {
    /// Let running tasks end by themselves first
    #[arg(long)]
    pub drain: bool,
}

/// Arguments of `restart`.
#[derive(Debug, clap::Args)]
pub struct Restart {
    /// Let running tasks end by themselves first
    #[arg(long)]
    pub drain: bool,
    /// How long to wait for the new server
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = span)]
    pub patience: Millis,
}

/// Arguments of `slots`.
#[derive(Debug, clap::Args)]
pub struct Slots {
    /// Tasks that run at the same time; with 0 nothing starts
    #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(0..=256))]
    pub slots: u32,
}

/// Arguments of `backup`.
#[derive(Debug, clap::Args)]
pub struct Backup {
    /// The file to write; it must not exist
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub file: PathBuf,
    /// Also copy what tasks have written, to the directory FILE.output
    #[arg(long)]
    pub output: bool,
}

/// Arguments of `restore`.
#[derive(Debug, clap::Args)]
pub struct Restore {
    /// The backup
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub file: PathBuf,
}

/// Arguments of `open`.
#[derive(Debug, clap::Args)]
pub struct Open {
    /// Only print the address
    #[arg(long)]
    pub no_browser: bool,
}

/// What to do with settings.
#[derive(Debug, Subcommand)]
pub enum Config {
    /// Show every setting, its value and where it came from
    List,
    /// Print the value of a setting
    Get {
        /// The setting
        #[arg(value_name = "KEY", add = keys())]
        key: String,
    },
    /// Write a setting to the file; comments stay
    Set {
        /// The setting
        #[arg(value_name = "KEY", add = keys())]
        key: String,
        /// Its value
        #[arg(value_name = "VALUE")]
        value: String,
    },
    /// Take a setting out of the file
    Unset {
        /// The setting
        #[arg(value_name = "KEY", add = keys())]
        key: String,
    },
    /// Change the file in an editor; it is replaced only when it is valid
    Edit,
    /// Check a configuration file
    Check {
        /// The file; the one in use when absent
        #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        file: Option<PathBuf>,
    },
    /// Print where the file is
    Path,
}

/// Whose service it is.
#[derive(Debug, Clone, clap::Args)]
pub struct Owner {
    /// A service of the machine, not of this user
    #[arg(long)]
    pub system: bool,
    /// The user that a service of the machine runs as
    #[arg(long, value_name = "NAME", requires = "system")]
    pub user: Option<String>,
}

/// Arguments of `service install`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = INSTALL_AFTER)]
pub struct Install {
    /// Whose service it is
    #[command(flatten)]
    pub owner: Owner,
    /// Let systemd listen for the page and the HTTP API, at 127.0.0.1:8765 when no address is given
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:8765",
        value_parser = loopback)]
    pub socket: Option<SocketAddr>,
}

const INSTALL_AFTER: &str = "\
With --socket the address is open from the start of the machine on and whoever connects waits while the service starts. \
It takes the place of `server.listen`. A connection also starts a service that was stopped, so an open page brings it back: \
`systemctl --user stop ouroboros.socket` closes the address.";

/// An address that only this machine reaches.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| "it is an address with a port, such as 127.0.0.1:8765")?;
    match (address.ip().is_loopback(), address.port()) {
        (false, _) => Err("only loopback addresses are served, such as 127.0.0.1:8765".to_owned()),
        (true, 0) => Err("systemd needs a port of its own, such as 8765".to_owned()),
        (true, _) => Ok(address),
    }
}

/// What to do with the service.
#[derive(Debug, Subcommand)]
pub enum Service {
    /// Write the systemd unit, enable it and start it
    Install(Install),
    /// Stop the service and remove its unit; no data is touched
    Uninstall(Owner),
    /// Show whether it is installed, up to date and running
    Status(Owner),
}

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "For bash: `source <(ouroboros completions bash)` in ~/.bashrc. Task numbers and settings are completed too."
)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
    pub shell: String,
}

/// Arguments of `man`.
#[derive(Debug, clap::Args)]
pub struct Man {
    /// The verb; the whole program when absent
    #[arg(value_name = "VERB", conflicts_with = "dir")]
    pub verb: Option<String>,
    /// Write the pages of the program and of every verb to this directory
    #[arg(long, value_name = "DIRECTORY", value_hint = clap::ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}
