//! From a path to the directory that holds its last name.

use super::error::PathError;
use super::fence::{Fence, FileId};
use super::{Folder, PLACE, Purpose, Root};
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, fstat, openat, openat2, readlinkat, statat};
use rustix::io::{Errno, dup};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

/// Links that are followed for one path, as the kernel does.
const LINKS: usize = 40;
/// How often an opening is tried that the kernel called off because names changed.
const TRIES: usize = 64;
/// Bytes of a path; the kernel's own bound.
const PATH_BYTES: usize = 4_095;
/// Directories between a place and its root that are held against the fence.
const LEVELS: usize = 4_096;

/// Where git keeps its own files; in a further working tree, a file that says where.
const VERSION_CONTROL: &str = ".git";

/// Directories above a listing whose rules about ignoring are read.
const RULE_LEVELS: usize = 256;

/// How directories are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The kernel resolves, and stays beneath the root.
    Kernel,
    /// Before Linux 5.6: name by name, and no links.
    Walk,
}

impl Way {
    pub(super) fn probe(root: &Root) -> Self {
        match openat2(&root.fd, ".", PLACE, Mode::empty(), ResolveFlags::BENEATH) {
            // Filters of system calls that do not know this one answer with EPERM.
            Err(Errno::NOSYS | Errno::PERM) => Self::Walk,
            Ok(_) | Err(_) => Self::Kernel,
        }
    }
}

/// A name in a directory that is open. The name need not exist; `missing` directories have to be made first.
#[derive(Debug)]
pub struct Place {
    pub(crate) parent: OwnedFd,
    pub(crate) missing: Vec<OsString>,
    pub(crate) name: OsString,
    /// The path to show and to record: relative to the main root, absolute in others.
    pub(crate) path: PathBuf,
}

impl Place {
    /// The path, for people and models.
    #[must_use]
    pub fn shown(&self) -> String {
        self.path.display().to_string()
    }
}

/// A directory that is open, to be walked.
#[derive(Debug)]
pub struct Directory {
    pub(crate) fd: OwnedFd,
    /// As for [`Place`]; empty for the main root itself.
    pub(crate) path: PathBuf,
    /// Directories from the root down to its parent, where rules about ignoring may stand.
    pub(crate) above: Vec<(OwnedFd, PathBuf)>,
}

impl Directory {
    /// The path, for people and models.
    #[must_use]
    pub fn shown(&self) -> String {
        if self.path.as_os_str().is_empty() { ".".to_owned() } else { self.path.display().to_string() }
    }
}

impl Folder {
    /// Resolves a path to a name in an open directory.
    ///
    /// # Errors
    /// See [`PathError`]; that the last name does not exist is none.
    pub fn locate(&self, text: &str, purpose: Purpose) -> Result<Place, PathError> {
        let (root, mut path) = self.root_of(text)?;
        if purpose == Purpose::Write {
            if text.ends_with('/') || text.ends_with("/.") {
                return Err(bad(text, "it ends as that of a directory"));
            }
            if !self.is_main(root) {
                return Err(PathError::ReadOnly(text.to_owned()));
            }
        }
        for _ in 0..LINKS {
            self.names_held_against_fence(root, &path, text)?;
            if purpose == Purpose::Write {
                not_version_control(&path, text)?;
            }
            let Some(name) = path.file_name().map(OsStr::to_owned) else {
                return Err(PathError::IsADirectory(text.to_owned()));
            };
            let parent = path.parent().unwrap_or(Path::new("")).to_owned();
            let (fd, missing) = match self.enter(root, &parent, text) {
                Err(PathError::NotFound(_)) if purpose == Purpose::Write => self.deepest(root, &parent, text)?,
                entered => (entered?, Vec::new()),
            };
            self.held_against_fence(root, fd.as_fd(), text)?;
            if missing.is_empty() {
                match readlinkat(&fd, &name, Vec::new()) {
                    Ok(target) => {
                        path =
                            self.through(root, &parent, PathBuf::from(OsString::from_vec(target.into_bytes())), text)?;
                        continue;
                    }
                    Err(Errno::INVAL | Errno::NOENT | Errno::ACCESS) => {}
                    Err(error) => return Err(PathError::io(text, error)),
                }
            }
            let mut shown = self.physical(root, fd.as_fd()).unwrap_or(parent);
            shown.extend(&missing);
            shown.push(&name);
            if purpose == Purpose::Write {
                not_version_control(&shown, text)?;
                self.held_against_guards(&shown)?;
            }
            return Ok(Place { parent: fd, missing, name, path: shown });
        }
        Err(PathError::Link(text.to_owned()))
    }

