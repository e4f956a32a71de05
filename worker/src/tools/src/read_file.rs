//! `read_file`: lines of a text file.

use crate::arguments::{self, Arguments};
use crate::folder::{PathError, Purpose};
use crate::outcome::{Attempt, Code, Outcome};
use crate::registry::{Access, Call, Tool};
use crate::text::{self, Content, Window, Windows, counted};
use ouroboros_proto::agent::ToolSpec;
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write as _;
use std::num::NonZeroUsize;

/// The tool.
pub struct ReadFile;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    path: String,
    #[serde(default)]
    offset: Option<NonZeroUsize>,
    #[serde(default)]
    limit: Option<NonZeroUsize>,
}

impl Arguments for Wanted {
    const EXAMPLE: &'static str = r#"{"path":"src/main.rs","offset":1,"limit":200}"#;
}

impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "read_file".to_owned(),
            description:
                "Reads lines of a text file. Each line is shown with its number and a tab before it; they are not \
                          part of the file. Without offset and limit it gives the first 2,000 lines."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "The file, relative to the folder." },
                    "offset": { "type": "integer", "minimum": 1, "description": "The first line; 1 when absent." },
                    "limit": { "type": "integer", "minimum": 1, "description": "How many lines; at most 2,000." }
                },
                "required": ["path"],
                "additionalProperties": false
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn run(&self, call: &Call<'_>, arguments: &str) -> Outcome {
        read(call, arguments).unwrap_or_else(|outcome| outcome)
    }
}

fn read(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let wanted: Wanted = arguments::read(arguments, call.limits.argument_bytes)?;
    let place = call.folder.locate(&wanted.path, Purpose::Read)?;
    let opened = call.folder.open_file(&place).inspect_err(|error| {
        if let PathError::NotFound(_) = error {
            call.seen.forget(&place.path);
        }
    })?;
    let stamp = opened.stamp();
    let (path, size) = (place.shown(), opened.size());
    let failed = |error: std::io::Error| Outcome::io(&format!("{path} could not be read"), &error);
    let first = wanted.offset.map_or(1, NonZeroUsize::get);
    let count = wanted.limit.map_or(call.limits.read_lines, NonZeroUsize::get).min(call.limits.read_lines);
    match text::open(opened.file, size, call.mask, call.limits.read_window_bytes).map_err(failed)? {
        Content::Binary(kind) => {
            let text = format!("{path} is not text: {}, {size} bytes. Its content is not shown.", kind.as_str());
            let text = if kind.is_image() { text + " Use view_image to look at it." } else { text };
            Ok(Outcome::ok(text, json!({ "path": path, "bytes": size, "binary": kind.as_str() })))
        }
        Content::Text(windows) => {
            let mut lines = Lines::new(call, first, count);
            lines.take(windows).map_err(failed)?;
            if lines.cancelled {
                return Err(Outcome::cancelled());
            }
            call.seen.saw(&place.path, stamp);
            lines.told(&path, size)
        }
    }
}

/// The lines that are wanted, and what is known of the others.
struct Lines<'a> {
    call: &'a Call<'a>,
    first: usize,
    last: usize,
    body: String,
    /// The last line of the body, which may go on in the next window.
    line: Line,
    /// Lines that were come across.
    seen: usize,
    shown: usize,
    cut: usize,
    lossy: bool,
    hidden: bool,
    /// The bound on bytes was reached, so later lines are not shown.
    full: bool,
    /// Whether all lines were counted.
    counted: bool,
    open_end: bool,
    cancelled: bool,
}

/// A line that is shown, as far as it is known.
#[derive(Default)]
struct Line {
    /// Where it begins in the body.
    at: usize,
    /// What is shown of it.
    text: String,
    chars: usize,
}

impl Line {
    /// The same with more text, of which as much is kept as is shown.
    fn and(mut self, piece: &str, max: usize) -> Self {
        let piece = piece.trim_end_matches(['\n', '\r']);
        self.text.extend(piece.chars().take(max.saturating_sub(self.chars)));
        self.chars = self.chars.saturating_add(piece.chars().count());
        self
    }
}

impl<'a> Lines<'a> {
    fn new(call: &'a Call<'a>, first: usize, count: usize) -> Self {
        let last = first.saturating_add(count).saturating_sub(1);
        let (body, line, seen, shown, cut) = (String::new(), Line::default(), 0, 0, 0);
        let (lossy, hidden, full, counted, open_end, cancelled) = (false, false, false, true, false, false);
        Self { call, first, last, body, line, seen, shown, cut, lossy, hidden, full, counted, open_end, cancelled }
    }

