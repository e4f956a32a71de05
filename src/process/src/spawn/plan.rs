//! Everything the child needs, laid out so that it only makes system calls.

use super::command::{Command, Lead, Program, Stdio};
use super::error::{SpawnError, Step};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::thread::CapabilitySet;
use std::ffi::{CString, OsStr, OsString, c_char};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::AtomicI32;

/// A NULL-terminated array of C strings that owns them.
pub(super) struct Strings {
    _owned: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl Strings {
    pub(super) fn new(owned: Vec<CString>) -> Self {
        let pointers = owned.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect();
        Self { _owned: owned, pointers }
    }

    pub(super) fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
}

/// How the child enters its namespaces.
pub(super) struct Namespaces {
    /// The contents of `uid_map` and `gid_map`; `None` when we may do without a user namespace.
    pub(super) maps: Option<(Vec<u8>, Vec<u8>)>,
    /// Our own number in the PID namespace of our `/proc`.
    pub(super) parent: i32,
}

/// One start, ready to go.
pub(super) struct Plan {
    pub(super) program: CString,
    pub(super) argv: Strings,
    pub(super) envp: Strings,
    pub(super) cwd: Option<CString>,
    pub(super) umask: Option<libc::mode_t>,
    pub(super) lead: Lead,
    pub(super) namespaces: Option<Namespaces>,
    /// Source and target of each descriptor; every source is above every target.
    pub(super) moves: Vec<(i32, i32)>,
    /// Targets that keep our own descriptor of that number.
    pub(super) kept: Vec<i32>,
    /// Ranges of descriptors the child must not keep across `execve`.
    pub(super) gaps: Vec<(u32, u32)>,
    /// Where the child leaves the step that failed (see `inside`), 0 while none has.
    pub(super) failed_step: AtomicI32,
    /// The errno of that step.
    pub(super) failed_errno: AtomicI32,
    /// Keeps the sources of `moves` and the program open.
    _sources: Vec<OwnedFd>,
    _program: Option<Arc<OwnedFd>>,
}

impl Plan {
    /// Lays out a command.
    pub(super) fn new(command: Command, null: BorrowedFd<'_>) -> Result<Self, SpawnError> {
        let mut targets: Vec<i32> = vec![0, 1, 2];
        targets.extend(command.inherit.iter().map(|(_, number)| *number));
        targets.sort_unstable();
        if targets.windows(2).any(|pair| pair.first() == pair.last()) || targets.first().is_some_and(|first| *first < 0)
        {
            return Err(SpawnError::Invalid("a descriptor number is negative or given twice"));
        }
        let above =
            targets.last().copied().unwrap_or(2).checked_add(1).ok_or(SpawnError::Invalid("descriptor number"))?;

        let mut sources = Vec::new();
        let mut moves = Vec::new();
        let mut kept = Vec::new();
        let streams = [(command.stdin, 0), (command.stdout, 1), (command.stderr, 2)].into_iter();
        let further = command.inherit.into_iter().map(|(fd, number)| (Stdio::Fd(fd), number));
        for (stdio, number) in streams.chain(further) {
            let source = match stdio {
                Stdio::Inherit => {
                    kept.push(number);
                    continue;
                }
                Stdio::Null => lift(null, above)?,
                Stdio::Fd(fd) if fd.as_raw_fd() < above => lift(fd.as_fd(), above)?,
                Stdio::Fd(fd) => fd,
            };
            moves.push((source.as_raw_fd(), number));
            sources.push(source);
        }

        let (program, held) = match command.program {
            Program::Path(path) => (text(path.as_os_str())?, None),
            Program::Fd(fd) => {
                let fd = if fd.as_raw_fd() < above { Arc::new(lift(fd.as_fd(), above)?) } else { fd };
                (text(OsStr::new(&format!("/proc/self/fd/{}", fd.as_raw_fd())))?, Some(fd))
            }
        };
        let mut argv = vec![command.arg0.as_deref().map_or_else(|| Ok(program.clone()), text)?];
        for arg in &command.args {
            argv.push(text(arg)?);
        }
        Ok(Self {
            argv: Strings::new(argv),
            envp: Strings::new(environment(&command.env)?),
            cwd: command.cwd.as_ref().map(|path| text(path.as_os_str())).transpose()?,
            umask: command.umask,
            lead: command.lead,
            namespaces: command.namespaces.then(namespaces),
            moves,
            kept,
            gaps: gaps(&targets),
            failed_step: AtomicI32::new(0),
            failed_errno: AtomicI32::new(0),
            program,
            _sources: sources,
            _program: held,
        })
    }
}

/// A copy of the descriptor with a number of at least `above`, so that no move overwrites a source.
fn lift(fd: BorrowedFd<'_>, above: i32) -> Result<OwnedFd, SpawnError> {
    fcntl_dupfd_cloexec(fd, above).map_err(|error| SpawnError::at(Step::Descriptors, error.raw_os_error(), false))
}

/// The ranges between the targets, which are sorted.
fn gaps(targets: &[i32]) -> Vec<(u32, u32)> {
    let mut ranges = Vec::new();
    let mut start = 0_u32;
    for target in targets.iter().filter_map(|target| u32::try_from(*target).ok()) {
        if target > start {
            ranges.push((start, target.saturating_sub(1)));
        }
        start = target.saturating_add(1);
    }
    ranges.push((start, u32::MAX));
    ranges
}

/// Without the right to make namespaces, a user namespace in which we keep our ids gives it.
fn namespaces() -> Namespaces {
    let allowed =
        rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN));
    let maps = (!allowed).then(|| {
        let user = rustix::process::geteuid().as_raw();
        let group = rustix::process::getegid().as_raw();
        (format!("{user} {user} 1\n").into_bytes(), format!("{group} {group} 1\n").into_bytes())
    });
    Namespaces { maps, parent: rustix::process::getpid().as_raw_nonzero().get() }
}

fn text(text: &OsStr) -> Result<CString, SpawnError> {
    CString::new(text.as_bytes()).map_err(|_| SpawnError::Invalid("a path or argument holds a NUL byte"))
}

/// `name=value` strings.
pub(crate) fn environment(env: &[(OsString, OsString)]) -> Result<Vec<CString>, SpawnError> {
    env.iter()
        .map(|(name, value)| {
            if name.is_empty() || name.as_bytes().contains(&b'=') {
                return Err(SpawnError::Invalid("a variable's name is empty or holds '='"));
            }
            let mut line = name.as_bytes().to_vec();
            line.push(b'=');
            line.extend_from_slice(value.as_bytes());
            CString::new(line).map_err(|_| SpawnError::Invalid("a variable holds a NUL byte"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_leave_exactly_the_targets() {
        assert_eq!(gaps(&[0, 1, 2]), vec![(3, u32::MAX)]);
        assert_eq!(gaps(&[0, 1, 2, 3, 7]), vec![(4, 6), (8, u32::MAX)]);
    }

    #[test]
    fn variables_that_cannot_be_are_refused() {
        assert!(environment(&[("".into(), "x".into())]).is_err());
        assert!(environment(&[("A=B".into(), "x".into())]).is_err());
        assert!(environment(&[("A".into(), "x\0".into())]).is_err());
        assert_eq!(environment(&[("A".into(), "=x".into())]).unwrap(), vec![c"A==x".to_owned()]);
    }
}
