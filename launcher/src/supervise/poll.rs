//! Waiting for one of several things to happen, or for a time.

use ouroboros_proto::kind::{BootMicros, clock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::BorrowedFd;

/// Until one of the descriptors has something to read or has ended, or until `wake`. May return early.
pub fn wait(descriptors: &[BorrowedFd<'_>], wake: Option<BootMicros>) {
    let mut fds: Vec<PollFd<'_>> = descriptors.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let left = wake.map(|wake| {
        let micros = wake.get().saturating_sub(clock::boot().get());
        // Rounded up, so that what is due is due when we look.
        let nanos = i64::try_from(micros % 1_000_000).unwrap_or(0).saturating_mul(1_000);
        Timespec { tv_sec: i64::try_from(micros / 1_000_000).unwrap_or(i64::MAX), tv_nsec: nanos }
    });
    // The caller looks at everything again whatever woke it, an interruption included.
    let _ = poll(&mut fds, left.as_ref());
}

/// The first of the times that are set.
pub fn first(times: impl IntoIterator<Item = Option<BootMicros>>) -> Option<BootMicros> {
    times.into_iter().flatten().min()
}
