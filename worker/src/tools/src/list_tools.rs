//! `list_available_tools`: what can be called, what cannot and why, and what arguments a tool takes.

use crate::arguments::{self, Arguments};
use crate::outcome::{Attempt, Outcome};
use crate::registry::{Access, Call, Tool};
use ouroboros_proto::agent::ToolSpec;
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write as _;

/// The tool.
pub struct ListTools;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    #[serde(default)]
    name: Option<String>,
}

impl Arguments for Wanted {
    const EXAMPLE: &'static str = r#"{"name":"read_file"}"#;
}

impl Tool for ListTools {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "list_available_tools".to_owned(),
            description: "Lists all tools, with the reason for each that cannot be called now. With a name it gives the arguments of \
                          that tool."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "name": { "type": "string", "description": "A tool; all of them when absent." } },
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
        list(call, arguments).unwrap_or_else(|outcome| outcome)
    }
}

fn list(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let wanted: Wanted = arguments::read(arguments, call.limits.argument_bytes)?;
    let tools = call.tools.map_or(&[][..], |tools| tools.entries());
    if let Some(name) = wanted.name.as_deref().filter(|name| !name.is_empty()) {
        // A name that is none, or that is hidden, is answered as a call of it is.
        if let Some(tools) = call.tools {
            let spec = tools.get(name)?.spec();
            let text = format!("{name}: {}\nIts arguments, as JSON Schema: {}", spec.description, spec.parameters);
            return Ok(Outcome::ok(text, json!({ "tool": name })));
        }
    }
    let (mut text, mut hidden) = (String::new(), 0_usize);
    for entry in tools {
        let name = &entry.name;
        // Writing to a string does not fail.
        let _ = match &entry.hidden {
            None => writeln!(text, "{name}: {}", entry.tool.spec().description),
            Some(reason) => {
                hidden = hidden.saturating_add(1);
                writeln!(text, "{name}: cannot be called now, hidden by policy: {reason}.")
            }
        };
    }
    Ok(Outcome::ok(text, json!({ "tools": tools.len(), "hidden": hidden })))
}

#[cfg(test)]
mod tests {
    use crate::outcome::Code;
    use crate::testing::Desk;
    use serde_json::json;

    #[test]
    fn all_tools_are_told_with_what_hides_them_and_one_with_its_arguments() {
        let mut desk = Desk::new();
        desk.registry.hide("write_file", "this task only looks");
        let all = desk.ok("list_available_tools", json!({}));
        assert_eq!(all.text.lines().count(), desk.registry.specs().len());
        assert!(all.text.contains("read_file: Reads lines of a text file."), "{}", all.text);
        assert!(all.text.contains("write_file: cannot be called now, hidden by policy: this task only looks."));
        assert_eq!(all.facts["hidden"], 1);
        let one = desk.ok("list_available_tools", json!({ "name": "edit_text" }));
        assert!(one.text.contains("\"required\":[\"path\",\"old\",\"new\"]"), "{}", one.text);
        let hidden = desk.not_ok("list_available_tools", json!({ "name": "write_file" }), Code::HiddenByPolicy);
        assert!(hidden.text.contains("this task only looks"));
        let miss = desk.not_ok("list_available_tools", json!({ "name": "run_code" }), Code::UnknownTool);
        assert!(miss.text.contains("You can call: read_file") && !miss.text.contains("write_file"), "{}", miss.text);
    }
}
