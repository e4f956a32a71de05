//! Descriptors that were open when this program began.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::sync::{Mutex, PoisonError};

/// Takes over the descriptor that whoever started us left open under this number. Each can be taken once.
///
/// # Errors
/// It is one of the standard streams, was taken before, or is not open.
#[allow(unsafe_code)]
pub fn take(number: i32) -> io::Result<OwnedFd> {
    static TAKEN: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: takes no pointer; a number that is not open is refused.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
    if flags == -1 {
        return Err(io::Error::last_os_error());
    }
    if number <= 2 || !taken.insert(number) {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: as above; only a flag changes.
    unsafe { libc::fcntl(number, libc::F_SETFD, flags | libc::FD_CLOEXEC) };
    // SAFETY: it is open, and by this list nobody else in this program owns it: it was there before anything was opened, and
    // what the program opens itself is never asked for here.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
