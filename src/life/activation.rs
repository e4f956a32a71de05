//! Sockets that a service manager bound for us (sd_listen_fds(3)).

use super::start::launcher_pid;
use ouroboros_process::inherited;
use std::io;
use std::os::fd::OwnedFd;

/// The first descriptor that is passed.
const FIRST: i32 = 3;
/// More than anybody passes.
const MOST: i32 = 16;

/// The sockets meant for this process, or for the launcher that started it.
///
/// # Errors
/// A number that was named is not an open descriptor.
pub fn sockets() -> io::Result<Vec<OwnedFd>> {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u32>().ok());
    let meant = number("LISTEN_PID");
    let ours = meant == Some(std::process::id()) || (meant.is_some() && meant == launcher_pid());
    let count = number("LISTEN_FDS").and_then(|count| i32::try_from(count).ok()).unwrap_or(0);
    if !ours {
        return Ok(Vec::new());
    }
    (FIRST..FIRST.saturating_add(count.min(MOST))).map(inherited::take).collect()
}
