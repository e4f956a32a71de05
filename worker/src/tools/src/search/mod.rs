//! `search_code`: lines that match, in files below a directory or in one file.
//!
//! | module | what it is for |
//! | --- | --- |
//! | `glob` | which files are meant |
//! | `ahead` | looking at many files beside each other for whether anything can match |
//! | `found` | the lines to show, within their bounds |
//!
//! Files are chosen first, then searched: how many were searched and how many lines matched are separate facts.

mod ahead;
mod found;
mod glob;

pub use glob::{Glob, TOLD};

use crate::arguments::{self, Arguments};
use crate::folder::walk::{Stopped, Wanted};
use crate::folder::{Directory, Entry, Flow, Kind, Opened, PathError, Purpose, Walked};
use crate::list_files::left;
use crate::outcome::{Attempt, Code, Outcome};
use crate::registry::{Access, Call, Tool};
use crate::text::{self, Content, counted};
use ahead::{Ahead, Seen, Shared};
use found::Found;
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ouroboros_proto::agent::ToolSpec;
use serde::Deserialize;
use serde_json::json;
use std::sync::atomic::Ordering;

/// Bytes that a pattern may take when it is ready to be searched for.
const PATTERN_BYTES: usize = 10 << 20;

/// The tool.
pub struct SearchCode;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    pattern: String,
    #[serde(default)]
    literal: Option<bool>,
    #[serde(default)]
    ignore_case: Option<bool>,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    glob: Option<String>,
    #[serde(default)]
    context: Option<usize>,
    #[serde(default)]
    ignored: Option<bool>,
}

impl Arguments for Asked {
    const EXAMPLE: &'static str = r#"{"pattern":"fn \\w+_test","path":"src","glob":"*.rs","context":2}"#;
}

impl Tool for SearchCode {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "search_code".to_owned(),
            description: "Finds lines that match a regular expression, or contain a text. Matches are shown as path:line: text, \
                          lines around them as path-line- text. Binary files, and what .gitignore ignores, are left out."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "pattern": { "type": "string", "description": "A regular expression, held against each line." },
                    "literal": { "type": "boolean", "description": "Whether the pattern is plain text." },
                    "ignore_case": { "type": "boolean", "description": "Whether upper and lower case are the same." },
                    "path": { "type": "string", "description": "A directory or a file; the folder when absent." },
                    "glob": { "type": "string", "description": TOLD },
                    "context": { "type": "integer", "minimum": 0, "description": "Lines around a match; 0 when absent." },
                    "ignored": { "type": "boolean", "description": "Whether ignored files are searched too." }
                },
                "required": ["pattern"],
                "additionalProperties": false
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn run(&self, call: &Call<'_>, arguments: &str) -> Outcome {
        search(call, arguments).unwrap_or_else(|outcome| outcome)
    }
}

fn search(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let asked: Asked = arguments::read(arguments, call.limits.argument_bytes)?;
    let matcher = matcher(&asked, call)?;
    let glob = asked.glob.as_deref().map(|glob| Glob::new(glob, call.limits)).transpose()?;
    let path = asked.path.as_deref().unwrap_or(".");
    let context = asked.context.unwrap_or(0).min(call.limits.context_lines);
    let searcher = SearcherBuilder::new()
        .line_terminator(LineTerminator::crlf())
        .line_number(true)
        .before_context(context)
        .after_context(context)
        // What is searched was told from binary data before.
        .binary_detection(BinaryDetection::none())
        .build();
    let mut search = Search { call, matcher, searcher, found: Found::new(call.limits), skipped: Skipped::default() };
    let (shown, walked) = match call.folder.directory(path) {
        Ok(start) => {
            let wanted = Wanted { depth: usize::MAX, ignored: asked.ignored.unwrap_or(false) };
            (start.shown(), search.below(&start, wanted, glob.as_ref()))
        }
        Err(PathError::NotADirectory(_)) => {
            let place = call.folder.locate(path, Purpose::Read)?;
            let opened = call.folder.open_file(&place)?;
            search
                .file(&place.shown(), opened)
                .map_err(|why| Outcome::io(&format!("{path} could not be read"), &why))?;
            (place.shown(), Walked::default())
        }
        Err(error) => return Err(error.into()),
    };
    if walked.stopped == Some(Stopped::Cancelled) || (call.cancelled)() {
        return Err(Outcome::cancelled());
    }
    Ok(search.told(&shown, &asked, &walked))
}

