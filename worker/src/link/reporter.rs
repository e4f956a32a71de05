//! Reports of one attempt: numbered, kept until they are acknowledged, sent again when asked for.

use super::mailbox::Orders;
use super::outbox::Outbox;
use crate::note::note;
use ouroboros_proto::kind::{AttemptId, Generation, Stream};
use ouroboros_proto::wire::{EncodeError, FromWorker, Report, encode, encode_into};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Speaks for one attempt.
#[derive(Debug)]
pub struct Reporter {
    attempt: AttemptId,
    generation: Generation,
    sequence: u64,
    kept: Vec<FromWorker>,
    /// The number after which everything kept is to be sent again.
    again: Option<u64>,
    outbox: Outbox,
}

impl Reporter {
    /// For this attempt; nothing was reported yet.
    pub fn new(socket: Arc<UnixStream>, attempt: AttemptId, generation: Generation) -> Self {
        Self { attempt, generation, sequence: 0, kept: Vec::new(), again: None, outbox: Outbox::new(socket) }
    }

    /// The frame that `report` would be sent as next.
    ///
    /// # Errors
    /// When it does not fit a frame.
    pub fn preview(&self, report: &Report) -> Result<Vec<u8>, EncodeError> {
        encode(&self.frame(self.sequence.saturating_add(1), report.clone()))
    }

    /// Sends a report that must be recorded; returns its number.
    pub fn report(&mut self, report: Report) -> u64 {
        self.sequence = self.sequence.saturating_add(1);
        let frame = self.frame(self.sequence, report);
        self.send(&frame);
        self.kept.push(frame);
        self.flush();
        self.sequence
    }

    /// Says how much a stream has grown. May be lost.
    pub fn output(&mut self, stream: Stream, written: u64) {
        let frame = self.frame(self.sequence, Report::Output { stream, written });
        self.send(&frame);
    }

    /// Says something that is not recorded. Nothing of it is sent again.
    pub fn pass(&mut self, report: Report) {
        let frame = self.frame(self.sequence, report);
        self.send(&frame);
        self.flush();
    }

    /// Forgets what is durable, and sends again what is asked for.
    pub fn answer(&mut self, orders: &Orders) {
        if let Some(sequence) = orders.acknowledged {
            self.kept.retain(|frame| frame.sequence > sequence);
        }
        if let Some(after) = orders.resend {
            self.again = Some(self.again.map_or(after, |before| before.min(after)));
        }
        self.flush();
    }

    /// Hands over what the socket takes now. What is to be sent again waits until everything before it is taken, so that asking
    /// often fills no memory.
    pub fn flush(&mut self) {
        self.outbox.flush();
        if !self.outbox.is_empty() {
            return;
        }
        if let Some(after) = self.again.take() {
            let kept = std::mem::take(&mut self.kept);
            kept.iter().filter(|frame| frame.sequence > after).for_each(|frame| self.send(frame));
            self.kept = kept;
            self.outbox.flush();
        }
    }

    /// Whether everything was handed over.
    pub fn is_idle(&self) -> bool {
        self.outbox.is_empty()
    }

    fn frame(&self, sequence: u64, report: Report) -> FromWorker {
        FromWorker { attempt: self.attempt, generation: self.generation, sequence, report }
    }

    fn send(&mut self, frame: &FromWorker) {
        if let Err(error) = encode_into(frame, self.outbox.bytes()) {
            note(format_args!("cannot report: {error}"));
        }
    }
}

impl AsFd for Reporter {
    /// Writable when there is room for more.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.outbox.as_fd()
    }
}
