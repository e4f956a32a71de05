//! Replacing exact text in a file, for all tools that edit.

use crate::change::{Change, Done, text_only};
use crate::outcome::{Attempt, Code, Outcome};
use crate::registry::Call;
use crate::text::{counted, masked, shorten};
use memchr::memmem;
use serde_json::json;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Lines of matches that are named, at most.
const NAMED: usize = 10;
/// Lines that are shown of the nearest place, at most.
const NEAREST: usize = 12;
/// Characters of a line that are compared.
const COMPARED_CHARS: usize = 200;

/// A replacement.
pub struct Replacement<'a> {
    pub(crate) old: &'a str,
    pub(crate) new: &'a str,
    pub(crate) all: bool,
}

/// Replaces text in what a file is to become; gives the lines where it was, in the file as it was before.
///
/// # Errors
/// There is no such file or text, or there are several.
pub fn replace(change: &mut Change, what: &Replacement<'_>, call: &Call<'_>) -> Attempt<Vec<usize>> {
    let shown = change.place.shown();
    let Some(bytes) = &change.after else {
        let text = format!("{shown} does not exist. Nothing was changed. Use write_file to create it.");
        return Err(Outcome::not_ok(Code::NotFound, text).with(json!({ "path": shown })));
    };
    text_only(&shown, bytes)?;
    if what.old.is_empty() {
        let text = "The text to replace is empty. Nothing was changed. Give some lines of the file, or use write_file.";
        return Err(Outcome::not_ok(Code::BadArguments, text).with(json!({ "field": "old" })));
    }
    let only_crlf = has_only_crlf(bytes);
    let (old, new) = (with_ends(what.old, only_crlf), with_ends(what.new, only_crlf));
    if old == new {
        let text = "The old and the new text are the same. Nothing was changed.";
        return Err(Outcome::not_ok(Code::NoChange, text).with(json!({ "path": shown })));
    }
    let places: Vec<usize> = memmem::find_iter(bytes, old.as_bytes()).collect();
    let lines = lines_of(bytes, &places);
    if places.is_empty() {
        let seen = masked(bytes, call.mask);
        if memmem::find(seen.as_bytes(), old.as_bytes()).is_some() {
            return Err(only_hidden(&shown, "the text to replace"));
        }
        let near = nearest(&seen, what.old, call.limits);
        let text = format!(
            "The text to replace is not in {shown}. Nothing was changed. It must be the same to the letter.\n{near}"
        );
        return Err(Outcome::not_ok(Code::TextNotFound, text).with(json!({ "path": shown })));
    }
    if places.len() > 1 && !what.all {
        let first: Vec<usize> = lines.iter().copied().take(NAMED).collect();
        let named = first.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let more = if lines.len() > NAMED { " and more" } else { "" };
        let text = format!(
            "The text to replace is {} times in {shown}, at lines {named}{more}. Nothing was changed. Add lines around it until \
             it is there once, or set all: true.",
            places.len()
        );
        return Err(Outcome::not_ok(Code::SeveralMatches, text)
            .with(json!({ "path": shown, "matches": lines.len(), "lines": first })));
    }
    let mut after = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for place in &places {
        after.extend_from_slice(bytes.get(from..*place).unwrap_or_default());
        after.extend_from_slice(new.as_bytes());
        from = place.saturating_add(old.len());
        if after.len() > call.limits.edit_bytes {
            break;
        }
    }
    after.extend_from_slice(bytes.get(from..).unwrap_or_default());
    change.after = Some(after);
    Ok(lines)
}

/// What was looked for is there only as a model sees it, with a mark where a secret is.
pub fn only_hidden(shown: &str, what: &str) -> Outcome {
    let text = format!(
        "In {shown}, {what} holds a mark that stands for a hidden secret; the file holds the secret. Nothing was changed. Leave \
         the lines with marks out, and change the others."
    );
    Outcome::not_ok(Code::HiddenValue, text).with(json!({ "path": shown }))
}

/// Whether every line of a file ends as on Windows.
pub fn has_only_crlf(bytes: &[u8]) -> bool {
    let ends = memchr::memchr_iter(b'\n', bytes).count();
    ends > 0 && memmem::find_iter(bytes, b"\r\n").count() == ends
}

fn with_ends(text: &str, crlf: bool) -> Cow<'_, str> {
    if crlf && text.contains('\n') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The lines, from 1, that places which rise lie in.
fn lines_of(bytes: &[u8], places: &[usize]) -> Vec<usize> {
    let (mut line, mut from) = (1_usize, 0);
    let mut lines = Vec::with_capacity(places.len());
    for place in places {
        line = line.saturating_add(memchr::memchr_iter(b'\n', bytes.get(from..*place).unwrap_or_default()).count());
        from = *place;
        lines.push(line);
    }
    lines
}

/// The place in a text that is most like what was looked for, in words.
pub fn nearest(text: &str, wanted: &str, limits: &crate::Limits) -> String {
    let wanted: Vec<&str> = wanted.lines().skip_while(|line| line.trim().is_empty()).collect();
    let Some(first) = wanted.first().map(|line| line.trim()) else {
        return "Read the file again to see what is there.".to_owned();
    };
    let short = |line: &str| line.chars().take(COMPARED_CHARS).collect::<String>();
    let sought = short(first);
    let mut best: Option<(f64, usize)> = None;
    for (index, line) in text.lines().take(limits.compared_lines).enumerate() {
        let line = line.trim();
        let score = if line == first { 2.0 } else { strsim::sorensen_dice(&sought, &short(line)) };
        if score >= 0.5 && best.is_none_or(|(most, _)| score > most) {
            best = Some((score, index));
        }
    }
    let Some((_, index)) = best else {
        return "No line is like it. Read the file again to see what is there.".to_owned();
    };
    let mut near = "The nearest place:\n".to_owned();
    for (offset, line) in text.lines().enumerate().skip(index).take(wanted.len().min(NEAREST)) {
        // Writing to a string does not fail.
        let _ = writeln!(near, "{:>6}\t{}", offset.saturating_add(1), shorten(line, 0, limits.line_chars));
    }
    near
}

/// What was done to files, for the model and as facts.
pub fn told(done: &[Done]) -> Outcome {
    let mut text = String::new();
    for one in done {
        let lines = match (one.lines_before, one.lines_after) {
            (None, Some(after)) => counted(after, "line"),
            (Some(before), Some(after)) => format!("{} before, {after} now", counted(before, "line")),
            (Some(before), None) => format!("{} before", counted(before, "line")),
            (None, None) => String::new(),
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{} {}: {lines}.", capital(one.word()), one.path);
    }
    if done.is_empty() {
        text.push_str("Everything is as it should be already. Nothing was changed.");
    }
    let files: Vec<_> = done.iter().map(Done::fact).collect();
    Outcome::ok(text.trim_end(), json!({ "files": files }))
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
