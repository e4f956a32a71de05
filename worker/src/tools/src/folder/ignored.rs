//! Rules of `.gitignore` files, from the root down.

use super::Folder;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

/// Bytes of one file of rules that are read.
const RULE_BYTES: u64 = 1 << 20;

/// Rules that hold in a directory, outermost first.
#[derive(Default)]
pub(super) struct Rules {
    files: Vec<(PathBuf, Gitignore)>,
}

impl Rules {
    /// Adds the rules of a directory; true when it has any.
    pub(super) fn enter(&mut self, folder: &Folder, directory: BorrowedFd<'_>, path: &Path) -> bool {
        let Ok(opened) = folder.open_in(directory, OsStr::new(".gitignore"), ".gitignore") else { return false };
        let mut bytes = Vec::new();
        if opened.file.take(RULE_BYTES).read_to_end(&mut bytes).is_err() {
            return false;
        }
        let mut builder = GitignoreBuilder::new("");
        for line in String::from_utf8_lossy(&bytes).lines() {
            // A rule that cannot be read does not hold; git warns of it as little.
            let _ = builder.add_line(None, line);
        }
        let Ok(rules) = builder.build() else { return false };
        self.files.push((path.to_owned(), rules));
        true
    }

    /// Takes back the last rules.
    pub(super) fn leave(&mut self) {
        self.files.pop();
    }

    /// Whether a path is ignored: the innermost rule that knows it decides.
    pub(super) fn ignore(&self, path: &Path, is_directory: bool) -> bool {
        for (base, rules) in self.files.iter().rev() {
            let Ok(inside) = path.strip_prefix(base) else { continue };
            match rules.matched(inside, is_directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}
