//! The log of a launcher without a terminal: its standard error, which the server shares for its last words. It is kept small by
//! moving what is in it to a second file, in place, since two processes have it open.

use rustix::fs::{Mode, OFlags, fstat, ftruncate};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Size at which it is emptied.
const LARGEST: u64 = 1 << 20;
/// Longest end of it that is repeated elsewhere.
const TAIL: u64 = 2 << 10;

/// Where it is.
pub fn path(log_dir: &Path) -> PathBuf {
    log_dir.join("launcher.log")
}

/// Opens it for a new launcher; says how long it is.
///
/// # Errors
/// It cannot be created or opened.
pub fn open(path: &Path) -> io::Result<(File, u64)> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?);
    trim(&file, path);
    let length = file.metadata()?.len();
    Ok((file, length))
}

/// Empties the log that is open as `fd` when it has grown; what was in it is kept as the file before. Trouble with that is no
/// reason to stop.
pub fn trim(fd: impl AsFd, path: &Path) {
    let grown = fstat(&fd).is_ok_and(|stat| u64::try_from(stat.st_size).unwrap_or(0) > LARGEST);
    if grown && std::fs::copy(path, path.with_extension("log.1")).is_ok() {
        let _ = ftruncate(&fd, 0);
    }
}

/// What was written to it after `from`; the end of that when it is long.
pub fn tail(path: &Path, from: u64) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file =
            File::from(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Ok(Vec::new());
        }
        let start = from.max(file.metadata()?.len().saturating_sub(TAIL));
        file.seek(SeekFrom::Start(start))?;
        let mut text = Vec::new();
        file.take(TAIL).read_to_end(&mut text)?;
        Ok(text)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_long_log_is_moved_and_its_writers_go_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = path(dir.path());
        let (mut file, length) = open(&path).unwrap();
        assert_eq!(length, 0);
        file.write_all(&vec![b'x'; 1 << 20]).unwrap();
        file.write_all(b"\nlast").unwrap();
        trim(&file, &path);
        file.write_all(b"next\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "next\n");
        assert!(std::fs::read_to_string(dir.path().join("launcher.log.1")).unwrap().ends_with("last"));
        assert_eq!(open(&path).unwrap().1, 5);
    }

    #[test]
    fn the_tail_is_what_came_since() {
        let dir = tempfile::tempdir().unwrap();
        let path = path(dir.path());
        assert_eq!(tail(&path, 0), "");
        std::fs::write(&path, "old\nnew words\n").unwrap();
        assert_eq!(tail(&path, 4), "new words");
        assert_eq!(tail(&path, 400), "");
        std::fs::write(&path, "y".repeat(10_000)).unwrap();
        assert_eq!(tail(&path, 0).len(), 2 << 10);
    }
}
