//! What the settings say about the inference server.

use super::LocalError;
use ouroboros_proto::kind::Millis;
use ouroboros_settings::Settings;
use std::net::{Ipv4Addr, TcpListener};

/// What is to run, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The command, with places for file and port.
    pub command: String,
    /// The weights.
    pub file: String,
    /// Where it listens; `None` is any free port.
    pub port: Option<u16>,
    /// After how long without a request it is ended; zero is never.
    pub idle: Millis,
}

impl Plan {
    /// As it is set now.
    pub fn of(settings: &Settings) -> Self {
        Self {
            command: settings.models_local_command.clone(),
            file: settings.models_local_file.clone(),
            port: u16::try_from(settings.models_local_port).ok().filter(|port| *port > 0),
            idle: settings.models_local_idle,
        }
    }

    /// Whether what runs by the other plan would also do for this one.
    pub fn runs_the_same(&self, other: &Self) -> bool {
        (&self.command, &self.file, self.port) == (&other.command, &other.file, other.port)
    }

    /// A port that nobody listens on.
    pub fn free_port(&self) -> Result<u16, LocalError> {
        let listening = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port.unwrap_or(0)));
        match (listening.and_then(|listener| listener.local_addr()), self.port) {
            (Ok(address), _) => Ok(address.port()),
            // Whoever is there would be taken for the model.
            (Err(error), Some(port)) if error.kind() == std::io::ErrorKind::AddrInUse => {
                Err(LocalError::PortTaken(port))
            }
            (Err(error), _) => Err(LocalError::NotStarted(error.to_string())),
        }
    }

    /// The command's words, with file and port filled in. Words are split as a shell does, without anything else of a shell.
    pub fn argv(&self, port: u16) -> Result<Vec<String>, LocalError> {
        let words = shlex::split(&self.command).ok_or(LocalError::BadCommand("its quotes do not close"))?;
        if words.is_empty() {
            return Err(LocalError::NotConfigured);
        }
        let port = port.to_string();
        Ok(words.into_iter().map(|word| word.replace("{port}", &port).replace("{model}", &self.file)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(command: &str, file: &str, port: Option<u16>) -> Plan {
        Plan { command: command.to_owned(), file: file.to_owned(), port, idle: Millis::ZERO }
    }

    #[test]
    fn file_and_port_are_filled_in_word_by_word() {
        let argv = |command| plan(command, "/srv/a {port} model.gguf", None).argv(4711);
        assert_eq!(
            argv("llama-server -m {model} --port={port} --alias 'my model'").unwrap(),
            ["llama-server", "-m", "/srv/a {port} model.gguf", "--port=4711", "--alias", "my model"]
        );
        assert_eq!(argv("llama 'open"), Err(LocalError::BadCommand("its quotes do not close")));
        assert_eq!(argv("  "), Err(LocalError::NotConfigured));
    }

    #[test]
    fn a_port_that_somebody_listens_on_is_not_taken_over() {
        let stranger = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = stranger.local_addr().unwrap().port();
        let fixed = plan("x", "", Some(port));
        assert_eq!(fixed.free_port(), Err(LocalError::PortTaken(port)));
        drop(stranger);
        assert_eq!(fixed.free_port(), Ok(port));
        assert_ne!(plan("x", "", None).free_port().unwrap(), 0);
    }

    #[test]
    fn a_longer_idleness_needs_no_other_process() {
        let before = plan("x", "m", None);
        assert!(Plan { idle: Millis::seconds(9), ..before.clone() }.runs_the_same(&before));
        for other in [plan("y", "m", None), plan("x", "n", None), plan("x", "m", Some(1))] {
            assert!(!other.runs_the_same(&before), "{other:?}");
        }
    }
}
