//! What a task in words changed in its folder, for those who look, and taking it back.
//!
//! Both go through the tools' own resolver and store of versions: the same folder, the same closed places, the same checks right
//! before a file is replaced. Everything here blocks.

use ouroboros_proto::api::{
    ApiError, ChangeKind, ChangeView, ChangesView, Code, UndoAnswer, UndoOne, UndoRequest, Undone,
};
use ouroboros_proto::limits;
use ouroboros_tools::versions::{Compared, Line, Manner, Scope, Side, Undo};
use ouroboros_tools::{Fence, Folder, Limits, Versions};
use similar::TextDiff;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Lines around a difference.
const CONTEXT: usize = 3;
/// Time after which the differences of a file are worked out less finely.
const FINE: Duration = Duration::from_millis(500);

/// Where a task worked and what was kept of it.
pub struct Place<'a> {
    /// Its folder.
    pub folder: &'a str,
    /// Its store of versions, which need not exist.
    pub versions: &'a Path,
    /// Places that are closed to it.
    pub fenced: &'a [String],
}

impl Place<'_> {
    /// What it changed, file by file.
    ///
    /// # Errors
    /// The folder or what was kept cannot be read.
    pub fn changes(&self) -> Result<ChangesView, ApiError> {
        let none = ChangesView { folder: self.folder.to_owned(), files: Vec::new() };
        let Some((folder, versions)) = self.open()? else { return Ok(none) };
        let mut left = limits::DIFF_BYTES.max;
        let files = versions.by_path().map_err(|error| self.unreadable(&error))?;
        let files = files.iter().filter_map(|(path, lines)| view(&folder, &versions, path, lines, &mut left)).collect();
        Ok(ChangesView { files, ..none })
    }

    /// Takes changes back, file by file.
    ///
    /// # Errors
    /// The folder or what was kept cannot be read; nothing was changed then.
    pub fn undo(&self, asked: &UndoRequest) -> Result<UndoAnswer, ApiError> {
        let answer = |files| UndoAnswer { folder: self.folder.to_owned(), dry_run: asked.dry_run, files };
        let manner = Manner { force: asked.force, dry_run: asked.dry_run };
        let Some((folder, versions)) = self.open()? else {
            let refused = |path: &String| one(path.clone(), Undo::Refused(format!("No change of {path} is recorded.")));
            return Ok(answer(asked.files.iter().map(refused).collect()));
        };
        let undo =
            |scope| versions.undo(&folder, scope, manner, &Limits::default()).map_err(|error| self.unreadable(&error));
        let mut files = Vec::new();
        if asked.files.is_empty() {
            files = undo(Scope::All)?;
        }
        for path in &asked.files {
            files.extend(undo(Scope::Path(path))?);
        }
        Ok(answer(files.into_iter().map(|(path, undo)| one(path, undo)).collect()))
    }

    /// `None` when nothing was ever kept.
    fn open(&self) -> Result<Option<(Folder, Versions)>, ApiError> {
        if !self.versions.is_dir() {
            return Ok(None);
        }
        let mut fence = Fence::none();
        for path in self.fenced {
            fence.add(Path::new(path)).map_err(|error| self.unreadable(&error))?;
        }
        let folder = Folder::open(Path::new(self.folder), fence).map_err(|error| self.unreadable(&error))?;
        let versions = Versions::open(self.versions).map_err(|error| self.unreadable(&error))?;
        Ok(Some((folder, versions)))
    }

    fn unreadable(&self, error: &io::Error) -> ApiError {
        ApiError::new(
            Code::BadDirectory,
            format!("What was changed in {} cannot be looked at: {error}. Nothing was changed.", self.folder),
        )
    }
}

fn one(path: String, undo: Undo) -> UndoOne {
    let (done, why) = match undo {
        Undo::Restored => (Undone::Restored, None),
        Undo::Removed => (Undone::Removed, None),
        Undo::Unchanged => (Undone::Unchanged, None),
        Undo::Refused(why) => (Undone::Refused, Some(why)),
    };
    UndoOne { path, done, why }
}