    /// Opens a directory to be walked.
    ///
    /// # Errors
    /// See [`PathError`].
    pub fn directory(&self, text: &str) -> Result<Directory, PathError> {
        let (root, path) = self.root_of(text)?;
        self.names_held_against_fence(root, &path, text)?;
        let place = self.enter(root, &path, text)?;
        self.held_against_fence(root, place.as_fd(), text)?;
        let fd = openat(&place, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| PathError::io(text, error))?;
        let shown = self.physical(root, place.as_fd()).unwrap_or(path);
        let base = self.base(root);
        let mut above = Vec::new();
        let inside = shown.strip_prefix(&base).unwrap_or(&shown);
        for ancestor in inside.ancestors().skip(1).take(RULE_LEVELS) {
            // A rule that cannot be read does not hold.
            if let Ok(fd) = self.enter(root, ancestor, text) {
                above.push((fd, base.join(ancestor)));
            }
        }
        above.reverse();
        Ok(Directory { fd, path: shown, above })
    }

    /// The root that a path belongs to, and the path from there.
    fn root_of(&self, text: &str) -> Result<(&Root, PathBuf), PathError> {
        if text.is_empty() {
            return Err(bad(text, "it is empty"));
        }
        if text.contains('\0') {
            return Err(bad(text, "it contains a zero byte"));
        }
        if text.len() > PATH_BYTES {
            return Err(bad(text, "it is too long"));
        }
        let path = Path::new(text);
        if path.is_relative() {
            return Ok((&self.main, plain(path)));
        }
        let roots = std::iter::once(&self.main).chain(&self.others);
        let inside = roots.flat_map(|root| root.paths.iter().map(move |base| (root, base)));
        inside
            .filter_map(|(root, base)| Some((root, base, path.strip_prefix(base).ok()?)))
            .max_by_key(|(_, base, _)| base.as_os_str().len())
            .map(|(root, _, rest)| (root, plain(rest)))
            .ok_or_else(|| PathError::Outside(text.to_owned()))
    }

    /// Where a link leads, from its root.
    fn through(&self, root: &Root, parent: &Path, target: PathBuf, text: &str) -> Result<PathBuf, PathError> {
        match self.way {
            Way::Walk => Err(PathError::Link(text.to_owned())),
            Way::Kernel if target.is_absolute() => root
                .paths
                .iter()
                .find_map(|base| target.strip_prefix(base).ok())
                .map(plain)
                .ok_or_else(|| PathError::Outside(text.to_owned())),
            Way::Kernel => Ok(plain(&parent.join(target))),
        }
    }

    /// Opens a directory beneath a root.
    fn enter(&self, root: &Root, path: &Path, text: &str) -> Result<OwnedFd, PathError> {
        let opened = match self.way {
            Way::Kernel => beneath(root, path),
            Way::Walk => step_by_step(root, path),
        };
        opened.map_err(|error| match error {
            Errno::NOENT => PathError::NotFound(text.to_owned()),
            Errno::NOTDIR => PathError::NotADirectory(text.to_owned()),
            Errno::XDEV => PathError::Outside(text.to_owned()),
            Errno::LOOP => PathError::Link(text.to_owned()),
            Errno::AGAIN => PathError::Busy(text.to_owned()),
            error => PathError::io(text, error),
        })
    }

