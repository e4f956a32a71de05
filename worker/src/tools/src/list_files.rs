//! `list_files`: what is in a directory, or matches a glob below it.

use crate::arguments::{self, Arguments};
use crate::folder::walk::{Stopped, Wanted};
use crate::folder::{Entry, Flow, Kind, Walked};
use crate::outcome::{Attempt, Outcome};
use crate::registry::{Access, Call, Tool};
use crate::search::{Glob, TOLD};
use crate::text::counted;
use ouroboros_proto::agent::ToolSpec;
use rustix::fs::readlinkat;
use serde::Deserialize;
use serde_json::json;

/// Fenced and unreadable places that are named, at most.
const NAMED: usize = 10;

/// The tool.
pub struct ListFiles;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    glob: Option<String>,
    #[serde(default)]
    depth: Option<usize>,
    #[serde(default)]
    ignored: Option<bool>,
}

impl Arguments for Asked {
    const EXAMPLE: &'static str = r#"{"path":"src","glob":"*.{rs,toml}","depth":3}"#;
}

impl Tool for ListFiles {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "list_files".to_owned(),
            description:
                "Lists a directory in order of names, with sizes in bytes; names of directories end with a slash. \
                          With a glob it lists the files that match, at any depth. What .gitignore ignores is left out."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "The directory; the folder when absent." },
                    "glob": { "type": "string", "description": TOLD },
                    "depth": { "type": "integer", "minimum": 1, "description": "Levels; 1 without a glob, all with one." },
                    "ignored": { "type": "boolean", "description": "Whether ignored files are listed too." }
                },
                "additionalProperties": false
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn run(&self, call: &Call<'_>, arguments: &str) -> Outcome {
        list(call, arguments).unwrap_or_else(|outcome| outcome)
    }
}

fn list(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let asked: Asked = arguments::read(arguments, call.limits.argument_bytes)?;
    let glob = asked.glob.as_deref().map(|glob| Glob::new(glob, call.limits)).transpose()?;
    let start = call.folder.directory(asked.path.as_deref().unwrap_or("."))?;
    let levels = match (asked.depth, &glob) {
        (Some(levels), _) => levels.max(1),
        (None, None) => 1,
        (None, Some(_)) => usize::MAX,
    };
    let (mut lines, mut bytes, mut left_out) = (Vec::new(), 0_usize, 0_usize);
    let mut visit = |entry: &Entry<'_>| {
        let shown = match &glob {
            None => true,
            Some(glob) => entry.kind != Kind::Directory && glob.holds(entry.inside),
        };
        if !shown {
            return Flow::On;
        }
        let line = line(entry);
        if lines.len() >= call.limits.listed_entries || bytes.saturating_add(line.len()) > call.limits.result_bytes {
            left_out = left_out.saturating_add(1);
        } else {
            bytes = bytes.saturating_add(line.len()).saturating_add(1);
            lines.push(line);
        }
        Flow::On
    };
    let wanted = Wanted { depth: levels.saturating_sub(1), ignored: asked.ignored.unwrap_or(false) };
    let walked = call.folder.walk(&start, wanted, call.limits, call.cancelled, &mut visit);
    if walked.stopped == Some(Stopped::Cancelled) {
        return Err(Outcome::cancelled());
    }
    let what = asked.glob.as_deref().map_or_else(String::new, |glob| format!(" that match {glob}"));
    let all = lines.len().saturating_add(left_out);
    let entries = if all == 1 { "1 entry".to_owned() } else { format!("{all} entries") };
    let mut text = format!("{}: {entries}{what}\n", start.shown());
    for line in &lines {
        text.push_str(line);
        text.push('\n');
    }
    if left_out > 0 {
        text.push_str(&format!("[{left_out} more are not shown. List a directory below, or use a narrower glob.]\n"));
    }
    text.push_str(&left(&walked));
    let facts = json!({
        "path": start.shown(), "entries": all, "shown": lines.len(), "left_out": left_out, "ignored": walked.ignored,
        "fenced": walked.fenced.len(), "unreadable": walked.unreadable.len(), "complete": walked.stopped.is_none(),
    });
    Ok(Outcome::ok((call.mask)(&text).into_owned(), facts))
}

fn line(entry: &Entry<'_>) -> String {
    let name = on_one_line(entry.path.display().to_string());
    let unnameable = if entry.path.to_str().is_none() { "  [not UTF-8: cannot be named]" } else { "" };
    let fenced = if entry.fenced { "  [fenced]" } else { "" };
    let rest = match entry.kind {
        Kind::Directory => "/".to_owned(),
        Kind::File(size) => format!("  {size}"),
        Kind::Link => {
            let target = readlinkat(entry.parent, entry.name, Vec::new());
            target.map_or_else(
                |_| "  [link]".to_owned(),
                |target| format!(" -> {}", on_one_line(target.to_string_lossy().into_owned())),
            )
        }
        Kind::Other => "  [not a regular file]".to_owned(),
    };
    format!("{name}{rest}{fenced}{unnameable}")
}

/// A name on two lines would read as two entries.
fn on_one_line(name: String) -> String {
    if name.contains(char::is_control) { format!("{name:?}") } else { name }
}

/// What a walk left out, a line each.
pub fn left(walked: &Walked) -> String {
    let mut text = String::new();
    let mut note = |words: String| text.push_str(&format!("[{words}]\n"));
    if walked.ignored > 0 {
        note(format!("{} left out as ignored; ignored: true shows them.", counted(walked.ignored, "path")));
    }
    let named = |places: &[String]| {
        let more = places.len().saturating_sub(NAMED);
        let names = places.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        if more == 0 { names } else { format!("{names} and {more} more") }
    };
    if !walked.fenced.is_empty() {
        note(format!("Fenced off, not entered: {}.", named(&walked.fenced)));
    }
    if !walked.unreadable.is_empty() {
        note(format!("Could not be read: {}.", named(&walked.unreadable)));
    }
    if walked.too_deep > 0 {
        note(format!("Too deep, not entered: {}.", walked.too_deep));
    }
    if walked.stopped == Some(Stopped::TooMany) {
        note("Stopped early: too many entries. Name a directory below.".to_owned());
    }
    text
}

#[cfg(test)]
mod tests;
