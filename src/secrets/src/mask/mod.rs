//! Taking secrets out of text: those that are known, in every form in which they travel, and those that look like one.
//!
//! A secret is replaced by `[secret:<name>]`. Known ones have their own names; others are named for what they look like. Both
//! passes take time linear in the text. What is hidden in one piece is hidden in chunks alike, wherever it is cut: see
//! [`Stream`].
//!
//! | module | what it is for |
//! | --- | --- |
//! | `forms`, `known` | the forms of a known secret, and finding them |
//! | `ouroboros_shapes`, a crate | what secrets look like, and finding that |
//! | [`stream`], [`shared`], [`writer`] | text in chunks; one masker for the whole process; logs |
//!
//! Left out: secrets that are encrypted, compressed, split by line breaks, or in another encoding than those above; and what is
//! left of an unknown secret that happens to have a known one inside. A known secret of fewer than [`MIN_KNOWN_BYTES`] bytes is
//! not looked for, since it would also be part of other words. Unlike a [`Secret`], the automaton that knows them is not wiped
//! when it is dropped.

pub mod shared;
pub mod stream;
pub mod writer;

mod forms;
mod known;

pub use shared::SharedMasker;
pub use stream::Stream;
pub use writer::MaskingWriter;

use crate::secret::{Name, Secret};
use known::Known;
use ouroboros_shapes::Unknown;
use std::borrow::Cow;

/// Fewest bytes of a known secret that is looked for.
pub const MIN_KNOWN_BYTES: usize = 6;

/// Takes secrets out of text.
pub struct Masker {
    known: Known,
    unknown: Unknown,
}

/// The secrets are too many, or too long, to be looked for.
#[derive(Debug, thiserror::Error)]
#[error("the secrets cannot be looked for in text: {0}")]
pub struct MaskError(#[from] aho_corasick::BuildError);

impl Masker {
    /// A masker that knows these secrets; without any it knows the shapes alone.
    ///
    /// # Errors
    /// When they do not fit the automaton, which takes gigabytes of them.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a Name, &'a Secret)>) -> Result<Self, MaskError> {
        let known = secrets.into_iter().filter(|(_, secret)| secret.expose().len() >= MIN_KNOWN_BYTES);
        Ok(Self { known: Known::new(known)?, unknown: Unknown::new()? })
    }

    /// The text without secrets; nothing is copied when there are none.
    #[must_use]
    pub fn mask<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        match self.known.scan(&mut None, text, true).0 {
            Cow::Borrowed(text) => self.unknown.scan(&mut None, text, 0, true).masked,
            Cow::Owned(text) => {
                let masked = self.unknown.scan(&mut None, &text, 0, true).masked;
                Cow::Owned(masked.into_owned())
            }
        }
    }

    /// The text without secrets; nothing is copied when there are none.
    #[must_use]
    pub fn mask_str<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.mask(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // What is replaced is ASCII, so the rest is text as before.
            Cow::Owned(bytes) => Cow::Owned(match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod planted;
#[cfg(test)]
mod tests;
