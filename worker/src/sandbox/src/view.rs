//! A file system view of its own: a new root that holds what is given and nothing else.
//!
//! Landlock alone cannot take something away inside a place that is given, filters neither `chmod`, `chown`, `utime` nor what a
//! socket's path leads to, and has no `/tmp` that is not everybody's. So the process enters a mount namespace (and a user namespace,
//! where it may not do so otherwise), and builds a root from copies of the mounts it gets: all but what may be written are read-only,
//! what is hidden lies under an empty thing, and the old root is gone. Landlock is put on top: each of the two would do for the files.
//!
//! - Nothing is written on the machine but mount points below the temporary directory of the attempt.
//! - A directory on the way to something hidden cannot be renamed, so neither can what is hidden come out from under its cover nor
//!   its owner lose it.
//! - What is only read inside a place that is written is a mount of its own, and pinned in the same way.
//! - What is hidden and not there when the command starts is not covered. It holds nothing to read then, and a folder it could be made
//!   in is one where a command may change what its owner's shell runs anyway.
//! - Another name of a hidden file (a hard link) elsewhere in the folder is not known.
//! - The System V objects and message queues of others are left behind as well.

use crate::places::{Give, Layout, Place, hold};
use ouroboros_proto::agent::{ConfineStep, Unconfined};
use rustix::fs::{CWD, Mode, OFlags, mkdir, symlink};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, open_tree, unmount,
};
use rustix::process::{chdir, fchdir, getegid, geteuid, pivot_root};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

/// Where the covers lie; nothing is given of it.
const COVERS: &str = "/.cover";
/// The cover of a file. It can be seen, and not read.
pub const COVER_OF_FILE: &str = "/.cover/file";
/// Bytes of shared memory.
const SHARED_MEMORY: &str = "64m";
/// Bytes of everything else that is no place of its own: names and nothing else.
const ROOT: &str = "1m";
/// Flags of the mounts themselves (mount_setattr(2)).
const RECURSIVE: libc::c_uint = 0x8000;

/// Whether there is one now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The old root is gone.
    Entered,
    /// The kernel gives no namespaces; nothing has changed.
    None,
}

/// Enters a view of these places. Only the calling thread may be there.
///
/// # Errors
/// It began and did not come to its end. The process is of no use then.
pub fn enter(layout: &Layout) -> Result<View, Unconfined> {
    let namespaces = |errno: Errno| Unconfined::Failed { step: ConfineStep::Namespaces, errno: errno.raw_os_error() };
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let mighty = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN));
    let mut flags = UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
    if !mighty {
        flags |= UnshareFlags::NEWUSER;
    }
    if !is_known() {
        return Ok(View::None);
    }
    // SAFETY: no thread shares anything with this one, and no memory or descriptor table is unshared.
    if unsafe { rustix::thread::unshare_unsafe(flags) }.is_err() {
        return Ok(View::None);
    }
    if !mighty {
        map(user, group).map_err(|error| namespaces(errno_of(&error)))?;
    }
    build(layout).map_err(|errno| Unconfined::Failed { step: ConfineStep::View, errno: errno.raw_os_error() })?;
    Ok(View::Entered)
}

/// Whether the kernel has what this takes (Linux 5.12). Asked before anything is changed.
fn is_known() -> bool {
    // SAFETY: nothing is at this address, which the kernel looks at after the number of bytes that it refuses.
    let result = unsafe { libc::syscall(libc::SYS_mount_setattr, -1, c"".as_ptr(), 0, std::ptr::null::<u64>(), 0) };
    result != -1 || errno_of(&io::Error::last_os_error()) != Errno::NOSYS
}

