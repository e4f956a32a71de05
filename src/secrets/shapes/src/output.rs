//! What a scanner has written: the text itself until something is replaced in it.

use std::borrow::Cow;
use std::ops::Range;

/// Begins every placeholder.
pub const OPENING: &[u8] = b"[secret:";

/// A text with parts replaced. Nothing is copied before the first replacement.
pub struct Output<'a> {
    text: &'a [u8],
    /// Up to here the text is written.
    done: usize,
    written: Vec<u8>,
    replaced: bool,
    /// Whether the text keeps its lines.
    lines: bool,
}

impl<'a> Output<'a> {
    /// The text from this place on.
    pub fn new(text: &'a [u8], from: usize) -> Self {
        Self { text, done: from, written: Vec::new(), replaced: false, lines: false }
    }

    /// The same, with the ends of lines of what is replaced.
    pub fn with_lines(mut self, lines: bool) -> Self {
        self.lines = lines;
        self
    }

    /// Writes `label` instead of this part, which is behind every part replaced before.
    pub fn replace(&mut self, part: Range<usize>, label: &[u8]) {
        self.written.extend_from_slice(self.text.get(self.done..part.start).unwrap_or_default());
        self.written.extend_from_slice(label);
        if self.lines {
            let ends = self.text.get(part.clone()).unwrap_or_default().iter().filter(|byte| **byte == b'\n');
            self.written.extend(ends);
        }
        self.done = part.end;
        self.replaced = true;
    }

    /// All that is written, with the text up to `end`.
    pub fn finish(mut self, end: usize) -> Cow<'a, [u8]> {
        let rest = self.text.get(self.done..end).unwrap_or_default();
        if !self.replaced {
            return Cow::Borrowed(rest);
        }
        self.written.extend_from_slice(rest);
        Cow::Owned(self.written)
    }
}

/// Where the last word of `text` begins that more text may continue, and not more than `longest - 1` bytes before its end. No
/// pattern of at most `longest` bytes without white space can begin before that place and reach beyond the text.
pub fn unfinished(text: &[u8], longest: usize) -> usize {
    let far = text.len().saturating_sub(longest.saturating_sub(1));
    let tail = text.get(far..).unwrap_or_default();
    let space = tail.iter().rposition(u8::is_ascii_whitespace);
    space.map_or(far, |space| far.saturating_add(space).saturating_add(1))
}