fn view(folder: &Folder, versions: &Versions, path: &str, lines: &[Line], left: &mut u64) -> Option<ChangeView> {
    let compared = versions.compare(folder, path, lines, &Limits::default())?;
    let Compared { before, now, foreign } = compared;
    let now = match now {
        Ok(now) => now,
        Err(why) => {
            let (path, change) = (path.to_owned(), ChangeKind::Unreadable);
            return Some(ChangeView { path, change, foreign, diff: None, note: Some(why) });
        }
    };
    let same = |one: &Side, other: &Side| one.hash == other.hash && one.mode == other.mode;
    let change = match (&before, &now) {
        (None, None) => ChangeKind::Same,
        (Some(before), Some(now)) if same(before, now) => ChangeKind::Same,
        (None, Some(_)) => ChangeKind::Created,
        (Some(_), None) => ChangeKind::Deleted,
        (Some(_), Some(_)) => ChangeKind::Changed,
    };
    let (mut diff, mut note) = (None, None);
    if change != ChangeKind::Same {
        match unified(path, before.as_ref(), now.as_ref()) {
            Ok(text) => {
                let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
                match left.checked_sub(bytes) {
                    Some(rest) => (*left, diff) = (rest, Some(text)),
                    None => note = Some("the differences are left out: all of them together are too long".to_owned()),
                }
            }
            Err(why) => note = Some(why.to_owned()),
        }
    }
    Some(ChangeView { path: path.to_owned(), change, foreign, diff, note })
}

/// The difference of two files as `diff -u` and git write it, or why there is none.
fn unified(path: &str, before: Option<&Side>, now: Option<&Side>) -> Result<String, &'static str> {
    let text = |side: Option<&Side>| -> Result<String, &'static str> {
        let Some(side) = side else { return Ok(String::new()) };
        let bytes = side.bytes.as_deref().ok_or("what it was is no longer kept")?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limits::DIFF_FILE_BYTES.max {
            return Err("it is too long to be compared line by line");
        }
        let text = String::from_utf8(bytes.to_vec()).map_err(|_| "it is no text")?;
        if text.contains('\0') { Err("it is no text") } else { Ok(text) }
    };
    let (old, new) = (text(before)?, text(now)?);
    let mut shown = String::new();
    match (before, now) {
        (Some(before), Some(now)) if before.mode != now.mode => {
            shown = format!("old mode 100{:03o}\nnew mode 100{:03o}\n", before.mode, now.mode);
        }
        (Some(_), _) | (None, _) => {}
    }
    let name =
        |side: Option<&Side>, prefix: &str| side.map_or_else(|| "/dev/null".to_owned(), |_| format!("{prefix}/{path}"));
    let diff = TextDiff::configure().timeout(FINE).diff_lines(&old, &new);
    shown
        .push_str(&diff.unified_diff().context_radius(CONTEXT).header(&name(before, "a"), &name(now, "b")).to_string());
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    fn side(text: &str, mode: u32) -> Side {
        Side { hash: ouroboros_tools::versions::digest(text.as_bytes()), mode, bytes: Some(text.as_bytes().to_vec()) }
    }

    #[test]
    fn differences_are_shown_as_patches_take_them() {
        let (old, new) = (side("a\nb\nc\n", 0o644), side("a\nB\nc", 0o644));
        let diff = unified("x.txt", Some(&old), Some(&new)).unwrap();
        let expected = "--- a/x.txt\n+++ b/x.txt\n@@ -1,3 +1,3 @@\n a\n-b\n-c\n+B\n+c\n\\ No newline at end of file\n";
        assert_eq!(diff, expected);
        let made = unified("x.txt", None, Some(&old)).unwrap();
        assert!(made.starts_with("--- /dev/null\n+++ b/x.txt\n@@ -0,0 +1,3 @@\n+a\n"), "{made}");
        let mode = unified("x.txt", Some(&old), Some(&side("a\nb\nc\n", 0o755))).unwrap();
        assert_eq!(mode, "old mode 100644\nnew mode 100755\n");
        assert!(unified("x", Some(&old), Some(&Side { bytes: Some(vec![0, 159]), ..new.clone() })).is_err());
        assert!(unified("x", Some(&Side { bytes: None, ..old }), Some(&new)).is_err());
    }

    #[test]
    fn nothing_is_kept_of_a_task_that_changed_nothing_and_nothing_is_made_by_looking() {
        let dir = tempfile::tempdir().unwrap();
        let versions = dir.path().join("versions");
        let place = Place { folder: "/nowhere", versions: &versions, fenced: &[] };
        assert_eq!(place.changes().unwrap().files, []);
        let asked = UndoRequest { files: vec!["a".to_owned()], ..UndoRequest::default() };
        assert_eq!(place.undo(&asked).unwrap().files[0].done, Undone::Refused);
        assert!(!versions.exists());
        fs::create_dir(&versions).unwrap();
        fs::set_permissions(&versions, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(place.changes().unwrap_err().code, Code::BadDirectory, "the folder is gone");
    }
}
