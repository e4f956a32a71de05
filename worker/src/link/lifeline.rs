//! The thread that reads the server's socket for the worker's whole life.

use super::frame::{self, ReadError};
use super::mailbox::Mailbox;
use crate::note::note;
use ouroboros_process::reaper;
use ouroboros_proto::kind::ExitCode;
use std::io::{self, BufReader};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// How long a process may take to die of SIGKILL before it is left to the sub-reaper above us.
const BOUND: Duration = Duration::from_secs(10);
/// How long the report of a command that was over before the server went may take to be stored.
const STORING: Duration = Duration::from_secs(1);

/// Starts the thread. From here on the end of the stream, however it comes, ends everything below this process and then the
/// process itself, whatever its other threads do.
///
/// # Errors
/// When no thread is to be had.
pub fn hold(socket: Arc<UnixStream>, mailbox: Arc<Mailbox>) -> io::Result<()> {
    std::thread::Builder::new().name("lifeline".to_owned()).spawn(move || {
        let fuse = Fuse;
        let end = read_until_end(&socket, &mailbox);
        mailbox.close();
        if let ReadError::Malformed(error) = &end {
            note(format_args!("{end}: {error}"));
        }
        end_everything();
        mailbox.await_settled(STORING);
        drop(fuse);
        leave(match end {
            ReadError::Ended(_) => ExitCode::Orphaned,
            ReadError::Malformed(_) => ExitCode::Mismatch,
        });
    })?;
    Ok(())
}

/// A worker without its lifeline must not go on.
struct Fuse;

impl Drop for Fuse {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

fn read_until_end(socket: &UnixStream, mailbox: &Mailbox) -> ReadError {
    let mut stream = BufReader::new(socket);
    loop {
        match frame::read(&mut stream) {
            Ok(order) => mailbox.put(order),
            Err(error) => return error,
        }
    }
}

/// What the main thread starts meanwhile waits behind a barrier that nobody is left to open, and dies with this process.
fn end_everything() {
    let report = reaper::end_everything(&|_| false, BOUND);
    for survivor in report.survivors {
        note(format_args!("cannot end process {} ({})", survivor.pid, survivor.command));
    }
}

#[allow(clippy::exit)] // The main thread may be held in a system call; nothing else can end the process from here.
fn leave(code: ExitCode) -> ! {
    std::process::exit(i32::from(code.code()))
}
