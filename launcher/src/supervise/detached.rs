//! Starting a launcher without a terminal, in a session of its own.

use super::environment::inherited;
use super::starter::Word;
use super::verdict::describe;
use super::{home, log, poll};
use ouroboros_process::{Child, Command, Lead, Program, SpawnError, Spawner, Stdio};
use ouroboros_proto::kind::{BootMicros, Millis, clock};
use ouroboros_settings::Paths;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::DirBuilder;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::time::Duration;

/// How long it may take until it is ready.
const BOUND: Millis = Millis::seconds(30);
/// How long the process that ended its output may take to be gone.
const LAST: Duration = Duration::from_secs(5);
/// Longest line that it says.
const LINE_BYTES: usize = 64 << 10;

/// A launcher was not started, or its server does not run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no place for its files.
    #[error("{message}; {}", sentence(remedy))]
    Home {
        /// What happened.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// The machine refused a log file, a pipe or a thread.
    #[error("{what}: {source}")]
    System {
        /// What was refused.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// The process could not be made.
    #[error("the launcher did not start: {0}")]
    Spawn(#[from] SpawnError),
    /// It said why it leaves.
    #[error("{message}; {}{}", sentence(remedy), quoted(words))]
    Refused {
        /// What happened.
        message: String,
        /// What to do.
        remedy: String,
        /// The end of the log.
        words: String,
    },
    /// It left without a word.
    #[error("the launcher {ending} before it was ready{}", quoted(words))]
    Ended {
        /// How it ended.
        ending: String,
        /// The end of the log.
        words: String,
    },
    /// The server does not stay up. The launcher goes on trying.
    #[error(
        "the server has crashed {crashes} times in a row (it {ending}); the launcher goes on trying, `kill {pid}` ends that{}",
        quoted(words)
    )]
    Crashing {
        /// The launcher.
        pid: i32,
        /// How often.
        crashes: u32,
        /// How it ended last.
        ending: String,
        /// The end of the log.
        words: String,
    },
    /// It is still starting. It was left alone.
    #[error("the server was not ready after {} s and goes on starting; {} has more", BOUND.get() / 1_000, log.display())]
    Late {
        /// Its log.
        log: PathBuf,
    },
}

/// Who runs now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// The launcher that was started.
    Ours,
    /// One that was there before, or was quicker; its process number when it is known.
    Before(Option<i32>),
}

/// On one line, as the end of a sentence. What the launcher said for itself is left out: it begins with a time.
fn quoted(words: &str) -> String {
    let mut ours = false;
    let foreign = words.lines().filter(|line| {
        ours = line.contains("Z ouroboros: ") || (ours && line.starts_with("  "));
        !ours && !line.trim().is_empty()
    });
    let lines: Vec<&str> = foreign.map(str::trim).collect();
    if lines.is_empty() { String::new() } else { format!("; its last words: {}", lines.join(" | ")) }
}

/// Without its full stop: whoever shows an error ends it.
fn sentence(text: &str) -> &str {
    text.trim_end_matches('.')
}

