//! `chat`: a conversation with an agent on a terminal.
//!
//! A conversation is a chain of tasks, each of which continues the one before: nothing is kept here that the server does not have, so that
//! leaving ends nothing and `chat --resume` goes on anywhere. The thread that reads what is typed never waits for a task, and the thread
//! that follows a task never waits for the terminal: they share where the conversation stands, and what is shown goes through a queue.

mod command;
mod complete;
mod editor;
mod ending;
mod follow;
mod lines;
mod stand;
mod talk;
mod voice;

use super::args::chat::Chat;
use super::{Context, Failure, Outcome};
use editor::{Editor, Typed};
use ending::Before;
use std::io::{self, IsTerminal};
use talk::Talk;

/// Talks until somebody leaves, and gives the exit code of the last task.
pub fn chat(context: &Context, chat: Chat) -> Outcome {
    if context.json() || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Failure::usage("a chat needs a terminal to be typed on and shown on").remedy(
            "`ouroboros run TEXT` has one task done, `ouroboros run --continue last TEXT` goes on from it, also with --json.",
        ));
    }
    let folder = super::run::directory(chat.cwd.clone())?;
    let before = Before::now().map_err(|error| Failure::io("the terminal cannot be typed on", &error))?;
    let (mut editor, voice) = Editor::open(context.paths().data_dir(), &folder)?;
    let mut talk = Talk::new(context, chat, folder, voice);
    ending::watch(before, talk.shared())?;
    talk.resume()?;
    talk.greet();
    loop {
        let leave = match editor.read()? {
            Typed::Line(line) => talk.line(&line),
            Typed::Interrupt => talk.interrupt(),
            Typed::End => Ok(true),
        };
        match leave {
            Ok(true) => return Ok(talk.leave()),
            Ok(false) => {}
            Err(Failure::Closed) => return Ok(talk.leave()),
            Err(failure) => {
                failure.tell(false, context.client().other_build().as_deref());
            }
        }
    }
}

/// Whether the program was called with nothing at all by a person at a terminal, who is then asked what is to be done.
pub fn is_wanted() -> bool {
    std::env::args_os().len() == 1 && io::stdin().is_terminal() && io::stdout().is_terminal()
}
