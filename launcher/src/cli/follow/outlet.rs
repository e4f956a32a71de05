//! Where the output of a task goes, and what is done to it on the way.

use crate::render::Look;
use crate::render::markdown::Markdown;
use crate::render::screen::Screen;
use ouroboros_proto::kind::Stream;
use std::io::{self, Write};

/// Our standard output and standard error.
#[derive(Debug, Default)]
pub struct Outlet {
    closes_line: bool,
    /// Whether the last byte of standard output did not end its line.
    open_line: bool,
    page: Page,
    err: Option<Screen>,
}

/// What is done to standard output.
#[derive(Debug, Default)]
enum Page {
    /// Nothing.
    #[default]
    Bytes,
    /// It must not steer the terminal.
    Plain(Screen),
    /// That, and it is shown as what it means.
    Markdown(Screen, Markdown),
}

impl Outlet {
    /// For what a model wrote: `closes_line` says whether its last line must end. A terminal is not steered by it, and one with colours shows
    /// its Markdown as what it means.
    pub fn of_model(closes_line: bool, out: Look, err: Look) -> Self {
        let page = match (out.terminal, out.color) {
            (false, _) => Page::Bytes,
            (true, false) => Page::Plain(Screen::default()),
            (true, true) => Page::Markdown(Screen::default(), Markdown::new(out.width)),
        };
        Self { closes_line, open_line: false, page, err: err.terminal.then(Screen::default) }
    }

    /// Writes to one of them.
    pub fn write(&mut self, to: Stream, bytes: &[u8]) -> io::Result<()> {
        match to {
            Stream::Stdout => match &mut self.page {
                Page::Bytes => self.put(bytes),
                Page::Plain(screen) => {
                    let shown = screen.show(bytes);
                    self.put(shown.as_bytes())
                }
                Page::Markdown(screen, markdown) => {
                    let shown = markdown.take(&screen.show(bytes));
                    self.put(shown.as_bytes())
                }
            },
            // Errors that nobody reads are no reason to stop: the answer is on standard output.
            Stream::Stderr => {
                self.leave_for_err()?;
                let shown = self.err.as_mut().map(|screen| screen.show(bytes));
                put(io::stderr().lock(), shown.as_ref().map_or(bytes, |shown| shown.as_bytes())).or(Ok(()))
            }
        }
    }

    /// Writes a line of ours to standard error, as it is.
    pub fn line(&mut self, line: &str) -> io::Result<()> {
        self.leave_for_err()?;
        // As above.
        put(io::stderr().lock(), format!("{line}\n").as_bytes()).or(Ok(()))
    }

    /// On a terminal both are shown in the same place.
    fn leave_for_err(&mut self) -> io::Result<()> {
        if self.err.is_some() { self.leave_line() } else { Ok(()) }
    }

    /// A writer to one of them.
    pub fn writer(&mut self, to: Stream) -> impl Write {
        Writer { outlet: self, to }
    }

    /// Ends a line of a model's text that is begun, before a line of ours is shown in its place.
    pub fn leave_line(&mut self) -> io::Result<()> {
        match self.page {
            Page::Plain(_) | Page::Markdown(..) if std::mem::take(&mut self.open_line) => self.put(b"\n"),
            Page::Plain(_) | Page::Markdown(..) | Page::Bytes => Ok(()),
        }
    }

    /// One text is over, and what follows is another: shows what was begun, and ends its line.
    pub fn text_ends(&mut self) -> io::Result<()> {
        let rest = self.rest();
        self.put(rest.as_bytes())?;
        if std::mem::take(&mut self.open_line) { self.put(b"\n") } else { Ok(()) }
    }

    /// Shows what a cut-off character leaves, and ends the last line where a person reads it.
    pub fn close(&mut self) -> io::Result<()> {
        let rest = self.rest();
        self.put(rest.as_bytes())?;
        if self.closes_line && std::mem::take(&mut self.open_line) { self.put(b"\n") } else { Ok(()) }
    }

    fn rest(&mut self) -> String {
        match &mut self.page {
            Page::Bytes => String::new(),
            Page::Plain(screen) => screen.finish().to_owned(),
            Page::Markdown(screen, markdown) => {
                let shown = markdown.take(screen.finish());
                shown + &markdown.finish()
            }
        }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(last) = bytes.last() {
            self.open_line = *last != b'\n';
        }
        put(io::stdout().lock(), bytes)
    }
}

fn put(mut to: impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}

struct Writer<'a> {
    outlet: &'a mut Outlet,
    to: Stream,
}

impl Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outlet.write(self.to, bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
