//! How answers look: aligned and coloured on a terminal, plain in a pipe.
//!
//! Text that came from elsewhere (names, command lines, reasons) passes [`clean`] first, so that it can neither move the
//! cursor nor break a line.

pub mod call;
pub mod changes;
pub mod event;
pub mod markdown;
pub mod model;
pub mod money;
pub mod replay;
pub mod request;
pub mod screen;
pub mod state;
pub mod table;
pub mod task;
pub mod time;
pub mod transcript;
pub mod tree;
pub mod why;
pub mod width;

mod size;

pub use size::size;
pub use table::{Column, Table};

use owo_colors::{OwoColorize, Style};
use std::io::IsTerminal;

/// How a stream is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Whether a person looks at a terminal.
    pub terminal: bool,
    /// Whether colours are wanted.
    pub color: bool,
    /// Columns, when it is a terminal that says so.
    pub width: Option<u16>,
}

/// What a piece of text tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Nothing special.
    Plain,
    /// All is well.
    Good,
    /// Under way.
    Busy,
    /// Needs attention.
    Warn,
    /// Went wrong.
    Bad,
    /// Beside the point.
    Faint,
    /// A heading.
    Strong,
}

impl Look {
    /// For pipes and files.
    pub const PLAIN: Self = Self { terminal: false, color: false, width: None };

    /// What suits this stream: colours on a terminal, unless `NO_COLOR` is set (<https://no-color.org>) or it is a dumb one.
    pub fn of(stream: &(impl IsTerminal + std::os::fd::AsFd)) -> Self {
        if !stream.is_terminal() {
            return Self::PLAIN;
        }
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let color = set("NO_COLOR").is_none() && set("TERM").is_some_and(|term| term != "dumb");
        let width = rustix::termios::tcgetwinsize(stream).ok().map(|size| size.ws_col).filter(|columns| *columns > 0);
        Self { terminal: true, color, width }
    }

    /// The text in the colour of its tone.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        if !self.color {
            return text.to_owned();
        }
        let style = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Good => Style::new().green(),
            Tone::Busy => Style::new().cyan(),
            Tone::Warn => Style::new().yellow(),
            Tone::Bad => Style::new().red(),
            Tone::Faint => Style::new().dimmed(),
            Tone::Strong => Style::new().bold(),
        };
        text.style(style).to_string()
    }
}

/// The text on one line, with control characters shown as escapes.
pub fn clean(text: &str) -> String {
    text.chars()
        .flat_map(|letter| {
            let escaped = letter.is_control().then(|| letter.escape_default());
            let plain = escaped.is_none().then_some(letter);
            escaped.into_iter().flatten().chain(plain)
        })
        .collect()
}

/// `1 task`, `2 tasks`.
pub fn count(number: u64, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

#[cfg(test)]
mod tests {
    use super::{Look, Tone, clean};

    #[test]
    fn foreign_text_cannot_steer_the_terminal() {
        assert_eq!(clean("a\x1b[2Jb\nc\u{9b}1m é"), "a\\u{1b}[2Jb\\nc\\u{9b}1m é");
    }

    #[test]
    fn colours_are_for_terminals_only() {
        assert_eq!(Look::PLAIN.paint(Tone::Bad, "x"), "x");
        let look = Look { terminal: true, color: true, width: None };
        assert_eq!(look.paint(Tone::Bad, "x"), "\x1b[31mx\x1b[0m");
        assert_eq!(look.paint(Tone::Plain, "x"), "x");
    }
}
