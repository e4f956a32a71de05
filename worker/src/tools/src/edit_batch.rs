//! `edit_batch`: several exact texts for others, in several files, all or none.

use crate::arguments::{self, Arguments};
use crate::change::Draft;
use crate::outcome::{Attempt, Code, Outcome};
use crate::registry::{Access, Call, Tool};
use crate::replace::{Replacement, replace, told};
use ouroboros_proto::agent::ToolSpec;
use serde::Deserialize;
use serde_json::json;

/// The tool.
pub struct EditBatch;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    edits: Vec<Edit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    all: Option<bool>,
}

impl Arguments for Wanted {
    const EXAMPLE: &'static str =
        r#"{"edits":[{"path":"a.rs","old":"one","new":"two"},{"path":"b.rs","old":"one","new":"two","all":true}]}"#;
}

impl Tool for EditBatch {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "edit_batch".to_owned(),
            description: "Makes several replacements like those of edit_text, in one file or several, in the order given: all of \
                          them, or none when one does not fit."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "edits": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "type": "object",
                            "properties": {
                                "path": { "type": "string", "description": "The file, relative to the folder." },
                                "old": { "type": "string", "description": "The text that is there, to the letter." },
                                "new": { "type": "string", "description": "The text that is to be there." },
                                "all": { "type": "boolean", "description": "Whether to replace it wherever it is." }
                            },
                            "required": ["path", "old", "new"],
                            "additionalProperties": false
                        }
                    }
                },
                "required": ["edits"],
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
    if wanted.edits.is_empty() {
        let text = format!("There are no edits. Nothing was done. Example: {}", Wanted::EXAMPLE);
        return Err(Outcome::not_ok(Code::BadArguments, text).with(json!({ "field": "edits" })));
    }
    let mut draft = Draft::default();
    let mut replacements = 0_usize;
    for (index, edit) in wanted.edits.iter().enumerate() {
        if (call.cancelled)() {
            return Err(Outcome::cancelled());
        }
        let what = Replacement { old: &edit.old, new: &edit.new, all: edit.all.unwrap_or(false) };
        let lines = draft
            .known(call, &edit.path)
            .and_then(|change| replace(change, &what, call))
            .map_err(|outcome| numbered(outcome, index.saturating_add(1), wanted.edits.len()))?;
        replacements = replacements.saturating_add(lines.len());
    }
    let mut outcome = told(&draft.commit(call)?);
    if let Some(facts) = outcome.facts.as_object_mut() {
        facts.insert("replacements".to_owned(), json!(replacements));
    }
    Ok(outcome)
}

fn numbered(mut outcome: Outcome, number: usize, of: usize) -> Outcome {
    outcome.text = format!("Edit {number} of {of} does not fit, so no file was changed. {}", outcome.text);
    if let Some(facts) = outcome.facts.as_object_mut() {
        facts.insert("edit".to_owned(), json!(number));
    }
    outcome
}

#[cfg(test)]
mod tests;
