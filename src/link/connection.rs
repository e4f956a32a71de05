//! The receiving side of one worker's socket.

use super::outbox::Outbox;
use interprocess::local_socket::Stream;
use ouroboros_proto::kind::{BootMicros, WorkerId};
use ouroboros_proto::wire::codec::{DecodeError, PREFIX, body_length};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// Bytes read at once.
const CHUNK: usize = 64 << 10;

/// A connection and how far it has come.
#[derive(Debug)]
pub(super) struct Connection {
    pub stream: Arc<Stream>,
    pub outbox: Arc<Outbox>,
    /// Process number of the peer, as the kernel says.
    pub peer: Option<i32>,
    pub stage: Stage,
    /// Frames given to the core that it has not taken yet.
    pub in_flight: Arc<AtomicU32>,
    /// Whether reading waits for the core.
    pub paused: bool,
    received: Vec<u8>,
}

/// Before or after the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its hello must come before this time.
    Ungreeted { deadline: BootMicros },
    /// It is this worker.
    Greeted(WorkerId),
}

/// What reading came to.
pub(super) enum Received {
    /// Everything there is for now.
    Blocked,
    /// The peer closed; what was cut off of a frame is dropped.
    Closed,
}

impl Connection {
    pub fn new(stream: Arc<Stream>, outbox: Arc<Outbox>, peer: Option<i32>, deadline: BootMicros) -> Self {
        let stage = Stage::Ungreeted { deadline };
        Self { stream, outbox, peer, stage, in_flight: Arc::default(), paused: false, received: Vec::new() }
    }

    /// Reads what there is, up to a few chunks so that nobody else waits long.
    pub fn receive(&mut self) -> Received {
        let mut chunk = [0_u8; CHUNK];
        for _ in 0..8 {
            match (&*self.stream).read(&mut chunk) {
                Ok(0) => return Received::Closed,
                Ok(count) => self.received.extend_from_slice(chunk.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Received::Blocked,
                Err(_) => return Received::Closed,
            }
        }
        Received::Blocked
    }

    /// The body of the next whole frame.
    ///
    /// # Errors
    /// When the peer announces a frame that is too large.
    pub fn next_frame(&mut self) -> Result<Option<Vec<u8>>, DecodeError> {
        let Some((prefix, rest)) = self.received.split_first_chunk::<PREFIX>() else { return Ok(None) };
        let length = body_length(*prefix)?;
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let body = body.to_vec();
        self.received.drain(..PREFIX.saturating_add(length));
        Ok(Some(body))
    }
}
