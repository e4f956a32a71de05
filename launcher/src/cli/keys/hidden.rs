//! Something typed on the terminal that nobody else is to see.

use crate::cli::Failure;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};

/// Asks for a line and does not show it.
pub fn ask(prompt: &str) -> Result<String, Failure> {
    read(prompt).map_err(|error| {
        Failure::io("nothing could be read from the terminal; nothing was kept", &error)
            .remedy("Give it on standard input, or with --from-env.")
    })
}

fn read(prompt: &str) -> io::Result<String> {
    let mut terminal = File::options().read(true).write(true).open("/dev/tty")?;
    let unseen = Unseen::on(terminal.try_clone()?)?;
    terminal.write_all(prompt.as_bytes())?;
    let mut line = String::new();
    let read = BufReader::new(terminal.try_clone()?).read_line(&mut line);
    drop(unseen);
    terminal.write_all(b"\n")?;
    read?;
    Ok(line.trim().to_owned())
}

/// The terminal does not show what is typed, until this is dropped.
struct Unseen {
    terminal: File,
    before: Termios,
}

impl Unseen {
    fn on(terminal: File) -> io::Result<Self> {
        let before = tcgetattr(&terminal)?;
        let mut unseen = before.clone();
        unseen.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Flush, &unseen)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}
