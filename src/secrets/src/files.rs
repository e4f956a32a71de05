//! Reading small files whose owner and mode matter.

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use zeroize::Zeroizing;

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// There is none.
    #[error("there is no such file")]
    Missing,
    /// It is a symbolic link.
    #[error("it is a symbolic link")]
    Link,
    /// It is a directory, a pipe or a device.
    #[error("it is not a regular file")]
    NotAFile,
    /// Somebody else owns it.
    #[error("it belongs to user {0}")]
    Foreign(u32),
    /// Others may read or write it.
    #[error("others have access to it (mode {0:03o}, allowed is 600)")]
    Exposed(u32),
    /// It is larger than any such file.
    #[error("it is larger than {0} bytes")]
    TooLarge(usize),
    /// The system refuses.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Reads a file that must be our own: regular, no link, ours, and closed to others.
pub fn read_private(path: &Path, max: usize) -> Result<Zeroizing<Vec<u8>>, Unread> {
    let file = open_regular(path, OFlags::NOFOLLOW)?;
    let stat = fstat(&file).map_err(io::Error::from)?;
    if stat.st_uid != geteuid().as_raw() {
        return Err(Unread::Foreign(stat.st_uid));
    }
    let mode = stat.st_mode & 0o777;
    if mode & 0o077 != 0 {
        return Err(Unread::Exposed(mode));
    }
    bounded(file, max)
}

/// Reads a file that somebody else provides for us. Links are followed: mounted secrets are often links into a directory that is
/// replaced as a whole.
pub fn read_provided(path: &Path, max: usize) -> Result<Zeroizing<Vec<u8>>, Unread> {
    bounded(open_regular(path, OFlags::empty())?, max)
}

fn open_regular(path: &Path, more: OFlags) -> Result<File, Unread> {
    // Without NONBLOCK, a pipe in the file's place would hold us up.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | more;
    let file = match open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Err(Unread::Missing),
        Err(Errno::LOOP) => return Err(Unread::Link),
        Err(Errno::NXIO) => return Err(Unread::NotAFile),
        Err(error) => return Err(Unread::Io(error.into())),
    };
    let stat = fstat(&file).map_err(io::Error::from)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile { Ok(file) } else { Err(Unread::NotAFile) }
}

fn bounded(file: File, max: usize) -> Result<Zeroizing<Vec<u8>>, Unread> {
    let bound = max.saturating_add(1);
    // All room at once, so that growing leaves no unwiped copy behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(bound));
    file.take(u64::try_from(bound).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
    if bytes.len() > max { Err(Unread::TooLarge(max)) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn only_a_file_of_our_own_that_is_closed_to_others_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        assert!(matches!(read_private(&path, 9), Err(Unread::Missing)));
        write(&path, "text").unwrap();
        set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(read_private(&path, 9), Err(Unread::Exposed(0o640))));
        set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read_private(&path, 4).unwrap().as_slice(), b"text");
        assert!(matches!(read_private(&path, 3), Err(Unread::TooLarge(3))));
        let link = dir.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(matches!(read_private(&link, 9), Err(Unread::Link)));
        assert_eq!(read_provided(&link, 9).unwrap().as_slice(), b"text");
        assert!(matches!(read_private(dir.path(), 9), Err(Unread::NotAFile)));
    }

    #[test]
    fn a_pipe_holds_nobody_up() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(matches!(read_provided(&path, 9), Err(Unread::NotAFile)));
    }
}