    /// The deepest directory of `path` that exists, and the names that are missing below it.
    fn deepest(&self, root: &Root, path: &Path, text: &str) -> Result<(OwnedFd, Vec<OsString>), PathError> {
        let mut missing = Vec::new();
        let mut at = path;
        loop {
            // `..` of what does not exist means nothing.
            let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
                return Err(PathError::NotFound(text.to_owned()));
            };
            missing.push(name.to_owned());
            match self.enter(root, parent, text) {
                Ok(fd) => {
                    missing.reverse();
                    return Ok((fd, missing));
                }
                Err(PathError::NotFound(_)) => at = parent,
                Err(error) => return Err(error),
            }
        }
    }

    /// Refuses a directory that is fenced, lies in one that is, or is no longer beneath its root.
    fn held_against_fence(&self, root: &Root, fd: BorrowedFd<'_>, text: &str) -> Result<(), PathError> {
        if self.fence.is_empty() {
            return Ok(());
        }
        match self.fence.on_the_way_up(fd, Some(root.id)).map_err(|error| PathError::io(text, error))? {
            Met::Fence => Err(PathError::Fenced(text.to_owned())),
            Met::Goal => Ok(()),
            Met::Top => Err(PathError::Outside(text.to_owned())),
        }
    }

    /// Refuses a path on which a name is closed, whether or not there is anything of that name.
    fn names_held_against_fence(&self, root: &Root, path: &Path, text: &str) -> Result<(), PathError> {
        if self.fence.is_empty() {
            return Ok(());
        }
        let mut parent = PathBuf::new();
        for part in path.components() {
            // What cannot be entered is told where it is used.
            let Ok(fd) = self.enter(root, &parent, text) else { return Ok(()) };
            if let Component::Normal(name) = part
                && self.is_closed(fd.as_fd(), name).map_err(|error| PathError::io(text, error))?
            {
                return Err(PathError::Fenced(text.to_owned()));
            }
            parent.push(part);
        }
        Ok(())
    }

    /// Whether a name is closed in a directory that is open.
    pub(super) fn is_closed(&self, directory: BorrowedFd<'_>, name: &OsStr) -> Result<bool, Errno> {
        Ok(!self.fence.is_empty() && self.fence.closes(FileId::of(&fstat(directory)?), name))
    }

    /// The path of an open directory without links, for showing and recording only.
    fn physical(&self, root: &Root, fd: BorrowedFd<'_>) -> Option<PathBuf> {
        use std::os::fd::AsRawFd as _;
        let link = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).ok()?;
        let [real, _] = &root.paths;
        Some(self.base(root).join(link.strip_prefix(real).ok()?))
    }

    /// What paths in a root begin with when they are shown.
    fn base(&self, root: &Root) -> PathBuf {
        let [real, _] = &root.paths;
        if self.is_main(root) { PathBuf::new() } else { real.clone() }
    }
}

/// What is met first on the way from a directory up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Met {
    /// A fenced place.
    Fence,
    /// The directory that was looked for.
    Goal,
    /// The top of all directories, or so many that it is not looked for further.
    Top,
}

impl Fence {
    /// Goes from a directory up, to the directory `goal` where there is one, else to the top.
    pub(super) fn on_the_way_up(&self, from: BorrowedFd<'_>, goal: Option<FileId>) -> Result<Met, Errno> {
        let mut at = dup(from)?;
        let mut id = FileId::of(&fstat(&at)?);
        for _ in 0..LEVELS {
            if self.holds(id) {
                return Ok(Met::Fence);
            }
            if Some(id) == goal {
                return Ok(Met::Goal);
            }
            let up = openat(&at, "..", PLACE, Mode::empty())?;
            let above = FileId::of(&fstat(&up)?);
            if above == id {
                break;
            }
            let has_it = |name| statat(&up, name, AtFlags::empty()).is_ok_and(|stat| FileId::of(&stat) == id);
            if self.names_in(above).any(has_it) {
                return Ok(Met::Fence);
            }
            (at, id) = (up, above);
        }
        Ok(Met::Top)
    }
}

fn bad(text: &str, why: &'static str) -> PathError {
    PathError::Bad { path: text.chars().take(200).collect(), why }
}

fn not_version_control(path: &Path, text: &str) -> Result<(), PathError> {
    match path.components().any(|part| part.as_os_str() == VERSION_CONTROL) {
        true => Err(PathError::VersionControl(text.to_owned())),
        false => Ok(()),
    }
}

/// The path without `.`; `..` stays, since what it means depends on links before it.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| !matches!(part, Component::CurDir)).collect()
}

fn beneath(root: &Root, path: &Path) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..TRIES {
        match openat2(&root.fd, path, PLACE, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}

/// Opens every directory on the way without following links; `..` goes back to the one that was opened before.
fn step_by_step(root: &Root, path: &Path) -> Result<OwnedFd, Errno> {
    let mut opened = vec![dup(&root.fd)?];
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                opened.pop();
                if opened.is_empty() {
                    return Err(Errno::XDEV);
                }
            }
            Component::Normal(name) => {
                let at = opened.last().ok_or(Errno::XDEV)?;
                let next = match openat(at, name, PLACE | OFlags::NOFOLLOW, Mode::empty()) {
                    Err(Errno::NOTDIR) if readlinkat(at, name, Vec::new()).is_ok() => return Err(Errno::LOOP),
                    next => next?,
                };
                opened.push(next);
            }
            Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        }
    }
    opened.pop().ok_or(Errno::XDEV)
}
