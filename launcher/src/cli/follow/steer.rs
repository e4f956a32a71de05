//! Ctrl-C while a task in words is followed on a terminal: its turn is stopped, and a line says what to do instead.
//!
//! The turn is held until the line is there, so every way on from here lets it go again or says that it waits.

use super::ask::{Choice, ask, terminal};
use super::prompt::{LINE_BYTES, Prompt};
use super::session::Session;
use super::signals::{Notice, Signals};
use super::watch::{Wake, wait};
use crate::cli::run;
use crate::client::ClientError;
use crate::render::clean;
use ouroboros_proto::api::{Code, InterruptRequest, MessageRequest};
use ouroboros_proto::kind::{Millis, TaskId, TaskNumber};
use rustix::termios::{QueueSelector, tcflush};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;

/// How long a server that is in trouble is asked again.
const PATIENCE: Millis = Millis::seconds(10);

/// What was typed.
enum Typed {
    Words(String),
    Enter,
    Again,
    /// End of input.
    End,
    Terminate,
    HangUp,
}

impl Session<'_> {
    /// Stops the turn that is under way and has a line typed; what is to be done then. `None` when there is no turn to stop, or nobody at a
    /// terminal who could type.
    pub(super) fn stop_turn(&mut self, signals: &Signals) -> Option<Choice> {
        let asked = self.prompt.as_ref().is_some_and(Prompt::is_asking);
        if !self.in_words || self.context.json() || asked {
            return None;
        }
        let mut terminal = terminal()?;
        // Without a turn, or without a server, there is the question about the task.
        self.interrupt(true).ok()?;
        // What was begun is not gone on with. A terminal that is gone is noticed where it is read.
        let _ = self.outlet.text_ends();
        let number = self.number;
        let hint = format!(
            "\r\ntask {number}: this turn is stopped. What to do instead? (Enter: go on, Ctrl-C: end or leave it) "
        );
        // What was typed before it was asked for is no answer.
        let _ = tcflush(&terminal, QueueSelector::IFlush);
        let _ = terminal.write_all(hint.as_bytes());
        let choice = match line(signals, &mut terminal) {
            Typed::Words(text) => {
                self.tell(text);
                return Some(Choice::GoOn);
            }
            Typed::Enter => Choice::GoOn,
            Typed::End => Choice::Detach,
            Typed::Again => ask(signals, number).unwrap_or(Choice::Detach),
            Typed::Terminate => Choice::Cancel,
            Typed::HangUp => Choice::Leave,
        };
        Some(match choice {
            // Its end lets it go.
            Choice::Cancel => Choice::Cancel,
            Choice::GoOn | Choice::Detach | Choice::Leave => self.let_go(choice),
        })
    }

    /// Says what was typed to the task, which goes on with that.
    fn tell(&mut self, text: String) {
        let (target, key) = (format!("{}/messages", self.path()), TaskId::mint().to_string());
        let body = MessageRequest { text };
        let sent =
            run::until_answered(self.context, PATIENCE, || self.context.client().post_with_key(&target, &body, &key));
        let number = self.number;
        match sent {
            Ok(_) => self.context.note(&format!("said to task {number}; it goes on with that")),
            Err(failure) if [Code::NotListening, Code::AlreadySettled].iter().any(|code| failure.is(*code)) => {
                self.context.note(&format!(
                    "task {number} had ended before it heard that; `ouroboros run --continue {number} \"…\"` goes on from it"
                ));
            }
            Err(failure) => {
                let why = clean(&failure.message());
                self.context.note(&format!("that was not said: {why}; {}", waits(number)));
            }
        }
    }

    /// Lets the turn go, or says that it waits.
    fn let_go(&mut self, choice: Choice) -> Choice {
        match self.interrupt(false) {
            Ok(()) => choice,
            // It is over.
            Err(error) if error.is(Code::NotRunning) || error.is(Code::AlreadySettled) => choice,
            Err(error) => {
                let why = clean(&error.to_string());
                self.context.note(&format!("the turn could not be let go: {why}; {}", waits(self.number)));
                if choice == Choice::Detach { Choice::Leave } else { choice }
            }
        }
    }

    fn interrupt(&self, hold: bool) -> Result<(), ClientError> {
        let target = format!("{}/interrupt", self.path());
        self.context.client().post(&target, &InterruptRequest { hold, call: None }).map(drop)
    }
}

fn waits(number: TaskNumber) -> String {
    format!(
        "task {number} is stopped and waits for `ouroboros send {number} \"…\"`; `ouroboros interrupt {number}` lets it go on as it is"
    )
}

/// One line.
fn line(signals: &Signals, terminal: &mut File) -> Typed {
    let mut line = [0; LINE_BYTES];
    loop {
        match wait(Some(signals), Some(terminal.as_fd()), false, None) {
            Ok(Wake::Notice(Notice::Interrupt)) => return Typed::Again,
            Ok(Wake::Notice(Notice::Terminate)) => return Typed::Terminate,
            Ok(Wake::Notice(Notice::HangUp)) | Err(_) => return Typed::HangUp,
            Ok(Wake::Readable) => break,
            Ok(Wake::ReaderLeft | Wake::Typed | Wake::TimedOut) => {}
        }
    }
    match terminal.read(&mut line) {
        Ok(0) => Typed::End,
        Err(_) => Typed::HangUp,
        Ok(read) => {
            let text = String::from_utf8_lossy(line.get(..read).unwrap_or_default()).trim().to_owned();
            if text.is_empty() { Typed::Enter } else { Typed::Words(text) }
        }
    }
}
