//! One glob: held against names when it has no slash, else against paths from where the search began.

use crate::limits::Limits;
use crate::outcome::{Attempt, Code, Outcome};
use globset::{GlobBuilder, GlobMatcher};
use std::path::Path;

/// What a model is told of globs.
pub const TOLD: &str = "Which files: *.rs, *.{c,h} or src/**/mod.rs. Without a slash it is held against names, else against \
                        paths below the directory.";

/// A glob.
pub struct Glob {
    matcher: GlobMatcher,
    whole: bool,
}

impl Glob {
    /// Reads a glob: `*`, `?`, `[a-z]`, `**` between slashes, and `{one,other}`.
    ///
    /// # Errors
    /// It is not valid, or too long.
    pub fn new(text: &str, limits: &Limits) -> Attempt<Self> {
        let bad = |why: String| {
            Outcome::not_ok(Code::BadGlob, format!("The glob {text:?} is not valid: {why}. Example: *.{{rs,toml}}"))
        };
        if text.chars().count() > limits.pattern_chars {
            return Err(Outcome::not_ok(
                Code::BadGlob,
                format!("The glob is longer than {} characters. Use a shorter one.", limits.pattern_chars),
            ));
        }
        let trimmed = text.strip_prefix("./").or_else(|| text.strip_prefix('/')).unwrap_or(text);
        let glob = GlobBuilder::new(trimmed).literal_separator(true).empty_alternates(true).build();
        let glob = glob.map_err(|error| bad(error.kind().to_string()))?;
        Ok(Self { matcher: glob.compile_matcher(), whole: text.contains('/') })
    }

    /// Whether a path from where the search began is meant.
    #[must_use]
    pub fn holds(&self, inside: &Path) -> bool {
        match (self.whole, inside.file_name()) {
            (true, _) => self.matcher.is_match(inside),
            (false, Some(name)) => self.matcher.is_match(name),
            (false, None) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_or_paths_are_held_against_it() {
        for (glob, path, holds) in [
            ("*.rs", "src/deep/main.rs", true),
            ("*.{rs,toml}", "a/Cargo.toml", true),
            ("*.{rs,toml}", "a/notes.md", false),
            ("src/*.rs", "src/main.rs", true),
            ("src/*.rs", "src/deep/main.rs", false),
            ("src/**/*.rs", "src/deep/er/main.rs", true),
            ("./src/*.rs", "src/main.rs", true),
            ("main.r[st]", "main.rs", true),
        ] {
            assert_eq!(Glob::new(glob, &Limits::default()).unwrap().holds(Path::new(path)), holds, "{glob} {path}");
        }
        for glob in ["[", "{a,b", "a{", "x".repeat(5_000).as_str()] {
            assert_eq!(Glob::new(glob, &Limits::default()).err().unwrap().code, Some(Code::BadGlob), "{glob}");
        }
    }
}
