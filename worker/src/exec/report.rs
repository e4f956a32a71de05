//! Why a command did not start, from exec mode to the worker, over a pipe that `execve` closes.

use rustix::io::Errno;
use std::os::fd::AsFd;

/// What failed, with its errno.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The process could not be prepared.
    SetUp {
        /// The errno.
        errno: i32,
    },
    /// The working directory cannot be entered.
    Directory {
        /// The errno.
        errno: i32,
    },
    /// There is no such program.
    NotFound,
    /// It cannot be executed.
    NotExecutable {
        /// The errno.
        errno: i32,
    },
}

const BYTES: usize = 5;

/// Hands it over. Fits what a pipe takes at once, so it neither blocks nor arrives in parts.
pub fn write(status: impl AsFd, failure: Failure) {
    let (step, errno) = match failure {
        Failure::SetUp { errno } => (1, errno),
        Failure::Directory { errno } => (2, errno),
        Failure::NotFound => (3, 0),
        Failure::NotExecutable { errno } => (4, errno),
    };
    let [a, b, c, d] = errno.to_ne_bytes();
    // When nobody reads, nobody wants to know.
    let _ = rustix::io::write(status, &[step, a, b, c, d]);
}

/// What was handed over by a process that is dead; `None` when it became its command or was killed before.
pub fn read(status: impl AsFd) -> Option<Failure> {
    let mut bytes = [0_u8; BYTES];
    let count = loop {
        match rustix::io::read(&status, &mut bytes) {
            Err(Errno::INTR) => {}
            other => break other.unwrap_or(0),
        }
    };
    let [step, errno @ ..] = bytes;
    let errno = i32::from_ne_bytes(errno);
    match (count, step) {
        (BYTES, 1) => Some(Failure::SetUp { errno }),
        (BYTES, 2) => Some(Failure::Directory { errno }),
        (BYTES, 3) => Some(Failure::NotFound),
        (BYTES, 4) => Some(Failure::NotExecutable { errno }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for failure in [
            Failure::SetUp { errno: 1 },
            Failure::Directory { errno: -2 },
            Failure::NotFound,
            Failure::NotExecutable { errno: i32::MAX },
        ] {
            let (reader, writer) = rustix::pipe::pipe().unwrap();
            write(&writer, failure);
            assert_eq!(read(&reader), Some(failure));
            drop(writer);
            assert_eq!(read(&reader), None);
        }
    }
}
