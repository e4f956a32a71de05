//! What workers say on their standard error, as lines of the server's log: it has a bound, and they need no file of their own.

use crate::life::critical;
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Bytes of one line; a longer one is cut into several.
const LINE: u64 = 4_096;

/// Starts the thread; workers are given the returned end.
///
/// # Errors
/// When no pipe or thread is to be had.
pub fn start() -> io::Result<Arc<OwnedFd>> {
    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC).map(|(read, write)| (write, read))?;
    critical::spawn("worker-log", move || {
        let mut lines = BufReader::new(File::from(ours));
        let mut line = Vec::new();
        // The server keeps a writing end, so this ends with the process only.
        while matches!((&mut lines).take(LINE).read_until(b'\n', &mut line), Ok(1..)) {
            tracing::warn!(said = %String::from_utf8_lossy(line.trim_ascii_end()), "a worker says");
            line.clear();
        }
    })?;
    Ok(Arc::new(theirs))
}
