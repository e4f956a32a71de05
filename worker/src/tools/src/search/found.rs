//! The lines that a search shows, within their bounds.

use crate::limits::Limits;
use crate::text::shorten;
use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};
use std::fmt::Write as _;
use std::io;

/// What was found so far.
pub struct Found<'a> {
    limits: &'a Limits,
    pub(super) body: String,
    /// Files that were searched.
    pub(super) files: usize,
    pub(super) files_with_matches: usize,
    /// Lines that match.
    pub(super) matches: usize,
    /// A bound was reached.
    pub(super) full: bool,
    path: String,
    /// Lines of the file before the window that is searched.
    passed: u64,
    /// Whether the file has had a match.
    matched: bool,
}

impl<'a> Found<'a> {
    pub(super) fn new(limits: &'a Limits) -> Self {
        let (body, path) = (String::new(), String::new());
        let (files, files_with_matches, matches, passed) = (0, 0, 0, 0);
        Self { limits, body, files, files_with_matches, matches, full: false, path, passed, matched: false }
    }

    /// The next file.
    pub(super) fn begin(&mut self, path: &str) {
        path.clone_into(&mut self.path);
        self.files = self.files.saturating_add(1);
        (self.passed, self.matched) = (0, false);
    }

    /// A window was searched in which so many lines end.
    pub(super) fn pass(&mut self, lines: usize) {
        self.passed = self.passed.saturating_add(u64::try_from(lines).unwrap_or(u64::MAX));
    }

    pub(super) const fn is_full(&self) -> bool {
        self.full
    }

    /// Takes what a searcher finds in one window.
    pub(super) fn sink<'f>(&'f mut self, matcher: &'f RegexMatcher) -> Lines<'f, 'a> {
        Lines { found: self, matcher }
    }

    fn show(&mut self, number: Option<u64>, mark: char, line: &[u8], at: usize) -> bool {
        let line = String::from_utf8_lossy(line);
        let short = shorten(&line, at, self.limits.line_chars);
        let number = number.unwrap_or(0).saturating_add(self.passed);
        let room = self.limits.result_bytes.saturating_sub(self.body.len());
        if room < short.len().saturating_add(self.path.len()).saturating_add(24) {
            self.full = true;
            return false;
        }
        // Writing to a string does not fail.
        let _ = writeln!(self.body, "{}{mark}{number}{mark} {short}", self.path);
        true
    }
}

/// The lines of one window.
pub struct Lines<'f, 'a> {
    found: &'f mut Found<'a>,
    matcher: &'f RegexMatcher,
}

impl Sink for Lines<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let this = &mut *self.found;
        if this.matches >= this.limits.matches {
            this.full = true;
            return Ok(false);
        }
        let at = self.matcher.find(found.bytes()).ok().flatten().map_or(0, |hit| hit.start());
        if !this.show(found.line_number(), ':', found.bytes(), at) {
            return Ok(false);
        }
        this.matches = this.matches.saturating_add(1);
        this.files_with_matches = this.files_with_matches.saturating_add(usize::from(!this.matched));
        this.matched = true;
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.found.show(line.line_number(), '-', line.bytes(), 0))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.found.body.push_str("--\n");
        Ok(true)
    }
}
