//! `apply_patch`: a unified diff over several files, all or nothing.
//!
//! | module | what it is for |
//! | --- | --- |
//! | `parse` | the text of a patch as changes of files |
//! | `name` | paths as diffs write them |
//! | `fit` | finding the place of a hunk, and making its change |
//!
//! Written here because of who writes the patches: models get the numbers of hunks wrong and leave out the space of empty lines.
//! The numbers are a hint, the lines decide. Lines must fit to the letter; only their ends (LF, CRLF) are those of the file.

mod fit;
mod name;
mod parse;

use crate::arguments::{self, Arguments};
use crate::change::{Draft, text_only};
use crate::outcome::{Attempt, Code, Outcome};
use crate::registry::{Access, Call, Tool};
use crate::replace::{nearest, only_hidden, told};
use crate::text::masked;
use fit::{Misfit, Unfit};
use ouroboros_proto::agent::ToolSpec;
use parse::{FilePatch, parse};
use serde::Deserialize;
use serde_json::json;

/// The tool.
pub struct ApplyPatch;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    patch: String,
}

impl Arguments for Wanted {
    const EXAMPLE: &'static str =
        r#"{"patch":"--- a/notes.md\n+++ b/notes.md\n@@ -1,2 +1,2 @@\n first line\n-second line\n+another line\n"}"#;
}

impl Tool for ApplyPatch {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "apply_patch".to_owned(),
            description: "Applies a unified diff, as git diff writes it, to one file or several: all of it, or nothing when a hunk \
                          does not fit. /dev/null as the old name creates a file, as the new name deletes one; rename from and \
                          rename to lines move one."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "patch": { "type": "string", "description": "The diff, with or without a/ and b/ before paths." }
                },
                "required": ["patch"],
                "additionalProperties": false
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Write
    }

    fn run(&self, call: &Call<'_>, arguments: &str) -> Outcome {
        apply(call, arguments).unwrap_or_else(|outcome| outcome)
    }
}

fn apply(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let wanted: Wanted = arguments::read(arguments, call.limits.argument_bytes)?;
    let files = parse(&wanted.patch).map_err(|bad| {
        let text = format!("The patch cannot be read: {bad}. Nothing was changed. Example: {}", Wanted::EXAMPLE);
        Outcome::not_ok(Code::BadPatch, text).with(json!({ "line": bad.line }))
    })?;
    let mut draft = Draft::default();
    let (mut hunks, mut moved) = (0_usize, 0_usize);
    for file in &files {
        if (call.cancelled)() {
            return Err(Outcome::cancelled());
        }
        moved = moved.saturating_add(one(call, &mut draft, file)?);
        hunks = hunks.saturating_add(file.hunks.len());
    }
    let mut outcome = told(&draft.commit(call)?);
    if moved > 0 {
        outcome.text.push_str(&format!("\n{moved} of {hunks} hunks fitted at other lines than they said."));
    }
    if let Some(facts) = outcome.facts.as_object_mut() {
        facts.insert("hunks".to_owned(), json!(hunks));
        facts.insert("moved_hunks".to_owned(), json!(moved));
    }
    Ok(outcome)
}

/// Works out what one file of a patch changes; gives how many hunks fitted elsewhere than they said.
fn one(call: &Call<'_>, draft: &mut Draft, file: &FilePatch) -> Attempt<usize> {
    let refuse = |code, path: &str, text: String| Err(Outcome::not_ok(code, text).with(json!({ "path": path })));
    let old = match &file.old {
        None => None,
        Some(path) => {
            let change = draft.known(call, path)?;
            let Some(bytes) = change.after.clone() else {
                let text =
                    format!("{path} does not exist. Nothing was changed. Use /dev/null as the old name to create it.");
                return refuse(Code::NotFound, path, text);
            };
            text_only(path, &bytes)?;
            let mode = change.mode.or(change.before.as_ref().map(|before| before.stat.st_mode & 0o7777));
            Some((path, bytes, mode))
        }
    };
    let bytes = old.as_ref().map_or(&[][..], |(_, bytes, _)| bytes);
    let shown = file.old.as_deref().or(file.new.as_deref()).unwrap_or_default();
    let (after, moved) = match fit::apply(bytes, &file.hunks, call.cancelled) {
        Ok(applied) => applied,
        Err(Unfit::Cancelled) => return Err(Outcome::cancelled()),
        Err(Unfit::Misfit(misfit)) => return Err(told_misfit(&misfit, shown, bytes, file, call)),
    };
    let Some(new) = &file.new else {
        if !after.is_empty() {
            let text =
                format!("The patch deletes {shown}, but not all of its lines. Nothing was changed. Read it again.");
            return refuse(Code::HunkNotFound, shown, text);
        }
        draft.known(call, shown)?.after = None;
        return Ok(moved);
    };
    if let Some((path, _, _)) = &old
        && *path != new
    {
        draft.known(call, path)?.after = None;
    }
    let change = draft.known(call, new)?;
    if file.old.as_ref() != Some(new) && change.after.as_ref().is_some_and(|there| !there.is_empty()) {
        let text = format!("{new} exists already. Nothing was changed. Use its path as the old name to change it.");
        return refuse(Code::AlreadyExists, new, text);
    }
    change.after = Some(after);
    let kept = old.and_then(|(path, _, mode)| if path == new { None } else { mode });
    change.mode = file.mode.or(kept).or(change.mode);
    Ok(moved)
}

fn told_misfit(misfit: &Misfit, shown: &str, bytes: &[u8], file: &FilePatch, call: &Call<'_>) -> Outcome {
    let seen = masked(bytes, call.mask);
    if seen.as_bytes() != bytes && fit::apply(seen.as_bytes(), &file.hunks, call.cancelled).is_ok() {
        return only_hidden(shown, &format!("hunk {} ({})", misfit.number, misfit.header));
    }
    let near = nearest(&seen, &misfit.wanted, call.limits);
    let text = match misfit.places {
        0 => format!(
            "Hunk {} ({}) does not fit in {shown}: its lines are not there one after the other. Nothing was changed.\n{near}",
            misfit.number, misfit.header
        ),
        places => format!(
            "Hunk {} ({}) fits at {places} places in {shown}. Nothing was changed. Say its line after @@, or add lines around it.",
            misfit.number, misfit.header
        ),
    };
    Outcome::not_ok(Code::HunkNotFound, text)
        .with(json!({ "path": shown, "hunk": misfit.number, "places": misfit.places }))
}

#[cfg(test)]
mod tests;
