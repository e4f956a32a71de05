//! Something typed on the terminal that nobody else is to see.

use crate::cli::Failure;
use crate::cli::follow::Signals;
use crate::cli::follow::watch::{self, Wake};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;

/// Who calls it off is given what a shell gives for it.
const CALLED_OFF: u8 = 130;

/// Asks for a line and does not show it. A signal must not leave the terminal so that it shows nothing of what is typed next.
pub fn ask(prompt: &str) -> Result<String, Failure> {
    let signals = Signals::install()?;
    let line = read(prompt, &signals).map_err(|error| {
        Failure::io("nothing could be read from the terminal; nothing was kept", &error)
            .remedy("Give it on standard input, or with --from-env.")
    })?;
    line.ok_or_else(|| Failure::new("interrupted", "it was called off; nothing was kept").exit(CALLED_OFF))
}

/// A line; `None` when a signal came first.
fn read(prompt: &str, signals: &Signals) -> io::Result<Option<String>> {
    let mut terminal = File::options().read(true).write(true).open("/dev/tty")?;
    let unseen = Unseen::on(terminal.try_clone()?)?;
    terminal.write_all(prompt.as_bytes())?;
    // A terminal is readable once a line is whole.
    let woke = watch::wait(Some(signals), Some(terminal.as_fd()), false, None)?;
    let mut line = String::new();
    let read = match woke {
        Wake::Notice(_) => None,
        Wake::Readable | Wake::Typed | Wake::ReaderLeft | Wake::TimedOut => {
            Some(BufReader::new(&terminal).read_line(&mut line))
        }
    };
    drop(unseen);
    terminal.write_all(b"\n")?;
    let Some(read) = read else { return Ok(None) };
    read?;
    Ok(Some(line.trim().to_owned()))
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
