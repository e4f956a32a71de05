//! The question after the first Ctrl-C.

use super::signals::{Notice, Signals};
use super::watch::{Wake, wait};
use ouroboros_proto::kind::TaskNumber;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;

/// What to do with the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// End it.
    Cancel,
    /// Leave it alone and go.
    Detach,
    /// Go on following it.
    GoOn,
    /// Go: what becomes of it is said.
    Leave,
}

/// Asks on the controlling terminal; `None` when there is none, or it is not ours to read from.
pub fn ask(signals: &Signals, number: TaskNumber) -> Option<Choice> {
    let mut terminal = terminal()?;
    let keys = SingleKeys::on(terminal.try_clone().ok()?)?;
    write!(terminal, "\r\ntask {number} is running: [c]ancel it, [d]etach, any other key goes on ").ok()?;
    let choice = choose(signals, &mut terminal);
    drop(keys);
    writeln!(terminal, "\r").ok()?;
    Some(choice)
}

/// The controlling terminal, when there is one and we may read from it: reading from the background would stop us.
pub fn terminal() -> Option<File> {
    let terminal = File::options().read(true).write(true).open("/dev/tty").ok()?;
    (tcgetpgrp(&terminal).ok()? == rustix::process::getpgrp()).then_some(terminal)
}

fn choose(signals: &Signals, terminal: &mut File) -> Choice {
    let mut key = [0];
    match wait(Some(signals), Some(terminal.as_fd()), false, None) {
        Ok(Wake::Notice(Notice::Interrupt | Notice::Terminate)) => Choice::Cancel,
        Ok(Wake::Readable) => match terminal.read(&mut key) {
            Ok(1) if matches!(key, [b'c' | b'C']) => Choice::Cancel,
            Ok(1) if matches!(key, [b'd' | b'D']) => Choice::Detach,
            Ok(1) => Choice::GoOn,
            _ => Choice::Detach,
        },
        Ok(Wake::Notice(Notice::HangUp) | Wake::ReaderLeft | Wake::Typed | Wake::TimedOut) | Err(_) => Choice::Detach,
    }
}

/// The terminal gives single keys without showing them, until this is dropped. Ctrl-C stays a signal.
struct SingleKeys {
    terminal: File,
    before: Termios,
}

impl SingleKeys {
    fn on(terminal: File) -> Option<Self> {
        let before = tcgetattr(&terminal).ok()?;
        let mut keys = before.clone();
        keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&terminal, OptionalActions::Flush, &keys).ok()?;
        Some(Self { terminal, before })
    }
}

impl Drop for SingleKeys {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}
