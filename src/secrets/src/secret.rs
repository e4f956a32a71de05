//! A key in memory, and the name it has.

use std::fmt;
use std::sync::Arc;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// Longest secret, in bytes.
pub const MAX_BYTES: usize = 16 << 10;

/// Longest name of a secret, in bytes.
pub const MAX_NAME_BYTES: usize = ouroboros_shapes::MAX_NAME_BYTES;

/// Characters of a secret that may be shown, at its end.
const SHOWN_CHARS: usize = 4;

/// A secret this long or longer shows its last characters: they are then a small part of it.
const SHOWN_FROM: usize = 16;

/// A key. Clones share one copy, which is wiped when the last of them is dropped. It has no `Debug`, `Display` or `Serialize`, so
/// it cannot slip into a log line or an answer; equality takes the same time wherever two secrets of one length differ.
#[derive(Clone)]
pub struct Secret(Arc<Zeroizing<String>>);

/// Why a text cannot be a secret. It does not repeat the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Nothing is left without the line's end.
    #[error("the secret is empty")]
    Empty,
    /// It is longer than any key.
    #[error("the secret has {bytes} bytes, allowed are {MAX_BYTES}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// Keys travel in headers, where only visible ASCII is safe.
    #[error("byte {at} of the secret is not a visible ASCII character; was something else copied with it?")]
    Unprintable {
        /// The byte, counted from 1.
        at: usize,
    },
}

impl Secret {
    /// The secret with this text; line ends after it are not part of it. The text is wiped when it is refused.
    ///
    /// # Errors
    /// When it is empty, too long, or has a character that is not visible ASCII; spaces are not.
    pub fn new(text: String) -> Result<Self, Refused> {
        let mut text = Zeroizing::new(text);
        let length = text.trim_end_matches(['\r', '\n']).len();
        text.truncate(length);
        if text.is_empty() {
            return Err(Refused::Empty);
        }
        if text.len() > MAX_BYTES {
            return Err(Refused::TooLong { bytes: text.len() });
        }
        match text.bytes().position(|byte| !byte.is_ascii_graphic()) {
            Some(before) => Err(Refused::Unprintable { at: before.saturating_add(1) }),
            None => Ok(Self(Arc::new(text))),
        }
    }

    /// The text, for the one place that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What may be shown so that its owner knows it again: the last four characters, or nothing of a short one.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let shown = if self.0.len() < SHOWN_FROM { 0 } else { SHOWN_CHARS };
        self.0.get(self.0.len().saturating_sub(shown)..).unwrap_or_default().to_owned()
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Eq for Secret {}

/// The name of a secret: lower-case letters, digits, `-`, `_` and `.`, beginning with a letter or digit. It is safe inside JSON,
/// a URL and a file's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// A text is no name of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a secret's name has 1 to {MAX_NAME_BYTES} lower-case letters, digits, `-`, `_` or `.`, and begins with a letter or digit"
)]
pub struct BadName;

impl Name {
    /// The name with this text.
    ///
    /// # Errors
    /// When it is not one.
    pub fn new(text: &str) -> Result<Self, BadName> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let first = text.bytes().next().is_some_and(plain);
        let all = text.bytes().all(|byte| plain(byte) || matches!(byte, b'-' | b'_' | b'.'));
        if first && all && text.len() <= MAX_NAME_BYTES { Ok(Self(text.to_owned())) } else { Err(BadName) }
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_end_is_not_part_of_a_secret_and_what_no_key_has_is_refused() {
        let read = |text: &str| Secret::new(text.to_owned()).map(|secret| secret.expose().to_owned());
        assert_eq!(read("sk-abc"), Ok("sk-abc".to_owned()));
        assert_eq!(read("sk-abc\r\n"), Ok("sk-abc".to_owned()));
        assert_eq!(read("\n"), Err(Refused::Empty));
        assert_eq!(read("sk abc"), Err(Refused::Unprintable { at: 3 }));
        assert_eq!(read("\u{1b}sk"), Err(Refused::Unprintable { at: 1 }));
        assert_eq!(read("skä"), Err(Refused::Unprintable { at: 3 }));
        assert!(read(&"k".repeat(MAX_BYTES)).is_ok());
        assert_eq!(read(&"k".repeat(MAX_BYTES + 1)), Err(Refused::TooLong { bytes: MAX_BYTES + 1 }));
    }

    #[test]
    fn a_refusal_does_not_repeat_the_text() {
        let error = Secret::new("hunter2\u{7}".to_owned()).err().unwrap();
        assert!(!format!("{error} {error:?}").contains("hunter"));
    }

    #[test]
    fn a_fingerprint_shows_the_end_of_a_long_secret_only() {
        let fingerprint = |text: &str| Secret::new(text.to_owned()).ok().map(|secret| secret.fingerprint());
        assert_eq!(fingerprint("sk-0123456789abcdef").as_deref(), Some("cdef"));
        assert_eq!(fingerprint("short").as_deref(), Some(""));
    }

    #[test]
    fn secrets_are_equal_by_content() {
        let secret = |text: &str| Secret::new(text.to_owned()).ok().unwrap();
        assert!(secret("one-key") == secret("one-key"));
        assert!(secret("one-key") != secret("two-key"));
        assert!(secret("one-key") != secret("one-key-longer"));
    }

    #[test]
    fn nothing_prints_a_secret() {
        // An inherent constant wins over the trait's, and exists only where the bound holds.
        struct Of<T>(std::marker::PhantomData<T>);
        trait Otherwise {
            const PRINTS: bool = false;
        }
        impl<T> Otherwise for Of<T> {}
        #[allow(dead_code)]
        impl<T: fmt::Debug> Of<T> {
            const PRINTS: bool = true;
        }
        const { assert!(Of::<Name>::PRINTS && !Of::<Secret>::PRINTS) };
    }

    #[test]
    fn names_are_plain() {
        for name in ["openai", "openai-compatible", "my.key_2", "0"] {
            assert_eq!(Name::new(name).unwrap().to_string(), name);
        }
        for name in ["", "-a", "A", "a b", "a/b", "a\n", "ä", &"a".repeat(MAX_NAME_BYTES + 1)] {
            assert_eq!(Name::new(name), Err(BadName), "{name}");
        }
    }
}
