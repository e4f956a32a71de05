//! What a followed task asks its owner, shown and answered on the terminal.
//!
//! The line is read from the controlling terminal while the task is followed on: an answer that is given elsewhere takes the question
//! away, and Ctrl-C means what it always means.

use crate::cli::{Context, requests};
use crate::render;
use ouroboros_proto::api::{Code, RequestView};
use rustix::termios::tcgetpgrp;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};

/// Longest line that is taken.
pub const LINE_BYTES: usize = 4_096;

/// A terminal that can be asked on, and what is asked.
#[derive(Debug)]
pub struct Prompt {
    terminal: File,
    asked: Option<RequestView>,
}

impl Prompt {
    /// For a person who follows on a terminal; `None` when there is none.
    pub fn new(context: &Context) -> Option<Self> {
        let person = context.err().terminal && io::stdin().is_terminal() && !context.json();
        let terminal = person.then(|| File::options().read(true).write(true).open("/dev/tty").ok()).flatten()?;
        Some(Self { terminal, asked: None })
    }

    /// Asks; false when the terminal is not ours to read from.
    pub fn ask(&mut self, request: RequestView) -> bool {
        if !self.is_ours() {
            return false;
        }
        let text = format!("\r\n{}{}", render::request::whole(&request), render::request::hint(&request.asks));
        let shown = self.terminal.write_all(text.as_bytes()).is_ok();
        self.asked = shown.then_some(request);
        shown
    }

    /// What is readable when a line was typed; `None` when nothing is asked.
    pub fn source(&self) -> Option<BorrowedFd<'_>> {
        self.asked.as_ref().filter(|_| self.is_ours()).map(|_| self.terminal.as_fd())
    }

    /// The request is over: there is nothing to answer any more.
    pub fn over(&mut self, number: u32) {
        if self.asked.as_ref().is_some_and(|asked| asked.request == number) {
            self.asked = None;
            // A terminal that is gone is noticed where output is written.
            let _ = self.terminal.write_all(b"\r\n");
        }
    }

    /// Whether something waits to be answered here.
    pub fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    /// Takes the line that was typed, and answers with it. What is no answer is asked for again.
    pub fn answer(&mut self, context: &Context) {
        let Some(asked) = &self.asked else { return };
        let mut line = [0; LINE_BYTES];
        let read = self.terminal.read(&mut line).unwrap_or(0);
        if read == 0 {
            // End of input: it can be answered elsewhere.
            self.asked = None;
            return;
        }
        let line = String::from_utf8_lossy(line.get(..read).unwrap_or_default()).into_owned();
        let problem = match requests::typed(&asked.asks, &line) {
            Err(why) => why.to_owned(),
            Ok(given) => match requests::send(context, asked, &given) {
                Ok(_) => {
                    self.asked = None;
                    return;
                }
                Err(failure) if failure.is(Code::RequestClosed) => {
                    self.asked = None;
                    return;
                }
                Err(failure) => failure.message(),
            },
        };
        let hint = render::request::hint(&asked.asks);
        let _ = self.terminal.write_all(format!("{}\r\n{hint}", render::clean(&problem)).as_bytes());
    }

    /// Reading from the background would stop us.
    fn is_ours(&self) -> bool {
        tcgetpgrp(&self.terminal).is_ok_and(|group| group == rustix::process::getpgrp())
    }
}
