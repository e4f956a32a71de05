//! Plays the frames of an answer onto a connection: gaps, stalls, and how it breaks off.

use crate::frames::{Frame, Frames};
use crate::record::{End, Entry};
use crate::rule::{Cut, Rule, Wait};
use crate::stamp::stamped;
use bytes::Bytes;
use hyper::body::{Body, Frame as BodyFrame, SizeHint};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Sleep;

/// The connection is broken off, as the script says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the script breaks the connection off")]
pub struct BrokenOff;

/// A body that behaves as scripted.
#[derive(Default)]
pub struct Play {
    frames: VecDeque<Frame>,
    endless: bool,
    gap: Duration,
    /// After so many bytes, so long.
    stall: Option<(u64, Option<Duration>)>,
    /// After so many bytes, like this.
    cut: Option<(u64, Cut)>,
    exact: Option<u64>,
    stamp: Option<String>,
    sent: u64,
    sleeping: Option<Pin<Box<Sleep>>>,
    paused: bool,
    flushed: bool,
    reset: Arc<AtomicBool>,
    entry: Option<Entry>,
}

impl Play {
    /// Bytes that nothing happens to.
    pub fn plain(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let exact = u64::try_from(bytes.len()).ok();
        Self { frames: VecDeque::from([Frame { bytes, piece: false }]), exact, ..Self::default() }
    }

    /// Frames, and what the rule does to them. `reset` is read when the connection is closed.
    pub fn scripted(frames: Frames, rule: &Rule, reset: Arc<AtomicBool>, entry: Entry) -> Self {
        let length = |frames: &[Frame]| {
            frames.iter().map(|frame| u64::try_from(frame.bytes.len()).unwrap_or(u64::MAX)).fold(0, u64::saturating_add)
        };
        let ending = frames.ending.and_then(|place| frames.list.get(..place)).map_or(0, length);
        let all = if frames.endless { u64::MAX } else { length(&frames.list) };
        let cut = match (rule.cut_after_bytes, rule.cut) {
            (None, None) => None,
            (after, how) => Some((after.unwrap_or(ending), how.unwrap_or(Cut::Close))),
        };
        // An answer that is shorter than where it would be broken off is whole.
        let cut = cut.filter(|(after, _)| *after <= all);
        let stall = rule.stall_after_bytes.map(|after| (after, rule.stall_ms.and_then(Wait::span)));
        let whole = frames.list.len() == 1 && cut.is_none() && !frames.endless;
        Self {
            exact: whole.then_some(all),
            endless: frames.endless,
            frames: split(frames.list, rule.write_bytes),
            gap: Duration::from_millis(rule.gap_ms),
            stall,
            cut,
            stamp: rule.stamp.clone(),
            reset,
            entry: Some(entry),
            ..Self::default()
        }
    }

    fn end(&self, end: End) {
        if let Some(entry) = &self.entry {
            entry.end(end);
        }
    }

    /// How much may go out before something happens.
    fn room(&self) -> usize {
        let stall = self.stall.map(|(after, _)| after);
        let next = stall.into_iter().chain(self.cut.map(|(after, _)| after)).min().unwrap_or(u64::MAX);
        usize::try_from(next.saturating_sub(self.sent)).unwrap_or(usize::MAX)
    }

    fn next_bytes(&mut self, room: usize) -> Option<Bytes> {
        let repeats = self.endless && self.frames.len() == 1;
        let first = self.frames.front_mut()?;
        let bytes = if first.bytes.len() > room {
            first.piece = false;
            first.bytes.split_to(room)
        } else if repeats {
            if let Some(entry) = &self.entry {
                entry.repeated();
            }
            first.bytes.clone()
        } else {
            self.frames.pop_front()?.bytes
        };
        self.sent = self.sent.saturating_add(u64::try_from(bytes.len()).unwrap_or(0));
        if let Some(entry) = &self.entry {
            entry.sent(bytes.len());
        }
        if self.frames.is_empty() && self.cut.is_none() {
            self.end(End::Finished);
        }
        Some(self.stamp.as_deref().map_or_else(|| bytes.clone(), |mark| stamped(&bytes, mark)))
    }
}

/// The same bytes in frames of so many.
fn split(frames: Vec<Frame>, size: Option<usize>) -> VecDeque<Frame> {
    let Some(size) = size.filter(|size| *size > 0) else { return frames.into() };
    let all: Vec<u8> = frames.iter().flat_map(|frame| frame.bytes.iter().copied()).collect();
    let mut all = Bytes::from(all);
    let mut parts = VecDeque::new();
    while !all.is_empty() {
        parts.push_back(Frame { bytes: all.split_to(size.min(all.len())), piece: true });
    }
    parts
}

type Polled = Option<Result<BodyFrame<Bytes>, BrokenOff>>;

impl Body for Play {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Polled> {
        let this = &mut *self;
        loop {
            if let Some(sleep) = &mut this.sleeping {
                ready!(sleep.as_mut().poll(context));
                this.sleeping = None;
            }
            if let Some((_, how)) = this.cut.filter(|(after, _)| this.sent >= *after) {
                // What was handed over goes out first: a pending body makes the connection flush.
                if !std::mem::replace(&mut this.flushed, true) {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                this.end(End::Cut);
                this.reset.store(how == Cut::Reset, Relaxed);
                return Poll::Ready((how != Cut::End).then_some(Err(BrokenOff)));
            }
            if let Some((_, span)) = this.stall.filter(|(after, _)| this.sent >= *after) {
                let Some(span) = span else { return Poll::Pending };
                this.stall = None;
                this.sleeping = Some(Box::pin(tokio::time::sleep(span)));
                continue;
            }
            let Some(first) = this.frames.front() else {
                this.end(End::Finished);
                return Poll::Ready(None);
            };
            if first.piece && !this.gap.is_zero() && !std::mem::replace(&mut this.paused, true) {
                this.sleeping = Some(Box::pin(tokio::time::sleep(this.gap)));
                continue;
            }
            this.paused = false;
            let room = this.room();
            return Poll::Ready(this.next_bytes(room).map(|bytes| Ok(BodyFrame::data(bytes))));
        }
    }

    fn is_end_stream(&self) -> bool {
        self.frames.is_empty() && self.cut.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.exact.map(SizeHint::with_exact).unwrap_or_default()
    }
}
