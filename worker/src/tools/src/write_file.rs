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
                          edit_text."
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
    draft.file(call.folder, call.limits, &wanted.path)?.after = Some(wanted.content.into_bytes());
    Ok(told(&draft.commit(call)?))
}

#[cfg(test)]
mod tests;
