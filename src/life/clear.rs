//! Removing what foreign programs left behind.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Levels of directories; what lies deeper is left and reported.
const DEPTH: usize = 256;

/// Removes a directory with everything in it, also directories that may not be written to. Links are not followed. Nothing there
/// is no error.
///
/// # Errors
/// Something could not be removed; the rest is gone.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path, DEPTH);
            ignore_absence(fs::remove_dir_all(path))
        }
        result => ignore_absence(result),
    }
}

fn ignore_absence(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Makes directories that are ours writable for us. What fails shows when they are removed.
fn open_up(path: &Path, depth: usize) {
    let Some(deeper) = depth.checked_sub(1) else { return };
    if !fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir()) {
        return;
    }
    let _ = fs::set_permissions(path, Permissions::from_mode(0o700));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        open_up(&entry.path(), deeper);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_that_may_not_be_written_to_go_and_what_links_lead_to_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, outside) = (dir.path().join("tree"), dir.path().join("outside"));
        fs::create_dir_all(tree.join("a/b")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "x").unwrap();
        fs::write(tree.join("a/b/file"), "x").unwrap();
        std::os::unix::fs::symlink(&outside, tree.join("a/link")).unwrap();
        for closed in ["a/b", "a"] {
            fs::set_permissions(tree.join(closed), Permissions::from_mode(0o500)).unwrap();
        }
        open_up(&tree, DEPTH);
        remove_tree(&tree).unwrap();
        assert!(!tree.exists() && outside.join("kept").exists());
        remove_tree(&tree).unwrap();
    }
}
