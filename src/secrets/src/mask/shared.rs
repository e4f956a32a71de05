//! One masker for the whole process.

use super::{Masker, Stream, writer::MaskingWriter};
use std::borrow::Cow;
use std::io::Write;
use std::sync::{Arc, PoisonError, RwLock};

/// A handle on the masker in use. Clones share it: a key that is set is hidden everywhere from the next text or chunk on.
#[derive(Clone)]
pub struct SharedMasker(Arc<RwLock<Arc<Masker>>>);

impl SharedMasker {
    /// A masker that knows no key yet, and hides what looks like one.
    ///
    /// # Errors
    /// Never in practice: the shapes are fixed.
    pub fn of_shapes() -> Result<Self, super::MaskError> {
        Masker::new([]).map(Self::new)
    }

    /// Shares this masker.
    #[must_use]
    pub fn new(masker: Masker) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(masker))))
    }

    /// The masker in use. The lock is held for the copy of a pointer only.
    #[must_use]
    pub fn current(&self) -> Arc<Masker> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Uses this one from now on. To be called before the new key is used anywhere.
    pub fn replace(&self, masker: Masker) {
        let masker = Arc::new(masker);
        let before = std::mem::replace(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner), masker);
        // Freed outside the lock.
        drop(before);
    }

    /// The text without secrets.
    #[must_use]
    pub fn mask<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        self.current().mask(text)
    }

    /// The text without secrets.
    #[must_use]
    pub fn mask_str<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.current().mask_str(text)
    }

    /// Takes the next chunk of a stream.
    #[must_use]
    pub fn push(&self, stream: &mut Stream, chunk: &[u8]) -> Vec<u8> {
        stream.push(&self.current(), chunk)
    }

    /// Ends a stream.
    #[must_use]
    pub fn finish(&self, stream: &mut Stream) -> Vec<u8> {
        stream.finish(&self.current())
    }

    /// A writer that masks what is written through it.
    #[must_use]
    pub fn writer<W: Write>(&self, inner: W) -> MaskingWriter<W> {
        MaskingWriter::new(self.clone(), inner)
    }
}