fn matcher(asked: &Asked, call: &Call<'_>) -> Attempt<RegexMatcher> {
    let bad = |why: &str| Outcome::not_ok(Code::BadPattern, format!("The pattern cannot be searched for: {why}"));
    if asked.pattern.is_empty() {
        return Err(bad("it is empty. Use list_files to see which files there are."));
    }
    if asked.pattern.chars().count() > call.limits.pattern_chars {
        return Err(bad(&format!("it is longer than {} characters. Use a part of it.", call.limits.pattern_chars)));
    }
    RegexMatcherBuilder::new()
        .fixed_strings(asked.literal.unwrap_or(false))
        .case_insensitive(asked.ignore_case.unwrap_or(false))
        // So that ^ and $ mean a line in whatever is looked at.
        .multi_line(true)
        .crlf(true)
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES)
        .build(&asked.pattern)
        .map_err(|error| bad(&format!("{error}\nSet literal: true to find it as it is written, one line at a time.")))
}

/// Files that were chosen and not searched, or not as a whole.
#[derive(Default)]
struct Skipped {
    binary: usize,
    /// Those whose end was not searched.
    long: Vec<String>,
    special: usize,
}

struct Search<'a> {
    call: &'a Call<'a>,
    matcher: RegexMatcher,
    searcher: Searcher,
    found: Found<'a>,
    skipped: Skipped,
}

