//! The file: read, and replaced as a whole.

use super::invalid;
use crate::cli::{Context, Failure};
use ouroboros_process::durable;
use ouroboros_settings::{Document, Key, Loaded, Revision, Settings, Sources, Value, check};
use std::io;
use std::path::PathBuf;

/// The settings that file and environment of this process give.
pub fn load(context: &Context) -> Result<Loaded, Failure> {
    let text = text(context)?;
    let environment: Vec<_> = std::env::vars_os().collect();
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let sources = Sources {
        flags: &[],
        environment: &environment,
        file: (context.paths().config_file(), &text),
        processors: u32::try_from(processors).unwrap_or(u32::MAX),
    };
    Settings::load(&sources, Revision::default()).map_err(|problems| invalid(&problems))
}

/// The text of the file; empty when there is none.
pub fn text(context: &Context) -> Result<String, Failure> {
    match std::fs::read_to_string(context.paths().config_file()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        text => text.map_err(|error| Failure::io(format!("{} cannot be read", shown(context)), &error)),
    }
}

/// Writes one setting; the rest of the file stays as it is.
pub fn write(context: &Context, key: Key, value: &str) -> Result<Value, Failure> {
    let mut document = document(context)?;
    let value = document.set(key, value).map_err(|problem| unchanged(&problem))?;
    save(context, document.render())?;
    Ok(value)
}

/// Takes one setting out; false when it was not there.
pub fn remove(context: &Context, key: Key) -> Result<bool, Failure> {
    let mut document = document(context)?;
    let removed = document.unset(key).map_err(|problem| unchanged(&problem))?;
    if removed {
        save(context, document.render())?;
    }
    Ok(removed)
}

/// Puts `text` in the file's place, when it is valid. A link stays a link: what it points to is replaced.
pub fn save(context: &Context, text: &str) -> Result<(), Failure> {
    let path = context.paths().config_file();
    let checked = check(path, text);
    if !checked.problems.is_empty() {
        return Err(invalid(&checked.problems).about("nothing was changed"));
    }
    let target: PathBuf = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let made = target.parent().map_or(Ok(()), make_private);
    made.and_then(|()| durable::replace(&target, text.as_bytes())).map_err(|error| {
        Failure::io(format!("{} cannot be written; it is unchanged", target.display()), &error)
            .remedy("`ouroboros doctor` checks who owns it and what its permissions are.")
    })
}

/// The file's path, for people.
pub fn shown(context: &Context) -> String {
    context.paths().config_file().display().to_string()
}

fn make_private(dir: &std::path::Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

fn document(context: &Context) -> Result<Document, Failure> {
    Document::parse(context.paths().config_file(), &text(context)?)
        .map_err(|problem| unchanged(&problem).remedy("`ouroboros config edit` opens the file."))
}

fn unchanged(problem: &ouroboros_settings::Problem) -> Failure {
    let words = problem.to_string();
    Failure::usage(format!("{}; nothing was changed", words.strip_prefix("edit: ").unwrap_or(&words)))
}