    fn take(&mut self, mut windows: Windows<'_>) -> std::io::Result<()> {
        while !self.is_past() {
            let Some(raw) = windows.raw()? else { return Ok(()) };
            if (self.call.cancelled)() {
                self.cancelled = true;
                return Ok(());
            }
            let lines = text::count_lines(raw.bytes()).saturating_sub(usize::from(self.open_end));
            let last = self.seen.saturating_add(lines);
            if last < self.first {
                (self.seen, self.open_end) = (last, raw.is_open());
            } else {
                self.window(&raw.masked(self.call.mask));
            }
        }
        let counted = windows.count(self.call.limits.count_bytes)?;
        // A line that is open ends with the first end, or with the file; behind every other end there may be one more.
        let ends = counted.ends.saturating_sub(usize::from(self.open_end));
        let more = usize::from(counted.open == Some(true) && (counted.ends > 0 || !self.open_end));
        self.seen = self.seen.saturating_add(ends).saturating_add(more);
        self.open_end = counted.open.unwrap_or(self.open_end);
        self.counted = counted.whole;
        Ok(())
    }

    /// Whether everything that is shown is known, and whole.
    fn is_past(&self) -> bool {
        (self.seen >= self.last && !self.open_end) || self.seen > self.last || self.full
    }

    fn window(&mut self, window: &Window) {
        self.lossy |= window.lossy;
        self.hidden |= window.hidden;
        let mut lines = window.text.split_inclusive('\n');
        let piece = if self.open_end { lines.next().unwrap_or_default() } else { "" };
        self.goes_on(piece);
        self.open_end = window.open;
        lines.for_each(|line| self.line(line));
    }

    fn line(&mut self, line: &str) {
        self.seen = self.seen.saturating_add(1);
        if self.seen < self.first || self.seen > self.last || self.full {
            return;
        }
        let line = Line::default().and(line, self.call.limits.line_chars);
        if self.shown > 0 && self.body.len().saturating_add(line.text.len()) > self.call.limits.read_bytes {
            self.full = true;
            return;
        }
        self.shown = self.shown.saturating_add(1);
        self.line = Line { at: self.body.len(), ..line };
        self.show();
    }

    /// The last line that was come across has more text.
    fn goes_on(&mut self, piece: &str) {
        let is_shown = self.shown > 0 && self.first.saturating_add(self.shown) == self.seen.saturating_add(1);
        if piece.is_empty() || !is_shown {
            return;
        }
        let max = self.call.limits.line_chars;
        self.cut = self.cut.saturating_sub(usize::from(self.line.chars > max));
        self.line = std::mem::take(&mut self.line).and(piece, max);
        self.body.truncate(self.line.at);
        self.show();
    }

    /// Puts the last line into the body.
    fn show(&mut self) {
        let left = self.line.chars.saturating_sub(self.call.limits.line_chars);
        self.cut = self.cut.saturating_add(usize::from(left > 0));
        let tail = if left > 0 { format!("[{left} characters cut]") } else { String::new() };
        // Writing to a string does not fail.
        let _ = writeln!(self.body, "{:>6}\t{}{tail}", self.seen, self.line.text);
    }

    fn told(self, path: &str, size: u64) -> Attempt<Outcome> {
        let total = self.counted.then_some(self.seen);
        let facts = |start: usize, end: usize, eof: bool| {
            json!({
                "path": path, "bytes": size, "start_line": start, "end_line": end, "total_lines": total, "eof": eof,
                "cut_lines": self.cut, "lossy": self.lossy, "hidden": self.hidden,
            })
        };
        if self.seen == 0 {
            return Ok(Outcome::ok(format!("{path} is empty."), facts(0, 0, true)));
        }
        if self.shown == 0 {
            let text = format!("{path} has {}, so line {} is past its end.", counted(self.seen, "line"), self.first);
            return Err(Outcome::not_ok(Code::PastEnd, text).with(facts(0, 0, true)));
        }
        let end = self.first.saturating_add(self.shown).saturating_sub(1);
        let eof = self.counted && end == self.seen;
        let of = match (self.counted, self.open_end) {
            (true, _) => self.seen.to_string(),
            (false, false) => format!("more than {}", self.seen),
            (false, true) => format!("at least {}", self.seen),
        };
        let mut text = format!("{path}, lines {}-{end} of {of}\n{}", self.first, self.body);
        let mut note = |words: &str| {
            text.push_str(words);
            text.push('\n');
        };
        if self.cut > 0 {
            note(&format!("[{} longer than {} characters]", counted(self.cut, "line"), self.call.limits.line_chars));
        }
        if self.lossy {
            note("[Some bytes are not UTF-8 and shown as \u{fffd}.]");
        }
        if self.hidden {
            note("[Secrets are hidden in this file. Do not write what stands in their place.]");
        }
        match (eof, self.open_end) {
            (true, true) => note("[End of file, without a newline.]"),
            (true, false) => note("[End of file.]"),
            (false, _) => note(&format!("[More follows: read on with offset {}.]", end.saturating_add(1))),
        }
        Ok(Outcome::ok(text, facts(self.first, end, eof)))
    }
}

#[cfg(test)]
mod tests;
