//! The sending side of one worker's socket.

use super::wake::{Ask, Wake};
use interprocess::local_socket::Stream;
use ouroboros_proto::wire::{self, ToWorker};
use serde::Serialize;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Unsent bytes after which a worker that does not read is given up: two of the largest frames.
const MOST: usize = 16 << 20;

/// Sends frames from any thread without blocking. What the socket does not take at once waits here, in order.
#[derive(Debug)]
pub struct Outbox {
    stream: Arc<Stream>,
    wake: Arc<Wake>,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: Vec<u8>,
    closed: bool,
}

impl Outbox {
    pub(super) fn new(stream: Arc<Stream>, wake: Arc<Wake>) -> Self {
        Self { stream, wake, waiting: Mutex::new(Waiting::default()) }
    }

    /// Sends a frame. A worker that is gone or does not read is told nothing; its death tells the rest.
    pub fn send(&self, frame: &ToWorker) {
        self.send_any(frame);
    }

    pub(super) fn send_any<T: Serialize>(&self, frame: &T) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.closed {
            return;
        }
        if let Err(error) = wire::encode_into(frame, &mut waiting.bytes) {
            tracing::error!(%error, "a frame to a worker cannot be encoded");
            waiting.closed = true;
            return;
        }
        self.write_out(&mut waiting);
        if !waiting.bytes.is_empty() {
            self.wake.ask(Ask::Flush);
        }
    }

    /// Sends what waits; true when nothing waits any more.
    pub(super) fn flush(&self) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        self.write_out(&mut waiting);
        waiting.bytes.is_empty()
    }

    fn write_out(&self, waiting: &mut Waiting) {
        let mut sent = 0;
        while let Some(rest) = waiting.bytes.get(sent..).filter(|rest| !rest.is_empty()) {
            match (&*self.stream).write(rest) {
                Ok(0) => {
                    waiting.closed = true;
                    break;
                }
                Ok(written) => sent += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    waiting.closed = true;
                    break;
                }
            }
        }
        waiting.bytes.drain(..sent.min(waiting.bytes.len()));
        if waiting.closed || waiting.bytes.len() > MOST {
            waiting.closed = true;
            waiting.bytes = Vec::new();
        }
    }
}
