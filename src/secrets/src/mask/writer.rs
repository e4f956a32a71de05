//! Masking what is written, for logs above all.
//!
//! A layer of `tracing-subscriber` takes any function that makes writers: `move || masker.writer(inner.clone())`. Where the
//! writer depends on the level, the line itself is masked with [`SharedMasker::mask`].

use super::shared::SharedMasker;
use super::stream::Stream;
use std::io::{self, Write};

/// A writer that masks what is written through it. An unfinished word waits for the next write, or for the drop; a flush does
/// not give it away.
pub struct MaskingWriter<W: Write> {
    masker: SharedMasker,
    stream: Stream,
    inner: W,
}

impl<W: Write> MaskingWriter<W> {
    pub(super) fn new(masker: SharedMasker, inner: W) -> Self {
        Self { masker, stream: Stream::new(), inner }
    }

    /// Writes what waits, as the end of the text.
    ///
    /// # Errors
    /// The inner writer's.
    pub fn finish(&mut self) -> io::Result<()> {
        let rest = self.masker.finish(&mut self.stream);
        if rest.is_empty() { Ok(()) } else { self.inner.write_all(&rest) }
    }
}

impl<W: Write> Write for MaskingWriter<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let masked = self.masker.push(&mut self.stream, text);
        // One write for one: the inner writer may give each a head of its own.
        if !masked.is_empty() {
            self.inner.write_all(&masked)?;
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Write> Drop for MaskingWriter<W> {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = self.finish();
    }
}