/// Everybody stays who they are. Groups must be given up before an unprivileged map (user_namespaces(7)).
fn map(user: u32, group: u32) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn build(layout: &Layout) -> Result<(), Errno> {
    // What the machine removes later goes away here too; nothing of ours gets there.
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM)?;
    let trees = layout.places.iter().map(copy).collect::<Result<Vec<_>, _>>()?;
    let temporary = &hold(&layout.temporary)?;
    let temporaries = [("/tmp", copy_of(temporary, Give::Write)?), ("/var/tmp", copy_of(temporary, Give::Write)?)];
    let root = memory(ROOT, "0755")?;
    // The directory of the attempt is known to be there, and covered for a moment only.
    move_mount(&root, c"", CWD, &layout.scratch, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    fchdir(&root)?;
    pivot_root(c".", c".")?;
    unmount(c".", UnmountFlags::DETACH)?;
    chdir(c"/")?;

    mkdir(COVERS, Mode::from_raw_mode(0o755))?;
    rustix::fs::open(COVER_OF_FILE, OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    devices()?;
    for (path, tree) in &temporaries {
        put(tree, Path::new(path), true)?;
    }
    furnish(layout, trees)?;
    for (link, target) in &layout.links {
        if let Some(parent) = link.parent() {
            directories(parent);
        }
        let _ = symlink(target, link);
    }
    attributes(&open_tree(CWD, c"/", OpenTreeFlags::OPEN_TREE_CLOEXEC)?, MountAttrFlags::MOUNT_ATTR_RDONLY, false)
}

/// Attaches what is given and covers what is hidden, outer ones first, of both kinds.
fn furnish(layout: &Layout, trees: Vec<Option<OwnedFd>>) -> Result<(), Errno> {
    enum Step<'a> {
        Give(&'a Place, Option<OwnedFd>),
        Cover(usize, &'a Path, bool),
    }
    let given = layout.places.iter().zip(trees).map(|(place, tree)| (place.path.as_path(), Step::Give(place, tree)));
    let hidden = layout.hidden.iter().enumerate();
    let hidden = hidden.map(|(number, (path, directory))| (path.as_path(), Step::Cover(number, path, *directory)));
    let mut steps: Vec<_> = given.chain(hidden).collect();
    steps.sort_by_key(|(path, _)| path.components().count());
    let mut pinned = Vec::new();
    for (_, step) in steps {
        match step {
            Step::Give(_, None) => {}
            Step::Give(place, Some(tree)) => {
                pin(layout, &place.path, &mut pinned)?;
                make_room_in_covers(layout, &place.path);
                put(&tree, &place.path, place.directory)?;
            }
            Step::Cover(number, path, directory) => {
                pin(layout, path, &mut pinned)?;
                cover(path, directory, number)?;
            }
        }
    }
    Ok(())
}

/// A copy of a place's mounts; `None` when it went away.
fn copy(place: &Place) -> Result<Option<OwnedFd>, Errno> {
    match hold(&place.path).and_then(|at| copy_of(&at, place.give)) {
        Ok(tree) => Ok(Some(tree)),
        Err(Errno::NOENT | Errno::ACCESS) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn copy_of(place: &OwnedFd, give: Give) -> Result<OwnedFd, Errno> {
    let tree = duplicate(place)?;
    let mut set = MountAttrFlags::MOUNT_ATTR_NOSUID;
    if give != Give::Write {
        // A device is written all the same: only its name and modes are not.
        set |= MountAttrFlags::MOUNT_ATTR_RDONLY;
    }
    if give != Give::Device {
        set |= MountAttrFlags::MOUNT_ATTR_NODEV;
    }
    attributes(&tree, set, true)?;
    Ok(tree)
}

fn duplicate(place: &OwnedFd) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    open_tree(place, c"", flags | OpenTreeFlags::AT_RECURSIVE | OpenTreeFlags::AT_EMPTY_PATH)
}

fn attributes(tree: impl AsFd, set: MountAttrFlags, recursive: bool) -> Result<(), Errno> {
    /// `struct mount_attr` of mount_setattr(2).
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        namespace: u64,
    }
    let wanted = Attributes { set: u64::from(set.bits()), clear: 0, propagation: 0, namespace: 0 };
    let flags = libc::c_uint::try_from(libc::AT_EMPTY_PATH).unwrap_or(0) | if recursive { RECURSIVE } else { 0 };
    // SAFETY: an open descriptor, an empty C string, and a structure of the size given that lives over the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const wanted,
            size_of::<Attributes>(),
        )
    };
    if result == -1 { Err(errno_of(&io::Error::last_os_error())) } else { Ok(()) }
}

