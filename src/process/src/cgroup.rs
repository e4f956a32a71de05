//! Control groups (version 2), used as well wherever the host lets us make one.
//!
//! Reference: the kernel's admin-guide/cgroup-v2. A group of ours is named by installation, generation and attempt, so that what is in
//! it is proven ours after any crash.

use crate::deadline::{Deadline, timespec};
use ouroboros_proto::kind::{AttemptId, Generation, InstallationId};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The start of every name of ours.
const PREFIX: &str = "ouroboros";

/// Why there are no groups for us.
#[derive(Debug, thiserror::Error)]
pub enum Missing {
    /// There is no version 2 hierarchy, or we are in none of its groups.
    #[error("no cgroup v2 hierarchy is mounted")]
    NoHierarchy,
    /// Our own group may not be divided.
    #[error("the host does not let us make a group under {}", path.display())]
    NotDelegated {
        /// Our own group.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// Groups cannot be killed as a whole (before Linux 5.14).
    #[error("this kernel has no cgroup.kill")]
    NoKill,
    /// `/proc` cannot be read.
    #[error("the hierarchy cannot be examined")]
    Unreadable(#[source] io::Error),
}

/// The group we are in, under which we may make others.
#[derive(Debug, Clone)]
pub struct Base {
    path: PathBuf,
    memory: bool,
}

/// A group of ours. Dropping it changes nothing.
#[derive(Debug)]
pub struct Group {
    path: PathBuf,
}

impl Base {
    /// Looks for our group and tries to make one below it.
    ///
    /// # Errors
    /// [`Missing`].
    pub fn detect() -> Result<Self, Missing> {
        let path = own_group().map_err(Missing::Unreadable)?.ok_or(Missing::NoHierarchy)?;
        Self::at(path)
    }

    /// As [`Base::detect`], below a given group.
    ///
    /// # Errors
    /// [`Missing`].
    pub fn at(path: PathBuf) -> Result<Self, Missing> {
        let trial = path.join(format!("{PREFIX}-probe-{}", std::process::id()));
        fs::create_dir(&trial).map_err(|source| Missing::NotDelegated { path: path.clone(), source })?;
        let kills = trial.join("cgroup.kill").exists();
        let memory = trial.join("memory.events").exists();
        let writable = rustix::fs::access(path.join("cgroup.procs"), rustix::fs::Access::WRITE_OK);
        let removed = fs::remove_dir(&trial);
        writable
            .map_err(io::Error::from)
            .and(removed)
            .map_err(|source| Missing::NotDelegated { path: path.clone(), source })?;
        if kills { Ok(Self { path, memory }) } else { Err(Missing::NoKill) }
    }

    /// Whether groups made here count memory events.
    #[must_use]
    pub fn counts_memory(&self) -> bool {
        self.memory
    }

    /// Makes the group of an attempt, or opens it if it is there.
    ///
    /// # Errors
    /// When the host refuses.
    pub fn create(&self, owner: InstallationId, generation: Generation, attempt: AttemptId) -> io::Result<Group> {
        let path = self.path.join(format!("{PREFIX}-{owner}-{generation}-{attempt}"));
        match fs::create_dir(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        Ok(Group { path })
    }

    /// The groups an installation left in generations before `current`.
    ///
    /// # Errors
    /// When the hierarchy cannot be read.
    pub fn leftovers(&self, owner: InstallationId, current: Generation) -> io::Result<Vec<Group>> {
        let start = format!("{PREFIX}-{owner}-");
        let mut groups = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name();
            let generation =
                name.to_str().and_then(|name| name.strip_prefix(&start)?.split_once('-')?.0.parse::<Generation>().ok());
            if generation.is_some_and(|generation| generation < current) {
                groups.push(Group { path: entry.path() });
            }
        }
        Ok(groups)
    }
}

impl Group {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves a process into it; its future children start there. Its threads move with it.
    ///
    /// # Errors
    /// When the host refuses, or the process is gone.
    pub fn add(&self, pid: i32) -> io::Result<()> {
        fs::write(self.path.join("cgroup.procs"), pid.to_string())
    }

    /// Sends SIGKILL to everything in it, also to what is being forked.
    ///
    /// # Errors
    /// When the host refuses.
    pub fn kill(&self) -> io::Result<()> {
        fs::write(self.path.join("cgroup.kill"), "1")
    }

    /// Whether nothing lives in it; zombies do not count.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.counter("cgroup.events", "populated")? == Some(0))
    }

    /// Waits until nothing lives in it, at most `bound`; says whether that is so.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn wait_empty(&self, bound: Duration) -> io::Result<bool> {
        let deadline = Deadline::after(bound);
        let events =
            rustix::fs::open(self.path.join("cgroup.events"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        loop {
            // A change after this descriptor's last look wakes the poll (PRI); the pause bounds a wake-up that was missed.
            if self.is_empty()? {
                return Ok(true);
            }
            if deadline.passed() {
                return Ok(false);
            }
            let mut fds = [PollFd::new(&events, PollFlags::PRI)];
            let pause = timespec(deadline.left().min(Duration::from_millis(20)));
            match poll(&mut fds, Some(&pause)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let _ = rustix::io::pread(&events, &mut [0_u8; 256], 0);
        }
    }

    /// How many of its processes the kernel's out-of-memory killer ended; `None` without a memory controller.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn oom_kills(&self) -> io::Result<Option<u64>> {
        self.counter("memory.events", "oom_kill")
    }

    /// Removes it. Fails with `EBUSY` while anything is in it.
    ///
    /// # Errors
    /// When the host refuses.
    pub fn remove(&self) -> io::Result<()> {
        match fs::remove_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn counter(&self, file: &str, key: &str) -> io::Result<Option<u64>> {
        match fs::read_to_string(self.path.join(file)) {
            Ok(text) => Ok(text
                .lines()
                .filter_map(|line| line.split_once(' '))
                .find(|(name, _)| *name == key)
                .and_then(|(_, count)| count.trim().parse().ok())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The directory of the version 2 group we are in.
fn own_group() -> io::Result<Option<PathBuf>> {
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let Some(inside) = groups.lines().find_map(|line| line.strip_prefix("0::")) else { return Ok(None) };
    Ok(mounts.lines().find_map(|line| locate(line, inside)))
}

/// Where a group is below the mount that a line of `/proc/self/mountinfo` describes (proc_pid_mountinfo(5)).
fn locate(line: &str, group: &str) -> Option<PathBuf> {
    let (before, after) = line.split_once(" - ")?;
    if after.split(' ').next() != Some("cgroup2") {
        return None;
    }
    let mut fields = before.split(' ').skip(3);
    let (root, mount) = (fields.next()?, fields.next()?);
    let below = Path::new(group).strip_prefix(root).ok()?;
    Some(Path::new(mount).join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_below_its_mount() {
        let line = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";
        assert_eq!(locate(line, "/user.slice/a").unwrap(), Path::new("/sys/fs/cgroup/unified/user.slice/a"));
        assert_eq!(locate(line, "/").unwrap(), Path::new("/sys/fs/cgroup/unified"));
        let inner = "41 31 0:38 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup2 rw";
        assert_eq!(locate(inner, "/docker/x/y").unwrap(), Path::new("/sys/fs/cgroup/y"));
        assert!(locate(inner, "/elsewhere").is_none());
        assert!(locate("32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu", "/").is_none());
    }
}
