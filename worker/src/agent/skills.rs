//! Skills: folders with a `SKILL.md` that says how something is done. A model is told their names and what they are for; it asks for
//! the rest when it needs it.
//!
//! A `SKILL.md` begins with lines between two `---` that give `name` and `description`. They are read as plain `key: value` lines and
//! folded blocks: a whole YAML reader would follow references that grow without bound, in text that anybody may have written.

use super::conversation::as_data;
use super::steps::{Asked, not_done};
use ouroboros_proto::agent::{CallOutcome, CallResult, ToolSpec};
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The tool's name.
pub const NAME: &str = "use_skill";
/// Where skills lie in a folder, and in a home.
pub const PLACES: &[&str] = &[".agents/skills", ".claude/skills"];
/// Skills that are told of, and entries that are looked at for them.
const MOST: usize = 64;
const LOOKED_AT: usize = 1_000;
/// Bytes of a `SKILL.md`, and of the lines at its top.
const BODY_BYTES: u64 = 256 << 10;
const TOP_BYTES: usize = 8 << 10;
/// Characters of a name and of a description; the rest of a description is cut.
const NAME_CHARS: usize = 64;
const DESCRIPTION_CHARS: usize = 1_024;
/// Files of a skill that are named.
const FILES: usize = 50;

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// What it is called.
    pub name: String,
    /// What it is for.
    description: String,
    /// Its folder, without links.
    pub folder: PathBuf,
}

/// The skills of these directories, by name. Of two with one name the first counts.
pub fn find(directories: &[PathBuf]) -> Vec<Skill> {
    let mut skills: Vec<Skill> = Vec::new();
    for directory in directories {
        let entries = std::fs::read_dir(directory).into_iter().flatten().take(LOOKED_AT).flatten();
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        folders.sort();
        for skill in folders.iter().filter_map(|folder| read(folder)) {
            if skills.len() < MOST && skills.iter().all(|known| known.name != skill.name) {
                skills.push(skill);
            }
        }
    }
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    skills
}

/// What the model is told of them; `None` when there is none.
pub fn told(skills: &[Skill]) -> Option<String> {
    let mut text = "[ouroboros] There are skills for some kinds of work. Before you do work of that kind, read the skill with use_skill:\n".to_owned();
    for skill in skills {
        let _ = writeln!(text, "- {}: {}", skill.name, as_data(&skill.description));
    }
    (!skills.is_empty()).then_some(text)
}

/// The tool as the model is told of it.
pub fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Reads a skill: how some kind of work is done here. It names the files that belong to it."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": { "name": { "type": "string", "description": "The skill, as it was named to you." } },
            "required": ["name"],
            "additionalProperties": false
        }),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    name: String,
}

/// Reads the skill that a call names; gives it along, so that its folder can be read from then on.
pub fn take<'s>(call: &Asked<'_>, skills: &'s [Skill]) -> (CallResult, Option<&'s Skill>) {
    let name = match serde_json::from_str::<Arguments>(call.arguments) {
        Ok(Arguments { name }) => name,
        Err(error) => {
            let words =
                format!("The arguments are wrong: {error}. Nothing was done. Example: {{\"name\":\"release\"}}");
            return (not_done(call, CallOutcome::ArgumentError, "bad_arguments", &words), None);
        }
    };
    let Some(skill) = skills.iter().find(|skill| skill.name == name) else {
        let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
        let known = if names.is_empty() {
            "There is none here.".to_owned()
        } else {
            format!("There is: {}.", names.join(", "))
        };
        let asked: String = name.chars().take(NAME_CHARS).collect();
        return (not_done(call, CallOutcome::Miss, "no_skill", &format!("There is no skill {asked:?}. {known}")), None);
    };
    match body(&skill.folder) {
        Ok(text) => {
            let folder = skill.folder.display();
            let mut told = format!("The skill {name}, from {folder}:\n{text}");
            let files = files(&skill.folder);
            if !files.is_empty() {
                let _ = write!(told, "\n\nFiles of it, in {folder}: {}", files.join(", "));
            }
            (CallResult { code: None, ..not_done(call, CallOutcome::Ok, "", &told) }, Some(skill))
        }
        Err(error) => {
            let words = format!("The skill {name} cannot be read: {error}.");
            (not_done(call, CallOutcome::Failure, "io", &words), None)
        }
    }
}

fn read(folder: &Path) -> Option<Skill> {
    let text = body(folder).ok()?;
    let top = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"))?;
    let top = top.get(..top.find("\n---")?)?;
    if top.len() > TOP_BYTES {
        return None;
    }
    let name = value(top, "name")?;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if name.is_empty() || name.len() > NAME_CHARS || !name.chars().all(fits) {
        return None;
    }
    let description: String = value(top, "description")?.chars().take(DESCRIPTION_CHARS).collect();
    Some(Skill { name, description, folder: folder.canonicalize().ok()? })
}

