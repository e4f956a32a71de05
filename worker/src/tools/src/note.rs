//! `note`: words of the agent to itself and to the person, kept in the transcript.

use crate::arguments::{self, Arguments};
use crate::outcome::{Attempt, Code, Outcome};
use crate::registry::{Access, Call, Tool};
use ouroboros_proto::agent::ToolSpec;
use serde::Deserialize;
use serde_json::json;

/// The tool.
pub struct Note;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    text: String,
}

impl Arguments for Wanted {
    const EXAMPLE: &'static str = r#"{"text":"The parser is done; the tests of the printer are next."}"#;
}

impl Tool for Note {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "note".to_owned(),
            description: "Keeps a short note: a plan, a finding, what is left to do. It stays in the record of this work, where you \
                          and the person can read it. It changes no file."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "text": { "type": "string", "description": "The note, in a few sentences." } },
                "required": ["text"],
                "additionalProperties": false
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn needs_folder(&self) -> bool {
        false
    }

    fn run(&self, call: &Call<'_>, arguments: &str) -> Outcome {
        note(call, arguments).unwrap_or_else(|outcome| outcome)
    }
}

fn note(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let wanted: Wanted = arguments::read(arguments, call.limits.argument_bytes)?;
    let (chars, most) = (wanted.text.chars().count(), call.limits.note_chars);
    if wanted.text.trim().is_empty() {
        let text = format!("The note is empty. Nothing was kept. Example: {}", Wanted::EXAMPLE);
        return Err(Outcome::not_ok(Code::BadArguments, text).with(json!({ "field": "text" })));
    }
    if chars > most {
        let text =
            format!("The note has {chars} characters, at most {most} are kept. Nothing was kept. Make it shorter.");
        return Err(Outcome::not_ok(Code::TooLarge, text).with(json!({ "limit": most })));
    }
    Ok(Outcome::ok("Noted.", json!({ "chars": chars })))
}

#[cfg(test)]
mod tests {
    use crate::outcome::Code;
    use crate::testing::Desk;
    use serde_json::json;

    #[test]
    fn a_note_is_kept_and_one_that_is_empty_or_too_long_is_not() {
        let desk = Desk::new();
        assert_eq!(desk.ok("note", json!({ "text": "Half is done." })).text, "Noted.");
        desk.not_ok("note", json!({ "text": " \n" }), Code::BadArguments);
        let long = desk.not_ok("note", json!({ "text": "é".repeat(4_001) }), Code::TooLarge);
        assert!(long.text.contains("4001 characters, at most 4000"), "{}", long.text);
        assert!(desk.names("").is_empty(), "no file is changed");
    }
}
