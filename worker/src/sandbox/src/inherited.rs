//! Descriptors that exec mode is started with, by number.

use rustix::io::{Errno, FdFlags, fcntl_setfd};
use std::os::fd::{FromRawFd, OwnedFd};

/// Where the reading end of the barrier is.
pub const BARRIER: i32 = 3;
/// Where the writing end of the status pipe is.
pub const STATUS: i32 = 4;
/// Where a [`Confinement`](crate::Confinement) is, when the request says that there is one.
pub const CONFINEMENT: i32 = 5;

/// Both, owned and close-on-exec: the command itself gets neither.
#[derive(Debug)]
pub struct Inherited {
    /// One byte comes from it when the command may run; its end means that nobody is left to say so.
    pub barrier: OwnedFd,
    /// Takes what is in force, and the failure, when there is one.
    pub status: OwnedFd,
}

impl Inherited {
    /// Takes them over. Call it once, first.
    ///
    /// # Errors
    /// When they are not there: the process was not started by a worker.
    pub fn take() -> Result<Self, Errno> {
        Ok(Self { barrier: take(BARRIER)?, status: take(STATUS)? })
    }
}

/// Takes over what is wanted of confinement. Call it once, before anything is opened.
///
/// # Errors
/// When it is not there.
pub fn take_confinement() -> Result<OwnedFd, Errno> {
    take(CONFINEMENT)
}

fn take(number: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: only a flag of the descriptor is changed; when there is no such descriptor the kernel says so.
    let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
    fcntl_setfd(borrowed, FdFlags::CLOEXEC)?;
    // SAFETY: it is open, as the call before has shown, and nothing else in this process knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
