//! One owner of a directory at a time. The lock is the truth; the number in the file only helps people.

use crate::deadline::Deadline;
use crate::pidfd::PidFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// A held advisory lock (flock(2)). Dropping it, or the end of the process in any way, releases it. The file stays.
#[derive(Debug)]
pub struct InstanceLock {
    _file: File,
}

/// What trying to lock gave.
#[derive(Debug)]
pub enum Acquired {
    /// It is ours.
    Held(InstanceLock),
    /// Somebody else has it.
    Busy {
        /// The number the holder wrote into the file, in the holder's PID namespace.
        pid: Option<i32>,
    },
    /// The file system has no locks.
    Unsupported,
}

impl InstanceLock {
    /// Tries once. Creates the file, readable by its owner only, when it is not there; never follows a symbolic link.
    ///
    /// # Errors
    /// When the file can be neither opened nor created.
    pub fn acquire(path: &Path) -> io::Result<Acquired> {
        loop {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let mut file = File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?);
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(Acquired::Busy { pid: holder(&mut file) }),
                Err(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL) => return Ok(Acquired::Unsupported),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            // A lock on a file that was removed or replaced meanwhile excludes nobody.
            if !is_at(&file, path)? {
                continue;
            }
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())?;
            return Ok(Acquired::Held(Self { _file: file }));
        }
    }

    /// Tries until the lock is ours, or `bound` has passed; then says who has it.
    ///
    /// # Errors
    /// As [`InstanceLock::acquire`].
    pub fn wait(path: &Path, bound: Duration) -> io::Result<Acquired> {
        let deadline = Deadline::after(bound);
        loop {
            let found = Self::acquire(path)?;
            let Acquired::Busy { pid } = found else { return Ok(found) };
            if deadline.passed() {
                return Ok(found);
            }
            // Its death is an event; a release by a living holder is not, so look again now and then.
            let pause = deadline.left().min(Duration::from_millis(20));
            match pid.map(PidFd::open) {
                Some(Ok(Some(holder))) if !holder.is_dead() => {
                    let _ = holder.wait_dead(pause);
                }
                _ => std::thread::sleep(pause),
            }
        }
    }
}

/// A handle on the process that holds the lock on `path`, as the kernel lists it (proc_locks(5)): unlike the number in the file this
/// cannot be forged. `None` when nobody holds it, or a process outside our PID namespace does.
///
/// # Errors
/// When the kernel's list cannot be read.
pub fn held_by(path: &Path) -> io::Result<Option<(i32, PidFd)>> {
    let meta = match std::fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let (major, minor) = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
    let file = format!("{major:02x}:{minor:02x}:{}", meta.ino());
    let holder = |locks: &str| -> Option<i32> {
        let mut fields = locks.lines().map(|line| line.split_ascii_whitespace().skip(1));
        fields.find_map(|mut fields| {
            let kind = fields.next()?;
            let pid: i32 = fields.nth(2)?.parse().ok()?;
            (kind == "FLOCK" && fields.next()? == file && pid > 0).then_some(pid)
        })
    };
    let Some(pid) = holder(&std::fs::read_to_string("/proc/locks")?) else { return Ok(None) };
    let Some(pidfd) = PidFd::open(pid)? else { return Ok(None) };
    // Only when it still holds the lock does the handle mean its holder.
    Ok((holder(&std::fs::read_to_string("/proc/locks")?) == Some(pid)).then_some((pid, pidfd)))
}

fn holder(file: &mut File) -> Option<i32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok().filter(|pid| *pid > 0)
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match std::fs::symlink_metadata(path) {
        Ok(there) => Ok(there.dev() == ours.dev() && there.ino() == ours.ino()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_holds_it_and_a_number_alone_holds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        std::fs::write(&path, "1\n").unwrap();
        let Acquired::Held(first) = InstanceLock::acquire(&path).unwrap() else { panic!("a number is no lock") };
        let own = i32::try_from(std::process::id()).unwrap();
        let Acquired::Busy { pid } = InstanceLock::wait(&path, Duration::from_millis(30)).unwrap() else {
            panic!("held twice")
        };
        assert_eq!(pid, Some(own));
        assert_eq!(held_by(&path).unwrap().map(|(pid, _)| pid), Some(own));
        drop(first);
        assert!(held_by(&path).unwrap().is_none());
        assert!(matches!(InstanceLock::acquire(&path).unwrap(), Acquired::Held(_)));
    }

    #[test]
    fn a_waiter_gets_a_lock_that_is_released_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let Acquired::Held(first) = InstanceLock::acquire(&path).unwrap() else { panic!("not held") };
        let waiter = {
            let path = path.clone();
            std::thread::spawn(move || InstanceLock::wait(&path, Duration::from_secs(30)).unwrap())
        };
        drop(first);
        assert!(matches!(waiter.join().unwrap(), Acquired::Held(_)));
    }

    #[test]
    fn a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &path).unwrap();
        assert!(InstanceLock::acquire(&path).is_err());
        assert!(!dir.path().join("elsewhere").exists());
    }
}
