//! Text that comes in chunks.

use super::Masker;
use super::known::Following;
use ouroboros_shapes::Unknown;
use ouroboros_shapes::swallow::Swallow;
use zeroize::Zeroizing;

/// The state of one text that comes in chunks. What comes out, put together, is what masking the whole at once would give, as
/// long as the masker stays the same.
///
/// A word at the end of a chunk is held back until it is known how it goes on: a few bytes usually, and at most five KiB, for
/// what could become a web token. White space ends a word, so whole lines are not held back.
#[derive(Default)]
pub struct Stream {
    /// Not decided by the first pass.
    first: Zeroizing<Vec<u8>>,
    following: Option<Following>,
    /// To be looked back at by the second pass, and, from `fresh` on, not decided by it.
    second: Zeroizing<Vec<u8>>,
    fresh: usize,
    swallow: Option<Swallow>,
}

impl Stream {
    /// The beginning of a text.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next chunk, and gives what is decided. The masker may be another one than before, with a key more or less.
    #[must_use]
    pub fn push(&mut self, masker: &Masker, chunk: &[u8]) -> Vec<u8> {
        self.step(masker, chunk, false)
    }

    /// Ends the text, and gives the rest. The stream is then at the beginning of another.
    #[must_use]
    pub fn finish(&mut self, masker: &Masker) -> Vec<u8> {
        let rest = self.step(masker, &[], true);
        *self = Self::default();
        rest
    }

    /// Bytes that are held back or looked back at.
    #[cfg(test)]
    pub(super) fn carried(&self) -> usize {
        self.first.len().saturating_add(self.second.len())
    }

    fn step(&mut self, masker: &Masker, chunk: &[u8], last: bool) -> Vec<u8> {
        self.first.extend_from_slice(chunk);
        let (known, end) = masker.known.scan(&mut self.following, &self.first, last);
        self.second.extend_from_slice(&known);
        drop(known);
        self.first.drain(..end);

        let scanned = masker.unknown.scan(&mut self.swallow, &self.second, self.fresh, last);
        let (masked, end) = (scanned.masked.into_owned(), scanned.end);
        let behind = Unknown::behind(end);
        self.second.drain(..behind);
        self.fresh = end.saturating_sub(behind);
        masked
    }
}
