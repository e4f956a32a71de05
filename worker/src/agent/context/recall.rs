//! `recall`: reads what is not shown any more, by its place in the transcript.

use super::cut;
use super::kept::Kept;
use crate::agent::steps::{self, Asked};
use ouroboros_proto::agent::{CallResult, Entry, ToolSpec};
use ouroboros_tools::arguments::{self, Arguments};
use ouroboros_tools::outcome::Attempt;
use ouroboros_tools::{Code, Outcome};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;
use std::fmt::Write as _;

/// The tool's name.
pub const NAME: &str = "recall";
/// Bytes that one call gives: less than what a result may have.
const MOST: usize = 24 << 10;
/// Bytes of arguments that are read.
const ARGUMENT_BYTES: usize = 4 << 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    #[serde(default)]
    entry: Option<usize>,
    #[serde(default)]
    result: Option<usize>,
    #[serde(default)]
    call: Option<String>,
    #[serde(default)]
    offset: Option<usize>,
    #[serde(default)]
    from_line: Option<usize>,
    #[serde(default)]
    lines: Option<usize>,
}

impl Arguments for Wanted {
    const EXAMPLE: &'static str = r#"{"entry":12,"result":1,"offset":0}"#;
}

/// What is said where something is left out.
pub fn hint(place: usize, number: usize, from: usize, left: usize) -> String {
    format!(
        "[… {left} bytes are left out here; read on with recall {{\"entry\":{place},\"result\":{number},\"offset\":{from}}} …]"
    )
}

/// The tool as the model is told of it.
pub fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description:
            "Reads what is not shown any more of this work: an entry by its number, or a result of a call in it. Long \
                      results are shown with head and tail, and old work as a note; both say the numbers."
                .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "entry": { "type": "integer", "minimum": 1, "description": "The entry's number." },
                "result": { "type": "integer", "minimum": 1, "description": "Which result of the entry; all when absent." },
                "call": { "type": "string", "description": "The id of a call, in place of an entry." },
                "offset": { "type": "integer", "minimum": 0, "description": "The byte to begin with; 0 when absent." },
                "from_line": { "type": "integer", "minimum": 1, "description": "The line to begin with, in place of a byte." },
                "lines": { "type": "integer", "minimum": 1, "description": "How many lines; as many as fit when absent." }
            },
            "additionalProperties": false
        }),
    }
}

/// Runs it.
pub fn run(call: &Asked<'_>, entries: &[Entry], kept: &Kept) -> Outcome {
    read(call.arguments(), entries, kept).unwrap_or_else(|outcome| outcome)
}

fn read(arguments: &str, entries: &[Entry], kept: &Kept) -> Attempt<Outcome> {
    let wanted: Wanted = arguments::read(arguments, ARGUMENT_BYTES)?;
    let (place, number) = found(&wanted, entries)?;
    let Some(entry) = entries.get(place.saturating_sub(1)).filter(|_| place > 0) else {
        let text = format!("There is no entry {place}: there are {} so far.", entries.len());
        return Err(Outcome::not_ok(Code::NotFound, text));
    };
    let text = text(entry, number, kept)?;
    let begin = match wanted.from_line {
        Some(line) => line_start(&text, line).ok_or_else(|| {
            let lines = text.lines().count();
            Outcome::not_ok(Code::PastEnd, format!("It has {lines} lines."))
        })?,
        None => wanted.offset.unwrap_or(0),
    };
    if begin >= text.len() && !text.is_empty() {
        return Err(Outcome::not_ok(Code::PastEnd, format!("It has {} bytes.", text.len())));
    }
    let begin = text.floor_char_boundary(begin);
    let rest = text.get(begin..).unwrap_or_default();
    let lines = wanted.lines.and_then(|lines| line_start(rest, lines.saturating_add(1))).unwrap_or(rest.len());
    let piece = cut::head(rest.get(..lines).unwrap_or(rest), MOST);
    let end = begin.saturating_add(piece.len());
    let mut given = format!("Entry {place}, bytes {begin} to {end} of {}\n{piece}", text.len());
    if !piece.ends_with('\n') {
        given.push('\n');
    }
    if end < text.len() {
        // Writing to a string does not fail.
        let _ = writeln!(given, "[More follows: read on with offset {end}.]");
    }
    let facts = json!({ "entry": place, "bytes": text.len(), "from": begin, "to": end });
    Ok(Outcome::ok(given, facts))
}

/// Place and result that are meant.
fn found(wanted: &Wanted, entries: &[Entry]) -> Attempt<(usize, Option<usize>)> {
    match (wanted.entry, &wanted.call) {
        (Some(place), None) => Ok((place, wanted.result)),
        (None, Some(id)) => {
            let places = entries.iter().enumerate().rev();
            let mut results = places.filter_map(|(index, entry)| match entry {
                Entry::Results { results } => {
                    let at = results.iter().position(|result| result.call == *id)?;
                    Some((index.saturating_add(1), Some(at.saturating_add(1))))
                }
                Entry::Asked { .. }
                | Entry::Said { .. }
                | Entry::Notice { .. }
                | Entry::Answered { .. }
                | Entry::Parked { .. }
                | Entry::Delivered { .. }
                | Entry::Window { .. }
                | Entry::Overflowed { .. }
                | Entry::Trimmed { .. }
                | Entry::Compacting { .. }
                | Entry::Compacted { .. }
                | Entry::PrefixBroken { .. }
                | Entry::Begins { .. }
                | Entry::Judging { .. }
                | Entry::Judged { .. } => None,
            });
            results.next().ok_or_else(|| Outcome::not_ok(Code::NotFound, "No call with this id has a result."))
        }
        (Some(_), Some(_)) | (None, None) => {
            Err(Outcome::not_ok(Code::BadArguments, "Say either `entry` or `call`. Nothing was read."))
        }
    }
}