impl Search<'_> {
    /// Searches everything below a directory.
    fn below(&mut self, start: &Directory, wanted: Wanted, glob: Option<&Glob>) -> Walked {
        let (call, matcher, shared) = (self.call, self.matcher.clone(), Shared::default());
        std::thread::scope(|scope| {
            let mut more = Walked::default();
            let mut ahead = match ahead::start(scope, &matcher, call.limits, &shared) {
                Ok(ahead) => ahead,
                Err(error) => {
                    more.unreadable.push(format!("{} (no thread to search with: {error})", start.shown()));
                    return more;
                }
            };
            let mut visit = |entry: &Entry<'_>| {
                if let Some(file) = self.chosen(entry, glob, &mut more) {
                    ahead.give(file);
                }
                self.take(&mut ahead, &mut more)
            };
            let mut walked = call.folder.walk(start, wanted, call.limits, call.cancelled, &mut visit);
            ahead.end();
            if walked.stopped.is_none() && self.take(&mut ahead, &mut more) == Flow::Stop {
                walked.stopped = Some(Stopped::Enough);
            }
            shared.stop.store(true, Ordering::Relaxed);
            walked.fenced.append(&mut more.fenced);
            walked.unreadable.append(&mut more.unreadable);
            walked
        })
    }

    /// The file of an entry, when it is one that is to be searched.
    fn chosen(&mut self, entry: &Entry<'_>, glob: Option<&Glob>, walked: &mut Walked) -> Option<ahead::File> {
        if entry.fenced || glob.is_some_and(|glob| !glob.holds(entry.inside)) {
            return None;
        }
        match entry.kind {
            Kind::File(_) => {}
            Kind::Directory | Kind::Link => return None,
            Kind::Other => {
                self.skipped.special = self.skipped.special.saturating_add(1);
                return None;
            }
        }
        let shown = entry.path.display().to_string();
        match self.call.folder.open_walked(entry, &shown) {
            Ok(opened) => Some(ahead::File { shown, opened }),
            // It went away after it was listed.
            Err(PathError::NotFound(_)) => None,
            Err(error) => {
                walked.note(&error);
                None
            }
        }
    }

    /// Takes what was looked at ahead, in order, as far as it is known.
    fn take(&mut self, ahead: &mut Ahead, walked: &mut Walked) -> Flow {
        while let Some((shown, seen)) = ahead.next() {
            let searched = match seen {
                Seen::Binary => {
                    self.skipped.binary = self.skipped.binary.saturating_add(1);
                    Ok(())
                }
                Seen::Nothing { in_part } => {
                    self.found.begin(&shown);
                    if in_part {
                        self.skipped.long.push(shown.clone());
                    }
                    Ok(())
                }
                Seen::Candidate(opened) => self.file(&shown, opened),
                Seen::Unreadable(error) => Err(error),
                Seen::CalledOff => return Flow::Stop,
            };
            if let Err(error) = searched {
                walked.unreadable.push(format!("{shown} ({error})"));
            }
            if self.found.is_full() {
                return Flow::Stop;
            }
            if (self.call.cancelled)() {
                return Flow::Stop;
            }
        }
        Flow::On
    }

    fn file(&mut self, shown: &str, opened: Opened) -> std::io::Result<()> {
        let length = opened.size();
        let mut windows = match text::open(opened.file, length, self.call.mask, self.call.limits.window_bytes)? {
            Content::Text(windows) => windows,
            Content::Binary(_) => {
                self.skipped.binary = self.skipped.binary.saturating_add(1);
                return Ok(());
            }
        };
        self.found.begin(shown);
        let mut scanned = 0_u64;
        while let Some(window) = windows.window()? {
            if (self.call.cancelled)() || self.found.is_full() {
                return Ok(());
            }
            if scanned >= self.call.limits.scan_bytes {
                self.skipped.long.push(shown.to_owned());
                return Ok(());
            }
            let matcher = self.matcher.clone();
            self.searcher.search_slice(&self.matcher, window.text.as_bytes(), self.found.sink(&matcher))?;
            let lines = text::count_lines(window.text.as_bytes());
            self.found.pass(lines.saturating_sub(usize::from(window.open)));
            scanned = scanned.saturating_add(u64::try_from(window.text.len()).unwrap_or(u64::MAX));
        }
        Ok(())
    }

    fn told(self, shown: &str, asked: &Asked, walked: &Walked) -> Outcome {
        let found = self.found;
        let (lines, files) = (found.matches, found.files_with_matches);
        let searched = counted(found.files, "file");
        let of = asked.glob.as_deref().map_or_else(String::new, |glob| format!(" that match {glob}"));
        let mut text = match lines {
            0 => format!("No match in {searched}{of} in {shown}\n"),
            _ => format!("{} in {files} of {searched}{of} in {shown}\n{}", counted(lines, "matching line"), found.body),
        };
        let full = found.full;
        if full {
            text.push_str("[Stopped early: there may be more. Narrow the pattern, the path or the glob.]\n");
        }
        if self.skipped.binary > 0 {
            text.push_str(&format!("[Not searched: {}.]\n", counted(self.skipped.binary, "binary file")));
        }
        if self.skipped.special > 0 {
            text.push_str(&format!(
                "[Not searched, since they are pipes, sockets or devices: {}.]\n",
                self.skipped.special
            ));
        }
        for path in self.skipped.long.iter().take(3) {
            text.push_str(&format!(
                "[Only the first {} bytes of {path} were searched.]\n",
                self.call.limits.scan_bytes
            ));
        }
        text.push_str(&left(walked));
        let facts = json!({
            "path": shown, "files_searched": found.files, "files_with_matches": files, "matches": lines,
            "binary": self.skipped.binary, "ignored": walked.ignored, "fenced": walked.fenced.len(),
            "unreadable": walked.unreadable.len(), "searched_in_part": self.skipped.long.len(),
            "complete": !full && walked.stopped.is_none() && self.skipped.long.is_empty(),
        });
        Outcome::ok(text, facts)
    }
}

#[cfg(test)]
mod tests;
