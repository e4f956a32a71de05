//! `compact_context`: the agent itself says what stands in place of its older rounds.

use super::units::{self, Range};
use super::view::{self, Shown};
use crate::agent::steps::Asked;
use ouroboros_proto::agent::{Entry, ToolSpec};
use ouroboros_tools::arguments::{self, Arguments};
use ouroboros_tools::outcome::Attempt;
use ouroboros_tools::{Code, Outcome};
use serde::Deserialize;
use serde_json::json;

/// The tool's name.
pub const NAME: &str = "compact_context";
/// Bytes of arguments that are read, and so of a note.
const ARGUMENT_BYTES: usize = 64 << 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    note: String,
    #[serde(default)]
    keep_last: Option<usize>,
}

impl Arguments for Wanted {
    const EXAMPLE: &'static str = r#"{"note":"Found: …. Changed: …. Open: ….","keep_last":2}"#;
}

/// A note that holds from the next request on.
#[derive(Debug, PartialEq, Eq)]
pub struct Note {
    /// What it stands for.
    pub range: Range,
    /// Its text.
    pub text: String,
}

/// The tool as the model is told of it.
pub fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Puts a note of yours in place of your older rounds, to make room: what you found, changed, decided and left open. What \
                      the person said stays, and every old entry can be read again with recall. Nobody changes your note."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "note": { "type": "string", "description": "Everything that you will need of the older rounds." },
                "keep_last": { "type": "integer", "minimum": 1,
                    "description": "How many of the newest rounds stay as they are, this one among them; 2 when absent." }
            },
            "required": ["note"],
            "additionalProperties": false
        }),
    }
}

/// Reads the call. The round that it stands in has no results yet, and stays.
pub fn read(call: &Asked<'_>, entries: &[Entry]) -> Attempt<(Note, Outcome)> {
    let wanted: Wanted = arguments::read(call.arguments(), ARGUMENT_BYTES)?;
    let text = wanted.note.trim();
    if text.is_empty() {
        return Err(Outcome::not_ok(Code::BadArguments, "The note is empty. Nothing was changed."));
    }
    let units = units::of(entries);
    let nothing = || Outcome::not_ok(Code::NoChange, "There are no older rounds to make room of. Nothing was changed.");
    let range = units::prefix(&units, 0, wanted.keep_last.unwrap_or(2).max(1)).ok_or_else(nothing)?;
    let before = bytes(entries, range);
    if text.len() >= before {
        let text = format!("The older rounds have {before} bytes and the note {}. Nothing was changed.", text.len());
        return Err(Outcome::not_ok(Code::NoChange, text));
    }
    let Range { from, to } = range;
    let told = format!(
        "From the next turn on your note of {} bytes stands in place of the rounds in the entries {from} to {to}, about {before} bytes.",
        text.len()
    );
    let facts = json!({ "from": from, "to": to, "bytes": before });
    Ok((Note { range, text: text.to_owned() }, Outcome::ok(told, facts)))
}

/// About how many bytes a stretch has as it is shown now.
fn bytes(entries: &[Entry], range: Range) -> usize {
    let shown = view::of(entries).into_iter().map(|shown| match shown {
        Shown::Entry { entry: Entry::Answered { answer }, place, .. } if range.has(place) => {
            serde_json::to_string(&answer.message).map_or(0, |json| json.len())
        }
        Shown::Entry { entry: Entry::Results { results }, place, most } if range.has(place) => {
            results.iter().map(|result| most.map_or(result.text.len(), |most| most.min(result.text.len()))).sum()
        }
        Shown::Note { range: of, text, .. } if of.is_within(range) => text.len(),
        Shown::Entry { .. } | Shown::Note { .. } => 0,
    });
    shown.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::steps;
    use crate::agent::testing::{answered, asked, call, results};

    fn with(arguments: &str) -> Attempt<(Note, Outcome)> {
        let mut entries = vec![asked()];
        for id in ["a", "b", "c"] {
            entries.extend([answered(&"long ".repeat(50), &[call(id, "{}")]), results(&[id])]);
        }
        let now = answered("", &[call("d", arguments)]);
        entries.push(now);
        let Some(Entry::Answered { answer }) = entries.last().cloned() else { panic!("no answer") };
        let calls = steps::calls(&answer.message);
        read(&calls[0], &entries)
    }

    #[test]
    fn a_note_takes_in_whole_rounds_and_leaves_the_newest() {
        let (note, told) = with(r#"{"note":"short","keep_last":2}"#).expect("it is taken");
        assert_eq!(note, Note { range: Range { from: 2, to: 5 }, text: "short".to_owned() });
        assert!(told.text.contains("entries 2 to 5"), "{}", told.text);
        assert_eq!(with(r#"{"note":"short","keep_last":1}"#).expect("it is taken").0.range.to, 7);
        for (arguments, code) in [
            (r#"{"note":" "}"#.to_owned(), Code::BadArguments),
            ("{}".to_owned(), Code::BadArguments),
            (r#"{"note":"x","keep_last":9}"#.to_owned(), Code::NoChange),
            (format!("{{\"note\":\"{}\"}}", "x".repeat(5_000)), Code::NoChange),
        ] {
            assert_eq!(with(&arguments).expect_err("nothing changes").code, Some(code), "{arguments}");
        }
    }
}
