//! Terminals for commands that want one.
#![allow(unsafe_code)]

use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Both ends of a new pseudo-terminal, close-on-exec and nobody's controlling terminal.
#[derive(Debug)]
pub struct Pty {
    /// Our end.
    pub master: OwnedFd,
    /// The command's end, for its standard streams.
    pub slave: OwnedFd,
}

/// Opens a pseudo-terminal of this size in characters.
///
/// # Errors
/// When the machine has none left.
pub fn open(columns: u16, rows: u16) -> io::Result<Pty> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let master = rustix::fs::open("/dev/ptmx", flags, Mode::empty())?;
    let unlocked: libc::c_int = 0;
    // SAFETY: reads one int (TIOCSPTLCK).
    if unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCSPTLCK, &raw const unlocked) } == -1 {
        return Err(io::Error::last_os_error());
    }
    let peer = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: takes flags by value (TIOCGPTPEER); unlike a path under /dev/pts it works in any mount namespace.
    let slave = unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, peer) };
    if slave == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made the descriptor for us.
    let slave = unsafe { OwnedFd::from_raw_fd(slave) };
    resize(&master, columns, rows)?;
    Ok(Pty { master, slave })
}

/// Tells the terminal, and through it the foreground group (SIGWINCH), a new size.
///
/// # Errors
/// When the descriptor is no terminal.
pub fn resize(terminal: impl AsFd, columns: u16, rows: u16) -> io::Result<()> {
    let size = rustix::termios::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(rustix::termios::tcsetwinsize(terminal, size)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn what_one_end_writes_the_other_reads() {
        let pty = open(80, 24).unwrap();
        assert_eq!(rustix::termios::tcgetwinsize(&pty.slave).unwrap().ws_col, 80);
        std::fs::File::from(pty.slave.try_clone().unwrap()).write_all(b"hi\n").unwrap();
        let mut read = [0; 4];
        std::fs::File::from(pty.master).read_exact(&mut read).unwrap();
        assert_eq!(&read, b"hi\r\n");
    }
}