/// Starts `ouroboros up --auto` on its own, in a session of its own, its messages in `launcher.log`. Returns when a server
/// accepts work, and tells whose it is; at most after 30 s.
///
/// # Errors
/// [`StartError`]. Only in `Crashing` and `Late` does something run.
pub fn start_detached(paths: &Paths) -> Result<Started, StartError> {
    home::prepare(paths).map_err(|refusal| StartError::Home { message: refusal.message, remedy: refusal.remedy })?;
    let logs = paths.log_dir();
    let system = |what: &str| {
        let what = what.to_owned();
        move |source: io::Error| StartError::System { what, source }
    };
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&logs);
    made.map_err(system(&format!("{} cannot be created", logs.display())))?;
    let path = log::path(&logs);
    let (file, before) = log::open(&path).map_err(system(&format!("{} cannot be opened", path.display())))?;
    let own = std::env::current_exe().map_err(system("the launcher cannot find its own program"))?;
    let (reads, says) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| system("no pipe is left")(error.into()))?;
    fcntl_setfl(&reads, OFlags::NONBLOCK).map_err(|error| system("no pipe is left")(error.into()))?;
    let command = Command {
        arg0: Some("ouroboros".into()),
        args: vec!["up".into(), "--auto".into()],
        env: inherited(std::env::vars_os()),
        cwd: Some(paths.data_dir().to_owned()),
        stdout: Stdio::Fd(says),
        stderr: Stdio::Fd(file.into()),
        lead: Lead::Session,
        ..Command::new(Program::Path(own))
    };
    let child = Spawner::start().map_err(system("no thread is left"))?.spawn(command)?;
    match listen(&reads, clock::boot().plus(BOUND)) {
        Heard::Word(Word::Ready { .. }) => Ok(Started::Ours),
        Heard::Word(Word::Beside { pid }) => Ok(Started::Before(pid)),
        Heard::Word(Word::Refused { message, remedy, words, .. }) => {
            Err(StartError::Refused { message, remedy, words })
        }
        Heard::Word(Word::Crashing { crashes, ending, words }) => {
            Err(StartError::Crashing { pid: child.pid(), crashes, ending, words })
        }
        // Beside a server that runs already it says that in words of its own, and leaves.
        Heard::End if ended_well(&child) => Ok(Started::Before(None)),
        Heard::End => Err(StartError::Ended { ending: ending(&child), words: log::tail(&path, before) }),
        Heard::Silence => Err(StartError::Late { log: path }),
    }
}

enum Heard {
    Word(Word),
    End,
    Silence,
}

/// The line, the end of the output without one, or nothing in time. Whatever else is said is passed over.
fn listen(pipe: &OwnedFd, until: BootMicros) -> Heard {
    let mut said = Vec::new();
    let mut chunk = [0; 4 << 10];
    loop {
        match rustix::io::read(pipe, &mut chunk) {
            Ok(0) => return Heard::End,
            Ok(count) => said.extend_from_slice(chunk.get(..count).unwrap_or_default()),
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) if clock::boot() >= until => return Heard::Silence,
            Err(Errno::AGAIN) => poll::wait(&[pipe.as_fd()], Some(until)),
            Err(_) => return Heard::End,
        }
        while let Some(end) = said.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = said.drain(..=end).collect();
            if let Ok(word) = serde_json::from_slice(&line) {
                return Heard::Word(word);
            }
        }
        said.truncate(LINE_BYTES);
    }
}

fn ended_well(child: &Child) -> bool {
    use ouroboros_process::Status;
    child.pidfd().wait_dead(LAST) && matches!(child.try_wait(), Ok(Some(exit)) if exit.status == Status::Exited(0))
}

fn ending(child: &Child) -> String {
    match child.try_wait() {
        Ok(Some(exit)) => describe(exit.status),
        Ok(None) | Err(_) => "closed its output".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_those_of_the_server() {
        let log = "2026-11-30T12:00:00.000000Z ouroboros: wrong.\n  do this\n first\n\n  second\n";
        assert_eq!(quoted(log), "; its last words: first | second");
        assert_eq!(quoted("2026-11-30T12:00:00.000000Z ouroboros: x\n"), "");
    }

    #[test]
    fn the_line_is_found_among_others_and_an_end_is_no_line() {
        let hear = |text: &[u8]| {
            let (reads, says) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
            rustix::io::write(&says, text).unwrap();
            drop(says);
            listen(&reads, clock::boot().plus(BOUND))
        };
        let Heard::Word(word) = hear(b"already running\n{\"outcome\":\"ready\",\"url\":null}\n") else { panic!() };
        assert_eq!(word, Word::Ready { url: None });
        assert!(matches!(hear(b"already running: launcher pid 7\n"), Heard::End));
        let (reads, _says) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
        assert!(matches!(listen(&reads, clock::boot()), Heard::Silence));
    }
}
