//! `edit_text`: one exact text for another, in one file.

use crate::arguments::{self, Arguments};
use crate::change::Draft;
use crate::outcome::{Attempt, Outcome};
use crate::registry::{Access, Call, Tool};
use crate::replace::{Replacement, replace, told};
use crate::text::counted;
use ouroboros_proto::agent::ToolSpec;
use serde::Deserialize;
use serde_json::json;

/// The tool.
pub struct EditText;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    all: Option<bool>,
}

impl Arguments for Wanted {
    const EXAMPLE: &'static str = r#"{"path":"src/main.rs","old":"let a = 1;","new":"let a = 2;"}"#;
}

impl Tool for EditText {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "edit_text".to_owned(),
            description:
                "Replaces a text in a file. The old text must be in the file to the letter, and once; line numbers are \
                          not part of it."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "The file, relative to the folder." },
                    "old": { "type": "string", "description": "The text that is there." },
                    "new": { "type": "string", "description": "The text that is to be there; empty to remove it." },
                    "all": { "type": "boolean", "description": "Whether to replace it wherever it is." }
                },
                "required": ["path", "old", "new"],
                "additionalProperties": false
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Write
    }

    fn run(&self, call: &Call<'_>, arguments: &str) -> Outcome {
        edit(call, arguments).unwrap_or_else(|outcome| outcome)
    }
}

fn edit(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let wanted: Wanted = arguments::read(arguments, call.limits.argument_bytes)?;
    let mut draft = Draft::default();
    let change = draft.known(call, &wanted.path)?;
    let what = Replacement { old: &wanted.old, new: &wanted.new, all: wanted.all.unwrap_or(false) };
    let lines = replace(change, &what, call)?;
    let mut outcome = told(&draft.commit(call)?);
    let first = lines.first().copied().unwrap_or(0);
    outcome.text.push_str(&format!(" {}, the first at line {first}.", counted(lines.len(), "replacement")));
    if let Some(facts) = outcome.facts.as_object_mut() {
        facts.insert("replacements".to_owned(), json!(lines.len()));
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests;