/// The whole text of an entry, or of one result of it.
fn text<'a>(entry: &'a Entry, number: Option<usize>, kept: &Kept) -> Attempt<Cow<'a, str>> {
    if let (Entry::Results { results }, Some(number)) = (entry, number) {
        let result = results.get(number.saturating_sub(1)).filter(|_| number > 0);
        let none = || Outcome::not_ok(Code::NotFound, format!("The entry has {} results.", results.len()));
        return whole(result.ok_or_else(none)?, kept);
    }
    Ok(match entry {
        Entry::Results { results } => {
            let mut all = String::new();
            for (result, number) in results.iter().zip(1_usize..) {
                let _ = writeln!(all, "Result {number}, of {}:\n{}", result.name, whole(result, kept)?);
            }
            Cow::Owned(all)
        }
        Entry::Answered { answer } => {
            let mut all = answer.message.text();
            for call in steps::calls(&answer.message) {
                let _ = write!(all, "\n{} {}", call.name(), call.arguments());
            }
            Cow::Owned(all)
        }
        Entry::Asked { text, .. }
        | Entry::Said { text, .. }
        | Entry::Notice { text }
        | Entry::Delivered { text, .. }
        | Entry::Compacted { text, .. } => Cow::Borrowed(text),
        Entry::Parked { .. }
        | Entry::Window { .. }
        | Entry::Overflowed { .. }
        | Entry::Trimmed { .. }
        | Entry::Compacting { .. }
        | Entry::PrefixBroken { .. }
        | Entry::Begins { .. }
        | Entry::Judging { .. }
        | Entry::Judged { .. } => {
            Cow::Borrowed("This entry is a record of the host's, and was never part of the conversation.")
        }
    })
}

fn whole<'a>(result: &'a CallResult, kept: &Kept) -> Attempt<Cow<'a, str>> {
    let Some(whole) = &result.whole else { return Ok(Cow::Borrowed(&result.text)) };
    kept.whole(whole).map(Cow::Owned).map_err(|error| Outcome::io("The whole result could not be read", &error))
}

/// Where a line begins, counted from 1.
fn line_start(text: &str, line: usize) -> Option<usize> {
    if line <= 1 {
        return Some(0);
    }
    let ends = text.match_indices('\n').map(|(at, _)| at.saturating_add(1));
    ends.filter(|at| *at < text.len()).nth(line.saturating_sub(2))
}

/// A call's result as it is recorded.
pub fn recorded(call: &Asked<'_>, outcome: Outcome, millis: u64) -> CallResult {
    CallResult {
        call: call.id().to_owned(),
        name: call.name().to_owned(),
        outcome: outcome.class,
        code: outcome.code.map(|code| code.as_str().to_owned()),
        text: outcome.text,
        millis,
        images: Vec::new(),
        decided: None,
        confined: None,
        receipt: None,
        whole: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{answered, asked, call, results};

    fn run(arguments: &str, entries: &[Entry], kept: &Kept) -> Outcome {
        read(arguments, entries, kept).unwrap_or_else(|outcome| outcome)
    }

    #[test]
    fn a_long_result_can_be_read_to_its_end_from_where_it_was_cut() {
        let dir = tempfile::tempdir().expect("a directory");
        let kept = Kept::of(&dir.path().display().to_string());
        let mut long = results(&["a"]);
        let whole: String = (0..20_000).map(|line| format!("line {line}\n")).collect();
        if let Entry::Results { results } = &mut long {
            results[0].text.clone_from(&whole);
            kept.take(results, 3).expect("it is kept");
        }
        let entries = [asked(), answered("I look.", &[call("a", "{\"path\":\"x\"}")]), long];
        let (mut offset, mut read) = (0, String::new());
        while offset < whole.len() {
            let given = run(&format!("{{\"entry\":3,\"result\":1,\"offset\":{offset}}}"), &entries, &kept);
            assert_eq!(given.code, None, "{}", given.text);
            offset = usize::try_from(given.facts["to"].as_u64().expect("a number")).expect("small");
            let (_, body) = given.text.split_once('\n').expect("a head line");
            read.push_str(body.split("[More follows").next().expect("its body"));
        }
        assert_eq!(read, whole);
        let by_call = run("{\"call\":\"a\",\"from_line\":19999,\"lines\":1}", &entries, &kept);
        assert!(by_call.text.contains("line 19998\n[More"), "{}", by_call.text);
        assert!(run("{\"entry\":2}", &entries, &kept).text.contains("I look.\nlook {\"path\""));
    }

    #[test]
    fn what_is_not_there_is_a_miss_that_says_what_is() {
        let dir = tempfile::tempdir().expect("a directory");
        let kept = Kept::of(&dir.path().display().to_string());
        let entries = [asked(), answered("", &[call("a", "{}")]), results(&["a"])];
        for (arguments, code) in [
            ("{\"entry\":9}", Code::NotFound),
            ("{\"entry\":0}", Code::NotFound),
            ("{\"entry\":3,\"result\":2}", Code::NotFound),
            ("{\"call\":\"z\"}", Code::NotFound),
            ("{}", Code::BadArguments),
            ("{\"entry\":1,\"offset\":100}", Code::PastEnd),
            ("{\"entry\":1,\"from_line\":5}", Code::PastEnd),
        ] {
            assert_eq!(run(arguments, &entries, &kept).code, Some(code), "{arguments}");
        }
    }
}
