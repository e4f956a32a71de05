//! Files that are either old or new, whatever happens in between.

use rustix::fs::{CWD, Mode, OFlags, renameat};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The end of every temporary name.
const SUFFIX: &str = ".replacing";

/// Replaces the file at `path`, or creates it, readable by its owner only. When it returns, the new content survives a loss of
/// power; when it fails or the machine stops before, the old file is there unchanged, or there is none as before.
///
/// # Errors
/// When a step failed; the temporary file is removed. If only the last step, syncing the directory, failed, the new file is in place
/// but may be lost with power.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = parent(path);
    let temporary = temporary(path)?;
    let placed = write(&temporary, bytes).and_then(|()| Ok(renameat(CWD, &temporary, CWD, path)?));
    if let Err(error) = placed {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&temporary);
        return Err(error);
    }
    sync_dir(dir)
}

/// Moves a file to another name on the same file system, replacing what is there, and syncs both directories. The content must
/// have been synced by whoever wrote it.
///
/// # Errors
/// When a step failed.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    renameat(CWD, from, CWD, to)?;
    sync_dir(parent(to))?;
    if parent(from) == parent(to) { Ok(()) } else { sync_dir(parent(from)) }
}

/// Files that are kept beside one path because they could not be read, at most.
const ASIDE: u32 = 1_000;
/// What comes behind the name of such a file, before its number.
const UNREADABLE: &str = ".unreadable-";

/// Moves a file that cannot be read to the first free name after its own, so that nothing replaces it; that name.
///
/// # Errors
/// When a step failed; the file is then where it was.
pub fn move_aside(path: &Path) -> io::Result<PathBuf> {
    for number in 1..=ASIDE {
        let mut name = path.as_os_str().to_owned();
        name.push(format!("{UNREADABLE}{number}"));
        let aside = PathBuf::from(name);
        match std::fs::symlink_metadata(&aside) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                rename(path, &aside)?;
                return Ok(aside);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("too many unreadable files are kept beside it; remove some"))
}

/// Files that were moved aside from `path` and are still there, by name.
///
/// # Errors
/// When the directory cannot be read.
pub fn moved_aside(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut prefix = path.file_name().unwrap_or_default().to_owned();
    prefix.push(UNREADABLE);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(parent(path))? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(prefix.as_encoded_bytes()) {
            found.push(entry.path());
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Makes creations, renames and removals in a directory durable.
///
/// # Errors
/// When it cannot be opened or synced.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Removes what replacements that were cut short have left in a directory, and says how many there were. Nobody else may be
/// replacing files in it.
///
/// # Errors
/// When the directory cannot be read or a file not removed.
pub fn remove_leftovers(dir: &Path) -> io::Result<usize> {
    let mut removed = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.starts_with('.') && name.ends_with(SUFFIX)) {
            std::fs::remove_file(entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(bytes)?;
    file.sync_all()
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn temporary(path: &Path) -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}-{}{SUFFIX}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    Ok(parent(path).join(hidden))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_new_content_takes_the_place_of_the_old_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        replace(&path, b"old").unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_read_is_moved_to_the_first_free_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        for round in 1..=2 {
            std::fs::write(&path, [round]).unwrap();
            assert_eq!(move_aside(&path).unwrap(), dir.path().join(format!("state.unreadable-{round}")));
        }
        let kept = moved_aside(&path).unwrap();
        assert_eq!(kept.iter().map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>(), [[1], [2]]);
        std::fs::remove_file(&kept[0]).unwrap();
        assert_eq!(moved_aside(&path).unwrap(), kept[1..]);
        assert!(move_aside(&path).is_err(), "there is nothing to move");
    }

    #[test]
    fn a_failed_replacement_leaves_the_old_state() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("occupied");
        std::fs::create_dir_all(path.join("inside")).unwrap();
        assert!(replace(&path, b"new").is_err());
        assert!(path.join("inside").exists());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn leftovers_go_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(".state.1-0.replacing"), b"").unwrap();
        std::fs::write(dir.path().join("state"), b"").unwrap();
        assert_eq!(remove_leftovers(dir.path()).unwrap(), 1);
        assert!(dir.path().join("state").exists());
    }
}
