//! The server's log: a file, so that it can be read when the server does not run.

use crate::cli::{Context, Failure};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Prints the current log file; with `follow` goes on with what is added, over rotations.
pub fn print(context: &Context, follow: bool) -> Result<(), Failure> {
    let path = context.paths().server_log();
    let failed = |error: io::Error| cannot_read(&path, &error);
    // Watched before it is read: what is added in between is an event.
    let changes = if follow { Some(watch(path.parent().unwrap_or(&path)).map_err(failed)?) } else { None };
    let mut file = File::open(&path).map_err(failed)?;
    loop {
        copy(&mut file, &path)?;
        let Some(changes) = &changes else { return Ok(()) };
        rustix::io::read(changes, &mut [0_u8; 4_096]).map_err(|error| failed(error.into()))?;
        if let Ok(next) = File::open(&path)
            && inode(&next) != inode(&file)
        {
            copy(&mut file, &path)?;
            file = next;
        }
    }
}

fn watch(dir: &Path) -> io::Result<std::os::fd::OwnedFd> {
    let changes = inotify::init(CreateFlags::CLOEXEC)?;
    inotify::add_watch(&changes, dir, WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVED_TO)?;
    Ok(changes)
}

fn copy(file: &mut File, path: &Path) -> Result<(), Failure> {
    let mut chunk = [0; 64 << 10];
    let mut out = io::stdout().lock();
    loop {
        let count = file.read(&mut chunk).map_err(|error| cannot_read(path, &error))?;
        if count == 0 {
            return Ok(out.flush()?);
        }
        out.write_all(chunk.get(..count).unwrap_or_default())?;
    }
}

fn inode(file: &File) -> Option<u64> {
    file.metadata().ok().map(|data| data.ino())
}

fn cannot_read(path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::io(format!("the server's log {} cannot be read", path.display()), error);
    match error.kind() {
        io::ErrorKind::NotFound => failure.remedy(
            "No server has logged here yet; one that runs as a service logs to the journal: `journalctl --user -u ouroboros`.",
        ),
        _ => failure,
    }
}
