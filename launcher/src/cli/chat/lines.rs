//! What a task writes, made whole lines that cannot steer the terminal.

use crate::render::Look;
use crate::render::markdown::Markdown;
use crate::render::screen::Screen;

/// Longest line that is waited for; a longer one is shown in pieces.
const LINE: usize = 8 << 10;

/// One stream.
#[derive(Debug, Default)]
pub struct Lines {
    screen: Screen,
    begun: String,
}

impl Lines {
    /// The lines that are whole with these bytes.
    pub fn take(&mut self, bytes: &[u8]) -> String {
        self.begun.push_str(&self.screen.show(bytes));
        if self.begun.len() > LINE {
            return std::mem::take(&mut self.begun);
        }
        match self.begun.rfind('\n').and_then(|end| self.begun.split_at_checked(end.saturating_add(1))) {
            Some((whole, rest)) => {
                let (whole, rest) = (whole.to_owned(), rest.to_owned());
                self.begun = rest;
                whole
            }
            None => String::new(),
        }
    }

    /// What is left of them.
    pub fn finish(&mut self) -> String {
        let cut = self.screen.finish();
        std::mem::take(&mut self.begun) + cut
    }
}

/// The text of a model: as what it means where there are colours, otherwise by line.
#[derive(Debug)]
pub enum Page {
    /// Lines.
    Plain(Lines),
    /// Blocks.
    Markdown(Markdown),
}

impl Page {
    /// For a terminal like this.
    pub fn new(look: Look) -> Self {
        if look.color { Self::Markdown(Markdown::new(look.width)) } else { Self::Plain(Lines::default()) }
    }

    /// The lines that are whole with this text.
    pub fn take(&mut self, text: &str) -> String {
        match self {
            Self::Plain(lines) => lines.take(text.as_bytes()),
            Self::Markdown(markdown) => markdown.take(text),
        }
    }

    /// What is left; the next text begins anew.
    pub fn finish(&mut self) -> String {
        match self {
            Self::Plain(lines) => lines.finish(),
            Self::Markdown(markdown) => markdown.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LINE, Lines};

    #[test]
    fn lines_are_shown_when_they_are_whole() {
        let mut lines = Lines::default();
        assert_eq!(lines.take(b"a\x1b[2J"), "");
        assert_eq!(lines.take(b"b\nc\nd"), "a\\u{1b}[2Jb\nc\n");
        assert_eq!((lines.finish(), lines.finish()), ("d".to_owned(), String::new()));
        assert_eq!(lines.take("x".repeat(LINE + 1).as_bytes()).len(), LINE + 1);
    }
}