/// The value of a key on a line of its own, with the lines that are indented below it.
fn value(top: &str, key: &str) -> Option<String> {
    let mut lines = top.lines().skip_while(|line| line.split(':').next() != Some(key));
    let first = lines.next()?.split_once(':')?.1.trim();
    let first = if matches!(first, ">" | "|" | ">-" | "|-") { "" } else { first };
    let more = lines.take_while(|line| line.starts_with(' ') || line.starts_with('\t')).map(str::trim);
    let words: Vec<&str> = std::iter::once(first).chain(more).filter(|line| !line.is_empty()).collect();
    let text = words.join(" ");
    let quoted = ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    let text = quoted.unwrap_or(&text).chars().filter(|c| !c.is_control()).collect::<String>();
    (!text.is_empty()).then_some(text)
}

fn body(folder: &Path) -> io::Result<String> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = File::from(open(folder.join("SKILL.md"), flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let mut bytes = Vec::new();
    file.take(BODY_BYTES.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > BODY_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {BODY_BYTES} bytes")));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Names of what lies beside the `SKILL.md`, one level down at most.
fn files(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let list = |at: &Path| -> Vec<(String, bool)> {
        let entries = std::fs::read_dir(at).into_iter().flatten().take(LOOKED_AT).flatten();
        entries
            .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.file_type().ok()?.is_dir())))
            .collect()
    };
    for (name, is_directory) in list(folder) {
        if is_directory {
            names.extend(list(&folder.join(&name)).into_iter().map(|(below, _)| format!("{name}/{below}")));
        } else if name != "SKILL.md" {
            names.push(name);
        }
    }
    names.sort();
    names.truncate(FILES);
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn put(directory: &Path, folder: &str, text: &str) {
        fs::create_dir_all(directory.join(folder).join("scripts")).unwrap();
        fs::write(directory.join(folder).join("SKILL.md"), text).unwrap();
    }

    fn call<'a>(arguments: &'a str) -> Asked<'a> {
        Asked { id: "c", name: NAME, arguments }
    }

    #[test]
    fn names_and_descriptions_come_first_and_the_body_on_demand() {
        let dir = tempfile::tempdir().unwrap();
        let (near, far) = (dir.path().join("near"), dir.path().join("far"));
        put(
            &near,
            "release",
            "---\nname: release\ndescription: \"How a release is made: all of it\"\n---\nFirst, tag.\n",
        );
        put(&near, "folded", "---\nname: folded\ndescription: >-\n  Two lines\n  as one\nlicense: none\n---\nBody\n");
        put(&far, "release", "---\nname: release\ndescription: another\n---\nNo.\n");
        for (folder, text) in [
            ("none", "# Just words\n"),
            ("open", "---\nname: open\ndescription: never closed\n"),
            ("badname", "---\nname: ../x\ndescription: d\n---\n"),
            ("nameless", "---\ndescription: d\n---\n"),
        ] {
            put(&near, folder, text);
        }
        fs::write(near.join("release/scripts/go.sh"), "x").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", near.join("nameless/linked")).unwrap();
        let skills = find(&[near.clone(), far, dir.path().join("missing")]);
        let named: Vec<_> = skills.iter().map(|skill| (skill.name.as_str(), skill.description.as_str())).collect();
        assert_eq!(named, [("folded", "Two lines as one"), ("release", "How a release is made: all of it")]);
        let words = told(&skills).unwrap();
        assert!(words.contains("- release: How a release") && !words.contains("First, tag"), "{words}");
        assert_eq!(told(&[]), None);
        let (result, skill) = take(&call(r#"{"name":"release"}"#), &skills);
        assert_eq!(result.outcome, CallOutcome::Ok);
        assert!(result.text.contains("First, tag.") && result.text.contains("scripts/go.sh"), "{}", result.text);
        assert_eq!(skill.unwrap().folder, near.join("release").canonicalize().unwrap());
    }

    #[test]
    fn what_is_no_skill_is_a_miss_that_names_those_there_are() {
        let (result, skill) = take(&call(r#"{"name":"x"}"#), &[]);
        assert_eq!((result.outcome, skill), (CallOutcome::Miss, None));
        assert!(result.text.contains("There is none here"));
        assert_eq!(take(&call("{}"), &[]).0.outcome, CallOutcome::ArgumentError);
    }

    #[test]
    fn a_link_in_place_of_the_text_is_not_followed_and_a_long_one_not_read() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("a/SKILL.md")).unwrap();
        let long = format!("---\nname: b\ndescription: d\n---\n{}", "x".repeat(300 << 10));
        put(dir.path(), "b", &long);
        assert_eq!(find(&[dir.path().to_owned()]), []);
    }
}
