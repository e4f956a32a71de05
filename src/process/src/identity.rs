//! Which physical process a number means.
//!
//! Numbers are those of the PID namespace of the calling process, and so is the namespace in every [`Identity`] made here.

use crate::pidfd::PidFd;
use crate::proc;
use ouroboros_proto::kind::Identity;
use rustix::process::Pid;
use std::io;
use std::sync::OnceLock;

/// The identity of the calling process.
///
/// # Errors
/// When `/proc` is not that of the caller's PID namespace or cannot be read.
pub fn of_self() -> io::Result<Identity> {
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    read(pid)?.ok_or_else(|| proc::malformed("own entry"))
}

/// The identity of the process that has this number now. A zombie that was not waited for still has one. `None` means that
/// no process has the number.
///
/// # Errors
/// When it cannot be known: `/proc` hides the process, or reading failed.
pub fn read(pid: i32) -> io::Result<Option<Identity>> {
    match PidFd::open(pid)? {
        None => Ok(None),
        Some(pidfd) => of_open(pid, &pidfd),
    }
}

/// The identity of a process with this number that is held by `pidfd`. `None` when it has been waited for.
pub(crate) fn of_open(pid: i32, pidfd: &PidFd) -> io::Result<Option<Identity>> {
    let host = host()?;
    let start_ticks = match proc::stat(pid)? {
        Some(stat) => stat.start_ticks,
        None if exists(pid) => return Err(hidden()),
        None => return Ok(None),
    };
    let identity =
        Identity { boot_id: host.boot_id, namespace: host.namespace, pid, start_ticks, pidfd_inode: pidfd.inode()? };
    Ok(Some(identity))
}

/// A process number as a type; `None` for those that mean groups or everybody.
pub(crate) fn number(pid: i32) -> Option<Pid> {
    if pid > 0 { Pid::from_raw(pid) } else { None }
}

/// Whether some process has the number, whoever owns it.
pub(crate) fn exists(pid: i32) -> bool {
    number(pid).is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// `/proc` is mounted so that it hides processes of others.
pub(crate) fn hidden() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "the process exists but /proc hides it")
}

/// What is the same for every process we can see.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Host {
    pub(crate) boot_id: [u8; 16],
    pub(crate) namespace: u64,
}

/// Boot id and PID namespace of the caller, read once.
pub(crate) fn host() -> io::Result<Host> {
    static HOST: OnceLock<Host> = OnceLock::new();
    if let Some(host) = HOST.get() {
        return Ok(*host);
    }
    let host = read_host()?;
    Ok(*HOST.get_or_init(|| host))
}

fn read_host() -> io::Result<Host> {
    let seen = std::fs::read_link("/proc/self")?;
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    if seen.to_str().and_then(|name| name.parse::<i32>().ok()) != Some(pid) {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "/proc belongs to another PID namespace"));
    }
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let boot_id = parse_boot_id(text.trim()).ok_or_else(|| proc::malformed("boot_id"))?;
    let link = std::fs::read_link("/proc/self/ns/pid")?;
    let namespace = link
        .to_str()
        .and_then(|name| name.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok())
        .ok_or_else(|| proc::malformed("ns/pid"))?;
    Ok(Host { boot_id, namespace })
}

fn parse_boot_id(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u8> =
        text.chars().filter(|c| *c != '-').map(|c| c.to_digit(16)?.try_into().ok()).collect::<Option<_>>()?;
    let bytes: Vec<u8> =
        digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |sum, digit| (sum << 4) | digit)).collect();
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_identity_is_stable_and_complete() {
        let first = of_self().unwrap();
        assert!(first.same(&of_self().unwrap()));
        assert_ne!(first.boot_id, [0; 16]);
        assert_ne!(first.namespace, 0);
        assert!(first.start_ticks > 0);
    }

    #[test]
    fn a_number_beyond_the_largest_is_nobody() {
        assert!(read(i32::MAX).unwrap().is_none());
    }

    #[test]
    fn boot_id_parses_to_its_bytes() {
        let id = parse_boot_id("00112233-4455-6677-8899-aabbccddeeff").unwrap();
        assert_eq!((id[0], id[1], id[15]), (0x00, 0x11, 0xff));
        assert!(parse_boot_id("0011").is_none());
    }
}
