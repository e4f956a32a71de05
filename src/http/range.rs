//! Which bytes of a stream are kept, and which of them a request wants.

use ouroboros_proto::api::{ApiError, Code, StreamView};

/// Bytes from `start` up to, not including, `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub start: u64,
    /// The one after the last.
    pub end: u64,
}

impl Span {
    /// How many.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// What is kept of a stream, in offsets of the stream as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Bytes that were written.
    pub written: u64,
    /// From the start.
    pub head: Span,
    /// From the end; empty while everything fits the head.
    pub tail: Span,
}

impl From<&StreamView> for Kept {
    fn from(view: &StreamView) -> Self {
        let head = Span { start: 0, end: view.head.min(view.written) };
        let tail = Span { start: view.written.saturating_sub(view.tail).max(head.end), end: view.written };
        let tail = if view.tail == 0 { Span { start: view.written, end: view.written } } else { tail };
        Self { written: view.written, head, tail }
    }
}

impl Kept {
    /// The bytes between head and tail that are not kept.
    #[must_use]
    pub fn gap(&self) -> Option<Span> {
        let gap = Span { start: self.head.end, end: self.tail.start };
        (gap.bytes() > 0).then_some(gap)
    }

    /// How many bytes are kept.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.head.bytes().saturating_add(self.tail.bytes())
    }

    /// The last `bytes` bytes, or as many of them as are kept in one piece.
    #[must_use]
    pub fn last(&self, bytes: u64) -> Span {
        let start = self.written.saturating_sub(bytes);
        let in_gap = self.gap().is_some_and(|gap| start < gap.end);
        Span { start: if in_gap { self.tail.start } else { start }, end: self.written }
    }

    /// The one span that a `Range` header asks for, cut where what is kept ends.
    ///
    /// # Errors
    /// `bad_range`: malformed, more than one, or it begins where nothing is kept.
    pub fn select(&self, header: &str) -> Result<Span, ApiError> {
        let asked = header.trim().strip_prefix("bytes=").ok_or_else(|| self.refuse("It is not a range of bytes."))?;
        let (first, last) = asked.split_once('-').ok_or_else(|| self.refuse("It is not a range of bytes."))?;
        let number =
            |text: &str| text.parse::<u64>().map_err(|_| self.refuse("Give one range, as `bytes=first-last`."));
        let (start, end) = if first.is_empty() {
            let span = self.last(number(last)?);
            (span.start, span.end)
        } else {
            let end = if last.is_empty() { self.written } else { number(last)?.saturating_add(1) };
            (number(first)?, end.min(self.written))
        };
        let holder = [self.head, self.tail].into_iter().find(|span| start >= span.start && start < span.end);
        // Head and tail that touch are one.
        let limit = holder.map(|span| if self.gap().is_none() { self.written } else { span.end });
        match limit {
            Some(limit) if start < end => Ok(Span { start, end: end.min(limit) }),
            _ => Err(self.refuse("Nothing is kept there.")),
        }
    }

    /// `bad_range`: what is kept moved on while it was read.
    #[must_use]
    pub fn dropped(&self) -> ApiError {
        self.refuse("Its bytes were dropped meanwhile.")
    }

    fn refuse(&self, why: &str) -> ApiError {
        ApiError::new(Code::BadRange, format!("The range cannot be given. {why}")).detail(serde_json::json!({
            "written": self.written,
            "head": self.head.end,
            "tail_from": self.tail.start,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(written: u64, head: u64, tail: u64) -> Kept {
        Kept::from(&StreamView { written, head, tail, truncated: head + tail < written, expired: false })
    }

    #[test]
    fn ranges_are_cut_where_what_is_kept_ends() {
        let cases = [
            (kept(10, 10, 0), "bytes=0-", Some((0, 10))),
            (kept(10, 10, 0), "bytes=3-5", Some((3, 6))),
            (kept(10, 10, 0), "bytes=3-99", Some((3, 10))),
            (kept(10, 10, 0), "bytes=-4", Some((6, 10))),
            (kept(10, 10, 0), "bytes=-99", Some((0, 10))),
            (kept(10, 10, 0), "bytes=10-", None),
            (kept(10, 10, 0), "bytes=5-4", None),
            (kept(10, 10, 0), "bytes=-0", None),
            (kept(0, 0, 0), "bytes=0-", None),
            (kept(10, 10, 0), "bytes=0-1,3-4", None),
            (kept(10, 10, 0), "lines=1-2", None),
            (kept(10, 10, 0), "bytes=x-", None),
            (kept(10, 6, 4), "bytes=4-8", Some((4, 9))),
            (kept(100, 6, 4), "bytes=0-99", Some((0, 6))),
            (kept(100, 6, 4), "bytes=6-99", None),
            (kept(100, 6, 4), "bytes=96-", Some((96, 100))),
            (kept(100, 6, 4), "bytes=-50", Some((96, 100))),
            (kept(100, 6, 4), "bytes=-2", Some((98, 100))),
            (kept(10, 10, 0), "bytes=0-18446744073709551615", Some((0, 10))),
        ];
        for (kept, header, expected) in cases {
            let found = kept.select(header).ok().map(|span| (span.start, span.end));
            assert_eq!(found, expected, "{header} of {kept:?}");
        }
        assert_eq!(kept(0, 0, 0).last(9), Span { start: 0, end: 0 });
        assert_eq!(kept(100, 6, 4).gap(), Some(Span { start: 6, end: 96 }));
        assert_eq!((kept(10, 6, 4).gap(), kept(10, 6, 4).bytes()), (None, 10));
    }
}
