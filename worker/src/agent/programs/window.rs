//! What is kept of what a program writes: its head and its tail, in memory.

use ouroboros_tools::programs::Seen;
use std::collections::VecDeque;

/// Bytes that are kept of what a program writes.
pub const KEPT: usize = 256 << 10;

/// One stream.
#[derive(Debug)]
pub struct Window {
    /// Bytes that are kept from the start, and to the end.
    part: usize,
    head: Vec<u8>,
    lost: u64,
    tail: VecDeque<u8>,
}

impl Window {
    /// Keeps this many bytes, half of them from the start.
    pub fn new(kept: usize) -> Self {
        Self { part: kept / 2, head: Vec::new(), lost: 0, tail: VecDeque::new() }
    }

    /// Takes what came next.
    pub fn take(&mut self, bytes: &[u8]) {
        let room = self.part.saturating_sub(self.head.len());
        let (head, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(head);
        // Of a piece that is longer than the tail only its end stays.
        let skipped = rest.len().saturating_sub(self.part);
        let kept = rest.get(skipped..).unwrap_or_default();
        let over = self.tail.len().saturating_add(kept.len()).saturating_sub(self.part);
        self.tail.drain(..over.min(self.tail.len()));
        self.tail.extend(kept);
        let lost = skipped.saturating_add(over);
        self.lost = self.lost.saturating_add(u64::try_from(lost).unwrap_or(u64::MAX));
    }

    /// Whether this text was written, as far as that is kept.
    pub fn contains(&self, text: &[u8]) -> bool {
        let all: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
        text.is_empty() || all.windows(text.len()).any(|window| window == text)
    }

    /// What is kept.
    pub fn seen(&self) -> Seen {
        Seen { head: self.head.clone(), lost: self.lost, tail: self.tail.iter().copied().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: usize = KEPT / 2;

    #[test]
    fn head_and_tail_are_exact_for_every_chunking() {
        let stream: Vec<u8> = (0..PART * 3).map(|at| u8::try_from(at % 251).unwrap()).collect();
        for length in [0, 1, PART, PART + 1, PART * 2, PART * 2 + 7, PART * 3] {
            for chunk in [1_000, PART - 1, PART * 3] {
                let mut window = Window::new(PART * 2);
                stream[..length].chunks(chunk).for_each(|piece| window.take(piece));
                let seen = window.seen();
                let head = length.min(PART);
                assert_eq!(seen.head, stream[..head], "{length} {chunk}");
                assert_eq!(seen.tail, stream[head.max(length.saturating_sub(PART))..length], "{length} {chunk}");
                assert_eq!(usize::try_from(seen.lost).unwrap(), length.saturating_sub(PART * 2), "{length} {chunk}");
            }
        }
    }

    #[test]
    fn a_text_is_found_across_the_two() {
        let mut window = Window::new(PART * 2);
        window.take(&vec![b'.'; PART - 2]);
        window.take(b"ready");
        assert!(window.contains(b"ready") && !window.contains(b"Ready"));
    }
}
