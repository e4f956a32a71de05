//! Bytes on their way to the server.

use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// What was not yet taken by the socket. Written without blocking, several frames at once.
///
/// Bounded by who fills it: reports that must arrive are a handful an attempt, and output counts wait while it is not empty.
#[derive(Debug)]
pub struct Outbox {
    socket: Arc<UnixStream>,
    bytes: Vec<u8>,
    sent: usize,
}

impl Outbox {
    /// An empty one.
    pub fn new(socket: Arc<UnixStream>) -> Self {
        Self { socket, bytes: Vec::new(), sent: 0 }
    }

    /// Where to append frames.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Whether everything has been taken.
    pub fn is_empty(&self) -> bool {
        self.sent >= self.bytes.len()
    }

    /// Hands over what the socket takes now.
    pub fn flush(&mut self) {
        while let Some(rest) = self.bytes.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match send(&self.socket, rest, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(count) => self.sent = self.sent.saturating_add(count),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // The server is gone, which the lifeline sees as well and acts on; there is nobody left to tell.
                Err(_) => break,
            }
        }
        self.bytes.clear();
        self.sent = 0;
    }
}

impl AsFd for Outbox {
    /// Writable when there is room.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
