//! What was delivered, in a file: whole or not at all, also when the machine stops in the middle of it.

use crate::cli::{Context, Failure, logs};
use ouroboros_process::durable;
use ouroboros_proto::api::TaskView;
use ouroboros_proto::kind::Stream;
use rustix::fs::{Access, access};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// Says so before anything is spent when the file cannot be written.
pub fn check(file: &Path) -> Result<(), Failure> {
    let problem = if file.file_name().is_none() || file.is_dir() {
        Some(io::Error::from(io::ErrorKind::IsADirectory))
    } else {
        access(directory(file), Access::WRITE_OK | Access::EXEC_OK).err().map(io::Error::from)
    };
    problem.map_or(Ok(()), |error| {
        Err(Failure::io(format!("{} cannot be written; nothing was submitted", file.display()), &error))
    })
}

/// Writes what the task delivered there. It is durable when this returns; before, the file is what it was.
pub fn write(context: &Context, task: &TaskView, file: &Path) -> Result<(), Failure> {
    let mut delivered = Vec::new();
    logs::copy(context, &format!("/api/tasks/{}", task.id), Stream::Stdout, None, &mut delivered)?;
    replace(file, &delivered).map_err(|error| {
        let number = task.number;
        Failure::io(format!("{} cannot be written; task {number} has delivered all the same", file.display()), &error)
            .remedy(format!("`ouroboros logs {number}` prints what it delivered."))
    })
}

fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    // What is no ordinary file, such as /dev/stdout, is written and not replaced.
    if fs::metadata(file).is_ok_and(|meta| !meta.is_file()) {
        return File::options().write(true).open(file)?.write_all(bytes);
    }
    // The file that a link leads to, not the link.
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let before = fs::metadata(&file).ok().map(|meta| meta.permissions());
    durable::replace(&file, bytes)?;
    // A new one is its owner's alone.
    before.map_or(Ok(()), |mode| fs::set_permissions(&file, mode))
}

fn directory(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::{check, replace};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;

    #[test]
    fn a_file_is_replaced_whole_with_its_mode_and_through_links() {
        let home = tempfile::tempdir().unwrap();
        let (file, link) = (home.path().join("a"), home.path().join("l"));
        replace(&file, b"one").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("a", &link).unwrap();
        replace(&link, b"two").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert!(link.is_symlink());
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2, "nothing is left beside it");
        replace(Path::new("/dev/null"), b"x").unwrap();
    }

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let home = tempfile::tempdir().unwrap();
        assert!(check(&home.path().join("new")).is_ok() && check(Path::new("new")).is_ok());
        assert!(check(home.path()).is_err() && check(&home.path().join("no/where")).is_err());
        assert!(replace(&home.path().join("no/where"), b"x").is_err());
    }
}
