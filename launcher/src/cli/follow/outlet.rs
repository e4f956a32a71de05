//! Where the output of a task goes, and what is done to it on the way.

use crate::render::screen::Screen;
use ouroboros_proto::kind::Stream;
use std::io::{self, Write};

/// Our standard output and standard error.
#[derive(Debug, Default)]
pub struct Outlet {
    closes_line: bool,
    /// Whether the last byte of standard output did not end its line.
    open_line: bool,
    out: Option<Screen>,
    err: Option<Screen>,
}

impl Outlet {
    /// For what a model wrote: `closes_line` says whether its last line must end, `out` and `err` which streams are
    /// terminals, which it must not steer.
    pub fn of_model(closes_line: bool, out: bool, err: bool) -> Self {
        let screen = |terminal: bool| terminal.then(Screen::default);
        Self { closes_line, open_line: false, out: screen(out), err: screen(err) }
    }

    /// Writes to one of them.
    pub fn write(&mut self, to: Stream, bytes: &[u8]) -> io::Result<()> {
        match to {
            Stream::Stdout => {
                if let Some(last) = bytes.last() {
                    self.open_line = *last != b'\n';
                }
                pass(bytes, io::stdout().lock(), self.out.as_mut())
            }
            // Errors that nobody reads are no reason to stop: the answer is on standard output.
            Stream::Stderr => pass(bytes, io::stderr().lock(), self.err.as_mut()).or(Ok(())),
        }
    }

    /// A writer to one of them.
    pub fn writer(&mut self, to: Stream) -> impl Write {
        Writer { outlet: self, to }
    }

    /// Shows what a cut-off character leaves, and ends the last line where a person reads it.
    pub fn close(&mut self) -> io::Result<()> {
        let cut = self.out.as_mut().map(Screen::finish).unwrap_or_default();
        let end = if self.closes_line && std::mem::take(&mut self.open_line) { "\n" } else { "" };
        pass(format!("{cut}{end}").as_bytes(), io::stdout().lock(), None)
    }
}

fn pass(bytes: &[u8], mut to: impl Write, screen: Option<&mut Screen>) -> io::Result<()> {
    match screen {
        Some(screen) => to.write_all(screen.show(bytes).as_bytes())?,
        None => to.write_all(bytes)?,
    }
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
