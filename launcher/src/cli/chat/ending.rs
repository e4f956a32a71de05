//! An end that comes from outside, or from a fault of ours: the terminal is given back as it was, and what becomes of the task is said.

use super::stand::{At, Shared, Stand};
use crate::cli::follow::watch::{Wake, wait};
use crate::cli::follow::{Notice, Signals};
use crate::cli::{Failure, OURS};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{self, Write as _};
use std::iter;
use std::panic;
use std::process;
use std::thread;
use std::time::Duration;

/// How often, and after which pauses, what the chat is about is looked at where somebody else does.
const LOOKS: usize = 100;
const AGAIN: Duration = Duration::from_millis(10);
/// Ends what the line editor switched on: pastes in brackets.
const NO_BRACKETS: &[u8] = b"\x1b[?2004l";

/// The terminal as it was before anybody typed on it.
#[derive(Clone)]
pub struct Before(Termios);

impl Before {
    /// As it is now.
    pub fn now() -> io::Result<Self> {
        Ok(Self(tcgetattr(io::stdin())?))
    }

    /// Puts it back.
    pub fn restore(&self) {
        // A terminal that is gone needs no restoring.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        let _ = io::stdout().write_all(NO_BRACKETS).and_then(|()| io::stdout().flush());
    }
}

/// Ends the conversation in order when a signal asks for that, or a thread of it panics. The task goes on.
pub fn watch(before: Before, shared: Shared) -> Result<(), Failure> {
    let signals = Signals::install()?;
    let at_panic = (before.clone(), shared.clone());
    let told = panic::take_hook();
    panic::set_hook(Box::new(move |fault| {
        at_panic.0.restore();
        eprint_line("");
        told(fault);
        leave(&at_panic.0, &at_panic.1, OURS);
    }));
    let watch = move || {
        let signal = loop {
            match wait(Some(&signals), None, false, None) {
                Ok(Wake::Notice(Notice::Interrupt)) => break SIGINT,
                Ok(Wake::Notice(Notice::Terminate)) => break SIGTERM,
                Ok(Wake::Notice(Notice::HangUp)) => break SIGHUP,
                Ok(Wake::Readable | Wake::Typed | Wake::ReaderLeft | Wake::TimedOut) => {}
                // Nobody can be told of signals then.
                Err(_) => return,
            }
        };
        before.restore();
        eprint_line("");
        leave(&before, &shared, u8::try_from(signal).map_or(OURS, |signal| signal.saturating_add(128)));
    };
    let begun = thread::Builder::new().name("signals".to_owned()).spawn(watch);
    begun.map(drop).map_err(|error| Failure::io("a thread cannot be started", &error))
}

#[expect(clippy::exit, reason = "the thread that is typed on waits for the terminal and cannot be told")]
fn leave(before: &Before, shared: &Shared, code: u8) -> ! {
    // Who holds this may be the one that panicked, or wait for the terminal; mostly it is let go in no time.
    let look = || shared.try_known().map(|known| known.stand);
    let again = iter::repeat_with(|| {
        thread::sleep(AGAIN);
        look()
    });
    let stand = look().or_else(|| again.take(LOOKS).flatten().next());
    if let Some(Stand::Working(At { number, .. })) = stand {
        eprint_line(&format!("ouroboros: task {number} goes on; `ouroboros chat --resume {number}` takes it up again"));
    }
    // Once more: the editor may have begun another line meanwhile.
    before.restore();
    process::exit(i32::from(code))
}

/// Without a standard error there is nobody to tell.
fn eprint_line(words: &str) {
    let _ = writeln!(io::stderr(), "{words}");
}

#[cfg(test)]
mod tests {
    use super::super::editor::Keys;
    use super::*;
    use crate::cli::chat::stand::At;
    use nix::pty::openpty;
    use nix::sys::termios;
    use ouroboros_proto::kind::{TaskId, TaskNumber};
    use std::fs::File;
    use std::io::Read as _;
    use std::process::{Command, Stdio};

    const CHILD: &str = "OUROBOROS_TEST_PANICS";

    /// Does nothing but when the other test runs it on a terminal.
    #[test]
    fn panics_on_a_terminal() {
        if std::env::var_os(CHILD).is_none() {
            return;
        }
        let shared = Shared::default();
        shared.works(At { id: TaskId::from_bytes([1; 16]), number: TaskNumber::new(7) });
        watch(Before::now().unwrap(), shared).unwrap();
        let _keys = Keys::single().unwrap();
        thread::spawn(|| panic!("a fault of ours")).join().unwrap();
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "this program itself")]
    fn a_panic_leaves_the_terminal_as_it_was() {
        let Ok(pty) = openpty(None, None) else {
            println!("SKIP: no pseudo-terminal is to be had");
            return;
        };
        let before = termios::tcgetattr(&pty.slave).unwrap();
        let side = || Stdio::from(pty.slave.try_clone().unwrap());
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "cli::chat::ending::tests::panics_on_a_terminal", "--nocapture"])
            .env(CHILD, "1")
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn()
            .unwrap();
        let (mut terminal, mut shown) = (File::from(pty.master), String::new());
        while !shown.contains("takes it up again") {
            let mut bytes = [0; 1_024];
            let read = terminal.read(&mut bytes).unwrap();
            shown.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
        assert_eq!(child.wait().unwrap().code(), Some(125), "{shown}");
        assert!(shown.contains("a fault of ours") && shown.contains("task 7 goes on"), "{shown}");
        assert_eq!(termios::tcgetattr(&pty.slave).unwrap(), before);
    }
}
