//! What Tab completes: commands, and the names of files after an `@`.

use super::command;
use rustyline::Context;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use std::fs;
use std::path::{Path, PathBuf};

/// Most names of a folder that are looked at.
const LOOKED_AT: usize = 10_000;
/// Most names that are offered.
const OFFERED: usize = 200;

/// The names in a folder.
#[derive(Debug)]
pub struct Names {
    folder: PathBuf,
}

impl Names {
    /// For a conversation in this folder.
    pub fn new(folder: &str) -> Self {
        Self { folder: Path::new(folder).to_owned() }
    }

    /// What may stand at `start` in place of the text from there to `position`.
    fn offered(&self, line: &str, position: usize) -> (usize, Vec<String>) {
        let before = line.get(..position).unwrap_or_default();
        if before.starts_with('/') && !before.contains(char::is_whitespace) {
            let names = command::NAMES.iter().map(|(name, _)| format!("/{name} "));
            return (0, names.filter(|name| name.starts_with(before)).collect());
        }
        let start = before.rfind(char::is_whitespace).map_or(0, |at| {
            at.saturating_add(before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8))
        });
        match before.get(start..).and_then(|word| word.strip_prefix('@')) {
            Some(path) => (start, self.files(path)),
            None => (position, Vec::new()),
        }
    }

    /// The files and folders whose paths begin so, as mentions. Names with spaces are left out: a mention ends with one.
    fn files(&self, typed: &str) -> Vec<String> {
        let (below, begin) = typed.rsplit_once('/').map_or(("", typed), |(below, begin)| (below, begin));
        let Ok(entries) = fs::read_dir(self.folder.join(below)) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .take(LOOKED_AT)
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let hidden = name.starts_with('.') && !begin.starts_with('.');
                let odd = name.contains(|letter: char| letter.is_whitespace() || letter.is_control());
                let fits = name.starts_with(begin) && !hidden && !odd;
                let end = if entry.path().is_dir() { "/" } else { " " };
                let path = if below.is_empty() && !typed.starts_with('/') { name } else { format!("{below}/{name}") };
                fits.then(|| format!("@{path}{end}"))
            })
            .collect();
        names.sort();
        names.truncate(OFFERED);
        names
    }
}

impl Completer for Names {
    type Candidate = Pair;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, offered) = self.offered(line, position);
        let pair = |text: String| Pair { display: text.trim_end().to_owned(), replacement: text };
        Ok((start, offered.into_iter().map(pair).collect()))
    }
}

impl Hinter for Names {
    type Hint = String;
}

impl Highlighter for Names {}

impl Validator for Names {}

impl rustyline::Helper for Names {}

#[cfg(test)]
mod tests {
    use super::Names;
    use std::fs;

    #[test]
    fn files_are_completed_after_an_at_and_commands_at_the_beginning() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["main.rs", "make me.txt", ".hidden", "män"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("src/lib.rs"), "").unwrap();
        let names = Names::new(folder.path().to_str().unwrap());
        let offered = |line: &str| names.offered(line, line.len());
        assert_eq!(offered("look at @m"), (8, vec!["@main.rs ".to_owned(), "@män ".to_owned()]));
        assert_eq!(offered("@s"), (0, vec!["@src/".to_owned()]));
        assert_eq!(offered("é\u{a0}@src/l").1, ["@src/lib.rs "]);
        assert_eq!(offered("@.h").1, ["@.hidden "]);
        assert_eq!(offered("look"), (4, vec![]));
        assert_eq!(offered("/di"), (0, vec!["/diff ".to_owned()]));
        assert_eq!(offered("no /di").1, [""; 0]);
        assert_eq!(offered("@nowhere/x").1, [""; 0]);
    }
}
