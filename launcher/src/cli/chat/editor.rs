//! The line that is typed.

use super::complete::Names;
use super::voice::Voice;
use crate::cli::Failure;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Cmd, CompletionType, Config, EditMode, KeyCode, KeyEvent, Modifiers};
use std::io;
use std::path::{Path, PathBuf};

/// Lines that are remembered.
const REMEMBERED: usize = 1_000;
/// Milliseconds after which Esc is a key of its own and not the beginning of another one.
const ESCAPE: u16 = 50;
/// The file of what was typed, in the data directory.
const HISTORY: &str = "chat.history";
const PROMPT: &str = "> ";

/// What somebody did.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// A line, or several that were pasted.
    Line(String),
    /// Ctrl-C or Esc.
    Interrupt,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// The editor, and what was typed before.
pub struct Editor {
    inner: rustyline::Editor<Names, FileHistory>,
    history: PathBuf,
    /// Gives the terminal back as it was.
    _keys: Keys,
}

impl Editor {
    /// On the terminal of this process. The voice shows above the line.
    pub fn open(data: &Path, folder: &str) -> Result<(Self, Voice), Failure> {
        let config = Config::builder()
            .edit_mode(EditMode::Emacs)
            .keyseq_timeout(Some(ESCAPE))
            .completion_type(CompletionType::List)
            .history_ignore_space(true)
            .max_history_size(REMEMBERED)
            .map_err(failed)?
            .build();
        let mut inner = rustyline::Editor::with_config(config).map_err(failed)?;
        inner.set_helper(Some(Names::new(folder)));
        inner.bind_sequence(KeyEvent(KeyCode::Esc, Modifiers::NONE), Cmd::Interrupt);
        inner.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), Cmd::Newline);
        let voice = Voice::new(inner.create_external_printer().map_err(failed)?);
        let history = data.join(HISTORY);
        // There is none before the first line, and one that cannot be read is no reason not to talk.
        let _ = inner.load_history(&history);
        let keys = Keys::single().map_err(|error| failed(error.into()))?;
        Ok((Self { inner, history, _keys: keys }, voice))
    }

    /// Waits for what is typed.
    pub fn read(&mut self) -> Result<Typed, Failure> {
        match self.inner.readline(PROMPT) {
            Ok(line) => {
                self.remember(&line);
                Ok(Typed::Line(line))
            }
            Err(ReadlineError::Interrupted) => Ok(Typed::Interrupt),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(ReadlineError::Io(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Typed::End),
            Err(error) => Err(failed(error)),
        }
    }

    /// Readable by its owner alone: the library makes the file with mode 0600.
    fn remember(&mut self, line: &str) {
        if line.trim().is_empty() || !matches!(self.inner.add_history_entry(line), Ok(true)) {
            return;
        }
        // What cannot be remembered was said all the same.
        let _ = self.inner.append_history(&self.history);
    }
}

/// The terminal gives single keys, and Ctrl-C and Ctrl-D as keys like any other, also between two lines, where they would end us or be
/// lost: what is typed then begins the next line. Undone when this is dropped.
pub struct Keys {
    before: Termios,
}

impl Keys {
    /// From now on.
    pub fn single() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut keys = before.clone();
        keys.local_modes.remove(LocalModes::ISIG | LocalModes::ICANON);
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(io::stdin(), OptionalActions::Now, &keys)?;
        Ok(Self { before })
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

fn failed(error: ReadlineError) -> Failure {
    let error = match error {
        ReadlineError::Io(error) => error,
        other => io::Error::other(other.to_string()),
    };
    Failure::io("the terminal cannot be typed on", &error)
        .remedy("`ouroboros run TEXT` needs no such terminal; TERM names the kind of this one.")
}
