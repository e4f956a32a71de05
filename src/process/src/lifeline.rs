//! Acting when the process above us goes away.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;

/// Runs `on_eof` on a thread of its own once the other end of a pipe, socket or terminal is closed, also while unread data is
/// waiting. Nothing is read, so the descriptor may be a copy of one that somebody reads. A descriptor without another end, such as
/// `/dev/null` or a file, never ends.
///
/// # Errors
/// When no thread is to be had; the closure is dropped then.
pub fn watch(fd: OwnedFd, on_eof: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name("lifeline".to_owned()).spawn(move || {
        until_closed(&fd);
        on_eof();
    })?;
    Ok(())
}

fn until_closed(fd: &OwnedFd) {
    let ended = PollFlags::HUP | PollFlags::RDHUP | PollFlags::ERR | PollFlags::NVAL;
    loop {
        // HUP, ERR and NVAL are reported without being asked for (poll(2)).
        let mut fds = [PollFd::new(fd, PollFlags::RDHUP)];
        match poll(&mut fds, None) {
            Ok(_) if fds.iter().any(|fd| fd.revents().intersects(ended)) => return,
            Ok(_) | Err(Errno::INTR | Errno::AGAIN | Errno::NOMEM) => {}
            // A descriptor that cannot be watched holds nobody's life: act as if it had ended.
            Err(_) => return,
        }
    }
}
