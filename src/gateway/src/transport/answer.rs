//! An answer, read to its end.

use super::Listener;
use super::deadlines::{Deadlines, seconds};
use super::frames::Frames;
use super::outcome::{Exchange, Sent};
use super::pieces::Pieces;
use super::read::{chain, header};
use crate::dialect::{Assembler, Event, Framing, StreamFault};
use bytes::Bytes;
use futures_util::FutureExt as _;
use ouroboros_proto::agent::TokenUsage;
use ouroboros_proto::kind::Millis;
use reqwest::Response;
use reqwest::header::HeaderMap;
use tokio::time::{Instant, timeout_at};

/// Once the answer is whole, the end of its response is waited for this long in all, so that the connection can be used
/// again.
const AFTERMATH: Millis = Millis::new(500);
/// A response has at most this many bytes, framing and comments included.
const MAX_WIRE_BYTES: u64 = 256 << 20;

/// An answer that is being read.
pub(super) struct Answer<'a> {
    pub(super) response: Response,
    pub(super) assembler: Assembler,
    pub(super) deadlines: Deadlines,
    pub(super) exchange: &'a mut Exchange,
    /// The first event was there.
    pub(super) begun: bool,
    /// Read, and not shown yet.
    pub(super) pieces: Pieces,
    /// When the response is given up, once the answer is whole.
    pub(super) rest: Option<Instant>,
}

impl Answer<'_> {
    pub(super) async fn read(mut self, framing: Framing, listener: &mut dyn Listener) -> Sent {
        let headers = self.response.headers().clone();
        self.assembler.headers(&|name| header(&headers, name));
        let mut frames = if is_single_json(framing, &headers) { Frames::whole() } else { Frames::new(framing) };
        let ended = loop {
            let read = match self.at_hand().await {
                Some(read) => Ok(read),
                None => {
                    self.show(listener).await;
                    timeout_at(self.deadline(), self.response.chunk()).await
                }
            };
            match read {
                Ok(Ok(Some(bytes))) => {
                    if let Err(fault) = self.take(&mut frames, &bytes) {
                        self.show(listener).await;
                        return self.faulty(fault);
                    }
                }
                Ok(Ok(None)) => break Ok(()),
                Ok(Err(error)) => break Err(chain(&error.without_url())),
                Err(_) => break Err(self.late()),
            }
        };
        // The last event may lack its end; what a broken connection cut off is no event.
        let rest = if ended.is_ok() { frames.finish() } else { Ok(Vec::new()) };
        let given = match rest {
            Ok(events) => self.feed(events),
            Err(error) => Err(StreamFault::Malformed(error.to_string())),
        };
        self.show(listener).await;
        if let Err(fault) = given {
            return self.faulty(fault);
        }
        match ended {
            Err(reason) if !self.assembler.is_complete() => {
                self.close();
                Sent::Unknown { reason: format!("the answer broke off: {reason}") }
            }
            Ok(()) | Err(_) => self.finish(),
        }
    }

    /// When the next bytes must be there.
    fn deadline(&mut self) -> Instant {
        if self.assembler.is_complete() {
            *self.rest.get_or_insert_with(|| self.deadlines.within(AFTERMATH.duration()))
        } else if !self.begun {
            self.deadlines.head()
        } else {
            self.deadlines.next()
        }
    }

    fn late(&self) -> String {
        let timing = self.deadlines.timing;
        if self.deadlines.is_over() {
            format!("it was not whole within {}", seconds(timing.whole))
        } else if !self.begun {
            format!("nothing of it came within {}", seconds(timing.first_byte))
        } else {
            format!("nothing more came for {}", seconds(timing.between_bytes))
        }
    }

    /// What has arrived already, when there is something to be shown that it could be shown together with.
    async fn at_hand(&mut self) -> Option<Result<Option<Bytes>, reqwest::Error>> {
        if !self.pieces.are_some() || self.pieces.are_enough() {
            return None;
        }
        // A connection is read by a task of its own, which hands one part over at a time: it gets its turn first.
        tokio::task::yield_now().await;
        self.response.chunk().now_or_never()
    }

    async fn show(&mut self, listener: &mut dyn Listener) {
        for piece in std::mem::take(&mut self.pieces) {
            listener.piece(piece).await;
        }
    }

    fn take(&mut self, frames: &mut Frames, bytes: &Bytes) -> Result<(), StreamFault> {
        self.exchange.record(bytes);
        if self.exchange.bytes > MAX_WIRE_BYTES {
            return Err(StreamFault::TooLarge);
        }
        match frames.feed(bytes) {
            Ok(events) => self.feed(events),
            Err(_) if self.assembler.is_complete() => Ok(()),
            Err(error) => Err(StreamFault::Malformed(error.to_string())),
        }
    }

    fn feed(&mut self, events: Vec<Event>) -> Result<(), StreamFault> {
        for event in events {
            self.begun = true;
            let whole = self.assembler.is_complete();
            let pieces = match self.assembler.feed(&event) {
                Ok(pieces) => pieces,
                // An answer that is whole is not spoilt by what comes after it.
                Err(_) if whole => return Ok(()),
                Err(fault) => return Err(fault),
            };
            for piece in pieces {
                self.exchange.pieces = self.exchange.pieces.saturating_add(1);
                self.pieces.add(piece);
            }
        }
        Ok(())
    }

    /// Notes what is known of the response.
    fn close(&mut self) {
        self.exchange.provider_request = self.assembler.provider_request().map(str::to_owned);
    }

    fn finish(mut self) -> Sent {
        self.close();
        let (usage, begun) = (self.assembler.usage(), self.exchange.pieces > 0);
        match self.assembler.finish() {
            Ok(answer) => Sent::Answered(Box::new(answer)),
            Err(fault) => of_fault(fault, usage, begun),
        }
    }

    fn faulty(mut self, fault: StreamFault) -> Sent {
        self.close();
        of_fault(fault, self.assembler.usage(), self.exchange.pieces > 0)
    }
}

fn of_fault(fault: StreamFault, usage: Option<TokenUsage>, begun: bool) -> Sent {
    match fault {
        StreamFault::ProviderError(rejection) if begun => Sent::BrokenOff(rejection),
        StreamFault::ProviderError(rejection) => Sent::Rejected(rejection),
        StreamFault::Incomplete => Sent::Unknown { reason: fault.to_string() },
        StreamFault::Malformed(_) | StreamFault::TooLarge => Sent::Unusable { fault, usage },
    }
}

/// A server that does not stream answers with one JSON text, which can be an error with a good status.
fn is_single_json(framing: Framing, headers: &HeaderMap) -> bool {
    let json = || header(headers, "content-type").is_some_and(|kind| kind.trim_start().starts_with("application/json"));
    match framing {
        Framing::Sse => json(),
        Framing::JsonLines => false,
    }
}