fn memory(size: &str, mode: &str) -> Result<OwnedFd, Errno> {
    let system = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(system.as_fd(), c"size", size)?;
    fsconfig_set_string(system.as_fd(), c"mode", mode)?;
    fsconfig_create(system.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(system.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Terminals of its own: those of the owner belong to the same user.
fn devices() -> Result<(), Errno> {
    directories(Path::new("/dev/pts"));
    directories(Path::new("/dev/shm"));
    let system = fsopen(c"devpts", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(system.as_fd(), c"ptmxmode", "0666")?;
    fsconfig_set_string(system.as_fd(), c"mode", "0620")?;
    fsconfig_create(system.as_fd())?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let terminals = fsmount(system.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)?;
    attach(&terminals, Path::new("/dev/pts"))?;
    attach(&memory(SHARED_MEMORY, "1777")?, Path::new("/dev/shm"))?;
    for (link, target) in [
        (c"/dev/ptmx", c"pts/ptmx"),
        (c"/dev/fd", c"/proc/self/fd"),
        (c"/dev/stdin", c"/proc/self/fd/0"),
        (c"/dev/stdout", c"/proc/self/fd/1"),
        (c"/dev/stderr", c"/proc/self/fd/2"),
    ] {
        symlink(target, link)?;
    }
    Ok(())
}

fn attach(tree: &OwnedFd, path: &Path) -> Result<(), Errno> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, c"", hold(path)?, c"", flags)
}

/// Attaches a tree; makes what it is attached to where that is ours to make.
fn put(tree: &OwnedFd, path: &Path, directory: bool) -> Result<(), Errno> {
    match attach(tree, path) {
        Err(Errno::NOENT) => {}
        other => return other,
    }
    if directory {
        directories(path);
    } else {
        if let Some(parent) = path.parent() {
            directories(parent);
        }
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::EXCL;
        rustix::fs::open(path, flags, Mode::RUSR)?;
    }
    attach(tree, path)
}

/// Makes a directory and those above it. What cannot be made is missed by whoever needs it.
fn directories(path: &Path) {
    let mut at = PathBuf::new();
    for part in path.components() {
        at.push(part);
        if !matches!(part, Component::RootDir) {
            let _ = mkdir(&at, Mode::from_raw_mode(0o755));
        }
    }
}

/// Mounts what lies in a written place, on the way to something that is hidden or only read, onto itself: the kernel renames no mount
/// point.
fn pin<'a>(layout: &Layout, hidden: &'a Path, pinned: &mut Vec<&'a Path>) -> Result<(), Errno> {
    let around = hidden.parent().and_then(|parent| layout.around(parent));
    let Some(place) = around.filter(|place| place.give == Give::Write) else { return Ok(()) };
    let mut way: Vec<&Path> = hidden.ancestors().skip(1).take_while(|path| *path != place.path).collect();
    way.reverse();
    for path in way {
        if pinned.contains(&path) {
            continue;
        }
        match hold(path).and_then(|at| duplicate(&at)) {
            Ok(tree) => attach(&tree, path)?,
            // It lies under a cover.
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(errno),
        }
        pinned.push(path);
    }
    Ok(())
}

/// Puts an empty thing over another one.
fn cover(hidden: &Path, directory: bool, number: usize) -> Result<(), Errno> {
    let source = if directory {
        let source = Path::new(COVERS).join(number.to_string());
        mkdir(&source, Mode::from_raw_mode(0o755))?;
        source
    } else {
        PathBuf::from(COVER_OF_FILE)
    };
    let tree = open_tree(CWD, &source, OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC)?;
    attributes(&tree, MountAttrFlags::MOUNT_ATTR_RDONLY, false)?;
    match attach(&tree, hidden) {
        // It went away, or lies under another cover.
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

/// A place below a cover is attached to a directory in what covers.
fn make_room_in_covers(layout: &Layout, path: &Path) {
    for (number, (hidden, directory)) in layout.hidden.iter().enumerate() {
        if *directory && let Ok(rest) = path.strip_prefix(hidden) {
            directories(&Path::new(COVERS).join(number.to_string()).join(rest));
        }
    }
}

fn errno_of(error: &io::Error) -> Errno {
    Errno::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EIO))
}
