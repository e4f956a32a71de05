//! Which places a command gets, as data, and how they are found on this machine.
//!
//! Everything else is absent: other homes, `/root`, `/run`, `/var`, `/tmp` of others, and the data directory. Of the owner's home only
//! programs are given, entry by entry, so that a file with a token beside them is not.
//!
//! Commands of one attempt follow each other, so what one leaves must not widen what the next is given: a link below a place that is
//! written is not followed out of it, and what was found is opened without following links.

use crate::confinement::Confinement;
use ouroboros_proto::agent::{ConfineStep, Profile, Unconfined};
use rustix::fs::{Access, CWD, FileType, Mode, OFlags, ResolveFlags, access, mkdir, open, openat2, stat};
use rustix::io::Errno;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// What the system is made of. A link among them (`/bin`) stays one.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/nix/var/nix/profiles",
    "/gnu/store",
    "/run/current-system",
    "/home/linuxbrew/.linuxbrew",
];

/// What the kernel tells. Only what runtimes size themselves by is given of `/sys`.
const KERNEL: &[&str] = &["/proc", "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm"];

/// Devices that hold nothing of anybody.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Programs in a home.
const TOOLCHAINS: &[&str] = &[
    ".asdf",
    ".bun/bin",
    ".cabal/bin",
    ".cargo/bin",
    ".cargo/config.toml",
    ".cargo/git",
    ".cargo/registry",
    ".deno/bin",
    ".dotnet",
    ".elan",
    ".fnm",
    ".ghcup",
    ".goenv",
    ".juliaup",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/mise/installs",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
    ".nodenv",
    ".nvm",
    ".opam",
    ".pixi",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman",
    ".volta",
    "anaconda3",
    "go/bin",
    "go/pkg",
    "miniconda3",
    "miniforge3",
];

/// Secrets in what the system is made of. They are closed where the modes leave them open to us, as to the administrator.
const SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/security/opasswd",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/ssh/ssh_host_dsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/NetworkManager/system-connections",
    "/etc/wireguard",
    "/etc/krb5.keytab",
    "/etc/docker/key.json",
];

/// What may be done in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Give {
    /// Read and execute.
    Execute,
    /// Read only: what the kernel tells.
    Read,
    /// Read, execute and change.
    Write,
    /// Read, write and control.
    Device,
}

/// One place that is given. It is there, and its path holds no link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Where, on the machine and in a view.
    pub path: PathBuf,
    /// What may be done there.
    pub give: Give,
    /// Whether it is a directory.
    pub directory: bool,
}

/// All places of one command.
#[derive(Debug, Default)]
pub struct Layout {
    /// What is given, outer places first.
    pub places: Vec<Place>,
    /// What is hidden in them, with whether it is a directory; outer places first.
    pub hidden: Vec<(PathBuf, bool)>,
    /// Links that lead to what is given: path and target.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// The directory of temporary files.
    pub temporary: PathBuf,
    /// The private directory.
    pub scratch: PathBuf,
    /// Where commands write, whose links lead nowhere else.
    written: Vec<PathBuf>,
}

/// Finds them, and makes the directories below `scratch`.
///
/// # Errors
/// The folder or the scratch directory is not there, or the folder is hidden.
pub fn find(wanted: &Confinement) -> Result<Layout, Unconfined> {
    let failed = |errno: i32| Unconfined::Failed { step: ConfineStep::Places, errno };
    let found = |path: &Path| real(path).map_err(|errno| failed(errno.raw_os_error()));
    let scratch = found(&wanted.scratch)?;
    let folder = found(&wanted.folder)?;
    if folder.parent().is_none() || scratch.parent().is_none() {
        // Everything is no place of its own.
        return Err(failed(Errno::INVAL.raw_os_error()));
    }
    for name in ["home", "tmp"] {
        match mkdir(scratch.join(name), Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(errno.raw_os_error())),
        }
    }
    let temporary = scratch.join("tmp");
    hold(&temporary).map_err(|errno| failed(errno.raw_os_error()))?;
    let mut written = vec![scratch.clone(), folder.clone()];
    written.extend(wanted.writable.iter().filter_map(|path| real(path).ok()));
    let mut layout = Layout { temporary, scratch: scratch.clone(), written, ..Layout::default() };
    let all = hidden(wanted);
    let in_scratch = folder.starts_with(&scratch);
    if !in_scratch && all.iter().any(|(path, _)| folder.starts_with(path)) {
        return Err(Unconfined::Hidden);
    }
    let closed = |path: &Path| all.iter().any(|(hidden, _)| path.starts_with(hidden));

    for path in SYSTEM {
        layout.system(Path::new(path));
    }
    for path in KERNEL {
        layout.add(Path::new(path), Give::Read);
    }
    for path in DEVICES {
        layout.add(Path::new(path), Give::Device);
    }
    if wanted.network {
        // Often a link to where the resolver of the machine keeps it.
        layout.real("/etc/resolv.conf".as_ref(), Give::Read, &closed);
    }
    for entry in wanted.home.iter().flat_map(|home| TOOLCHAINS.iter().map(move |entry| home.join(entry))) {
        layout.real(&entry, Give::Execute, &closed);
    }
    for path in &wanted.readable {
        layout.real(path, Give::Execute, &closed);
    }
    for path in &wanted.writable {
        layout.real(path, Give::Write, &closed);
    }
    let readonly: Vec<PathBuf> = wanted.readonly.iter().filter_map(|path| real(path).ok()).collect();
    let reads = wanted.profile == Profile::Readonly || readonly.iter().any(|path| folder.starts_with(path));
    // A folder in the scratch directory comes with it.
    if !in_scratch {
        layout.real(&wanted.folder, if reads { Give::Execute } else { Give::Write }, &closed);
    }
    for path in readonly.iter().filter(|path| **path != folder && path.starts_with(&folder) && !closed(path)) {
        layout.add(path, Give::Execute);
    }
    layout.real(&wanted.scratch, Give::Write, &|_| false);
    layout.arrange(all);
    Ok(layout)
}

