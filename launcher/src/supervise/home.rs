//! The data directory and its lock.

use super::refusal::Refusal;
use ouroboros_process::lock::{Acquired, InstanceLock};
use ouroboros_proto::kind::ExitCode;
use ouroboros_settings::Paths;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

const ELSEWHERE: &str = "choose another place with OUROBOROS_HOME";

/// Who has the data directory.
#[derive(Debug)]
pub enum Claim {
    /// We do, for as long as this is held.
    Ours(InstanceLock),
    /// Another launcher that lives.
    Taken {
        /// Its process number, as far as known.
        pid: Option<i32>,
    },
}

/// Makes the data directory ours alone (0700). Says so when it had to close one that was open to others.
///
/// # Errors
/// It cannot be created, is no directory, or belongs to somebody else.
pub fn prepare(paths: &Paths) -> Result<Option<String>, Refusal> {
    let dir = paths.data_dir();
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| refused("created", dir, &error))?;
    let found = fs::metadata(dir).map_err(|error| refused("examined", dir, &error))?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(Refusal::new(
            ExitCode::NoPermission,
            format!("the data directory {} belongs to user {}; nothing was started", dir.display(), found.uid()),
            format!("Run as that user, change its owner, or {ELSEWHERE}."),
        ));
    }
    if found.mode() & 0o077 == 0 {
        return Ok(None);
    }
    fs::set_permissions(dir, Permissions::from_mode(0o700))
        .map_err(|error| refused("closed to others", dir, &error))?;
    Ok(Some(format!("{} was open to other users; it is closed to them now", dir.display())))
}

/// Takes the lock of the data directory, if nobody has it.
///
/// # Errors
/// The file cannot be created, or the file system has no locks.
pub fn claim(paths: &Paths) -> Result<Claim, Refusal> {
    let path = paths.launcher_lock();
    match InstanceLock::acquire(&path) {
        Ok(Acquired::Held(lock)) => Ok(Claim::Ours(lock)),
        Ok(Acquired::Busy { pid }) => Ok(Claim::Taken { pid }),
        Ok(Acquired::Unsupported) => Err(Refusal::new(
            ExitCode::Unavailable,
            format!(
                "the file system of {} has no locks, so two launchers could not be told apart; nothing was started",
                paths.data_dir().display()
            ),
            format!("Keep the data directory on a local file system: {ELSEWHERE}."),
        )),
        Err(error) => Err(refused("created", &path, &error)),
    }
}

fn refused(what: &str, path: &Path, error: &io::Error) -> Refusal {
    let code = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ExitCode::NoPermission,
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::AlreadyExists
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::InvalidFilename
        | io::ErrorKind::IsADirectory => ExitCode::CantCreate,
        _ => ExitCode::Io,
    };
    Refusal::new(
        code,
        format!("{} cannot be {what}: {error}; nothing was started", path.display()),
        format!("Check its permissions and the free space, or {ELSEWHERE}."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(home: &Path) -> Paths {
        let home = home.as_os_str().to_owned();
        Paths::resolve(|name| (name == "OUROBOROS_HOME").then(|| home.clone()), None, 0).unwrap()
    }

    #[test]
    fn a_new_directory_is_private_and_an_open_one_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let paths = paths(&dir.path().join("a/b"));
        assert_eq!(prepare(&paths), Ok(None));
        assert_eq!(fs::metadata(paths.data_dir()).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(paths.data_dir(), Permissions::from_mode(0o755)).unwrap();
        assert!(prepare(&paths).unwrap().is_some());
        assert_eq!(fs::metadata(paths.data_dir()).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_file_in_its_place_is_kept_and_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "mine").unwrap();
        for home in [file.clone(), file.join("below")] {
            let refusal = prepare(&paths(&home)).unwrap_err();
            assert_eq!(refusal.code, ExitCode::CantCreate, "{refusal:?}");
            assert!(refusal.message.contains(home.to_str().unwrap()) && refusal.remedy.contains("OUROBOROS_HOME"));
        }
        assert_eq!(fs::read_to_string(file).unwrap(), "mine");
    }

    #[test]
    fn the_directory_of_somebody_else_is_left_alone() {
        if !rustix::process::geteuid().is_root() {
            let refusal = prepare(&paths(Path::new("/"))).unwrap_err();
            assert_eq!(refusal.code, ExitCode::NoPermission);
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(dir.path(), Some(65_534), None).unwrap();
        let refusal = prepare(&paths(dir.path())).unwrap_err();
        assert_eq!(refusal.code, ExitCode::NoPermission);
        assert!(refusal.message.contains("65534"));
    }

    #[test]
    fn the_second_claim_names_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let paths = paths(dir.path());
        let _lock = claim(&paths).unwrap();
        let Claim::Taken { pid } = claim(&paths).unwrap() else { panic!("claimed twice") };
        assert_eq!(pid, i32::try_from(std::process::id()).ok());
    }
}
