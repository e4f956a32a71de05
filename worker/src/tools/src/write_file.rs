//! `write_file`: a whole file.

use crate::arguments::{self, Arguments};
use crate::change::Draft;
use crate::outcome::{Attempt, Outcome};
use crate::registry::{Access, Call, Tool};
use crate::replace::told;
use ouroboros_proto::agent::ToolSpec;
use serde::Deserialize;
use serde_json::json;

/// The tool.
pub struct WriteFile;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    path: String,
    content: String,
}

impl Arguments for Wanted {
    const EXAMPLE: &'static str = r#"{"path":"notes/today.md","content":"First line\n"}"#;
}

impl Tool for WriteFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "write_file".to_owned(),
            description: "Creates a file, or replaces all of it. Directories are made as needed. To change a part of a file, use \
                          edit_text. What somebody else changed since you read it is not replaced: read it again then."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "The file, relative to the folder." },
                    "content": { "type": "string", "description": "All of its content." }
                },
                "required": ["path", "content"],
                "additionalProperties": false
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Write
    }

    fn run(&self, call: &Call<'_>, arguments: &str) -> Outcome {
        write(call, arguments).unwrap_or_else(|outcome| outcome)
    }
}

fn write(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let wanted: Wanted = arguments::read(arguments, call.limits.argument_bytes)?;
    let mut draft = Draft::default();
    let change = draft.known(call, &wanted.path)?;
    let had = change.before.as_ref().map_or(0, |before| before.bytes.len());
    let unread = had > 0 && !call.seen.knows(&change.place);
    change.after = Some(wanted.content.into_bytes());
    let done = draft.commit(call)?;
    let mut outcome = told(&done);
    if unread && !done.is_empty() {
        outcome.text.push_str(
            " You had not read what was there; it is kept as a prior version. Tell the owner if it should not have been replaced.",
        );
        if let Some(facts) = outcome.facts.as_object_mut() {
            facts.insert("unread".to_owned(), json!(true));
        }
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests;
