//! The launcher: keeps one server running for one data directory.
//!
//! It owns no state that must survive. It holds the lock of the data directory, starts the server in a group of its own, and is
//! the sub-reaper of everything below. One thread polls signals, the server's pidfd and its readiness pipe; there is no tick.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`home`], [`beside`] | the data directory and its lock; what to do when another launcher has it |
//! | [`program`], [`environment`], [`activation`], [`server`], [`readiness`] | starting one server and hearing from it |
//! | [`signals`], [`poll`] | what wakes us |
//! | [`verdict`], [`backoff`] | what an ending of the server means, and when to try again: pure |
//! | [`life`], [`watch`], [`stopping`] | the launcher's own life; one life of a server; an ordered stop |
//! | [`sweep`], [`blockers`] | ending what a server left; what a stop waits for |
//! | [`notify`], [`watchdog`] | what a service manager is told |
//! | [`detached`], [`starter`] | a launcher without a terminal, and how it talks to whoever started it |
//! | [`voice`], [`log`], [`refusal`] | what people are told |
//!
//! Invariants:
//! - The write end of the server's lifeline is in this process alone: when it ends in any way, the server stops.
//! - After every end of a server its whole tree is killed and reaped before the next one starts; what survives is named to the next.
//! - What was asked to stop is never started again.
//! - Output that cannot be written is no reason to end: a stop goes through the server, in order.

mod activation;
mod ask;
mod backoff;
mod beside;
mod blockers;
mod detached;
mod environment;
mod home;
mod life;
mod log;
mod notify;
mod poll;
mod program;
mod readiness;
mod refusal;
mod server;
mod signals;
mod starter;
mod stopping;
mod sweep;
mod verdict;
mod voice;
mod watch;
mod watchdog;

pub use beside::unwelcome;
pub use detached::{Started, start_detached};

use beside::Turn;
use life::Launcher;
use ouroboros_proto::kind::ExitCode;
use ouroboros_settings::{Key, Paths};
use refusal::Refusal;
use signals::Signals;
use starter::Starter;
use voice::Voice;

/// What to supervise, and how.
#[derive(Debug)]
pub struct Options {
    /// The installation.
    pub paths: Paths,
    /// Settings from the command line, handed on to the server.
    pub settings: Vec<(Key, String)>,
    /// Whether a verb started it by itself, so that it leaves when it is idle.
    pub auto: bool,
}

/// Supervises in the foreground until the server ends for good. Must be called before the process has other threads: they would
/// take the signals. Beside a launcher that lives it only says where that is.
pub fn up(options: Options) -> ExitCode {
    let voice = Voice::new(options.auto);
    let mut starter = Starter::new(options.auto);
    match supervise(options, voice, &mut starter) {
        Ok(code) => code,
        Err(refusal) => {
            starter.refused(&refusal);
            voice.trouble(&refusal.message, &refusal.remedy);
            refusal.code
        }
    }
}

fn supervise(options: Options, voice: Voice, starter: &mut Starter) -> Result<ExitCode, Refusal> {
    let signals = Signals::take_over().map_err(|error| Refusal::system("receive signals", &error))?;
    if let Some(note) = home::prepare(&options.paths)? {
        voice.note(&note);
    }
    let _lock = match beside::take_turn(&options.paths, &signals)? {
        Turn::Ours(lock) => lock,
        Turn::Running(running) => {
            voice.answer(&beside::describe(&running));
            starter.beside(running.pid);
            if let Some(why) = beside::unwelcome() {
                voice.note(why);
                return Ok(ExitCode::Unavailable);
            }
            return Ok(ExitCode::Stopped);
        }
        Turn::Left => return Ok(ExitCode::Stopped),
    };
    Ok(Launcher::prepare(options, voice, signals)?.run(starter))
}
