//! Replacing what looks like a secret, in one pass.

use super::automaton;
use super::judge::{BEHIND, Text, Verdict, judge};
use super::output::{Output, unfinished};
use super::swallow::Swallow;
use super::table::{Shape, anchors};
use aho_corasick::{AhoCorasick, BuildError, Input};
use std::borrow::Cow;

/// The shapes, compiled.
pub struct Unknown {
    automaton: AhoCorasick,
    /// What the anchor with this number begins.
    shapes: Vec<Shape>,
    longest: usize,
    /// Whether a text keeps its lines.
    lines: bool,
}

/// What was decided of a text.
pub struct Scanned<'a> {
    /// It with the secrets replaced.
    pub masked: Cow<'a, [u8]>,
    /// Up to here it is decided.
    pub end: usize,
}

impl Unknown {
    /// Compiles the shapes.
    ///
    /// # Errors
    /// They do not fit the automaton, which they do.
    pub fn new() -> Result<Self, BuildError> {
        Self::of(&anchors(), false)
    }

    /// Compiles these shapes.
    pub(crate) fn of(anchors: &[(String, Shape)], lines: bool) -> Result<Self, BuildError> {
        Ok(Self {
            automaton: automaton(anchors.iter().map(|(text, _)| text))?,
            shapes: anchors.iter().map(|(_, shape)| *shape).collect(),
            longest: anchors.iter().map(|(text, _)| text.len()).max().unwrap_or(0),
            lines,
        })
    }

    /// Scans the text from `from` on; what is in front of that was scanned before, and is looked back at. The text first
    /// continues what `swallow` says. With `last`, all is decided.
    pub fn scan<'a>(&self, swallow: &mut Option<Swallow>, text: &'a [u8], from: usize, last: bool) -> Scanned<'a> {
        let mut out = Output::new(text, from).with_lines(self.lines);
        let limit = if last { text.len() } else { unfinished(text, self.longest).max(from) };
        let mut at = from;
        loop {
            if let Some(open) = swallow.take() {
                let (end, left) = open.advance(text, at);
                out.replace(at..end, &[]);
                at = end;
                if left.is_some() {
                    *swallow = left.filter(|_| !last);
                    return Scanned { masked: out.finish(at), end: at };
                }
            }
            let found = self.automaton.find(Input::new(text).range(at..)).filter(|found| found.start() < limit);
            let shape = found.and_then(|found| Some((found, *self.shapes.get(found.pattern().as_usize())?)));
            let Some((found, shape)) = shape else {
                let end = limit.max(at);
                return Scanned { masked: out.finish(end), end };
            };
            match judge(shape, Text { bytes: text, last }, found.range()) {
                Verdict::No => at = found.start().saturating_add(1),
                Verdict::More => return Scanned { masked: out.finish(found.start()), end: found.start() },
                Verdict::Secret { from, label, to, then } => {
                    out.replace(from..to, label.as_bytes());
                    at = to;
                    *swallow = Some(then);
                }
            }
        }
    }

    /// How much of a text, decided up to `end`, is to be kept to be looked back at.
    pub fn behind(end: usize) -> usize {
        end.saturating_sub(BEHIND)
    }
}