/// Opens a path that holds no link: one that was put there since it was looked at leads nowhere.
pub fn hold(path: &Path) -> Result<OwnedFd, Errno> {
    openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// A path without links. The kernel tells in three calls, however deep it is.
fn real(path: &Path) -> Result<PathBuf, Errno> {
    let place = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    std::fs::read_link(format!("/proc/self/fd/{}", place.as_raw_fd()))
        .or_else(|_| path.canonicalize())
        .map_err(|error| Errno::from_raw_os_error(error.raw_os_error().unwrap_or(0)))
}

/// What is hidden and there; what is not there cannot be read.
fn hidden(wanted: &Confinement) -> Vec<(PathBuf, bool)> {
    let ours = wanted.hidden.iter().filter_map(|path| real(path).ok());
    let systems = SECRETS.iter().filter(|path| access(**path, Access::READ_OK).is_ok()).map(PathBuf::from);
    let kind = |path: PathBuf| {
        let directory = path.is_dir();
        (path, directory)
    };
    ours.chain(systems).map(kind).collect()
}

impl Layout {
    /// A place of the system by its own name.
    fn system(&mut self, path: &Path) {
        match path.read_link() {
            Ok(target) => {
                // Most lead to what is given anyway.
                if let Ok(real) = real(path)
                    && !SYSTEM.iter().any(|given| real.starts_with(given))
                {
                    self.add(&real, Give::Execute);
                }
                self.links.push((path.to_owned(), target));
            }
            Err(_) => self.add(path, Give::Execute),
        }
    }

    /// A place by any name; the name stays one.
    fn real(&mut self, path: &Path, give: Give, closed: &dyn Fn(&Path) -> bool) {
        let Ok(real) = real(path) else { return };
        let led_astray = |outer: &PathBuf| path.starts_with(outer) && !real.starts_with(outer);
        if closed(&real) || real.parent().is_none() || self.written.iter().any(led_astray) {
            return;
        }
        if real != path {
            self.links.push((path.to_owned(), real.clone()));
        }
        self.add(&real, give);
    }

    fn add(&mut self, path: &Path, give: Give) {
        let Ok(found) = stat(path) else { return };
        let directory = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        match self.places.iter_mut().find(|place| place.path == path) {
            // What is named twice is given as it was named last, by the more particular list.
            Some(place) => place.give = give,
            None => self.places.push(Place { path: path.to_owned(), give, directory }),
        }
    }

    /// Outer places first; nothing twice; of what is hidden only what lies in a place that is given.
    fn arrange(&mut self, hidden: Vec<(PathBuf, bool)>) {
        let depth = |path: &Path| path.components().count();
        self.places.sort_by_key(|place| depth(&place.path));
        let mut kept: Vec<Place> = Vec::with_capacity(self.places.len());
        for place in self.places.drain(..) {
            let around = kept.iter().rfind(|outer| place.path.starts_with(&outer.path));
            let buried = hidden.iter().any(|(path, _)| {
                place.path.starts_with(path) && around.is_some_and(|outer| path.starts_with(&outer.path))
            });
            if around.is_none_or(|outer| outer.give != place.give) || buried {
                kept.push(place);
            }
        }
        self.places = kept;
        let inside = |path: &Path| self.places.iter().any(|place| path.starts_with(&place.path));
        self.hidden = hidden.into_iter().filter(|(path, _)| inside(path)).collect();
        self.hidden.sort_by_key(|(path, _)| depth(path));
        self.hidden.dedup();
    }

    /// The innermost place that a path lies in.
    pub fn around(&self, path: &Path) -> Option<&Place> {
        self.places.iter().rfind(|place| path.starts_with(&place.path))
    }
}
