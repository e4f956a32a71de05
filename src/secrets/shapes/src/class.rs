//! Sets of bytes, and runs of them.

/// A set of ASCII bytes. No byte beyond ASCII is in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class(u128);

impl Class {
    /// These bytes and all letters and digits.
    const fn alnum_and(others: &[u8]) -> Self {
        let mut set = Self::of(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz").0;
        set |= Self::of(others).0;
        Self(set)
    }

    const fn of(bytes: &[u8]) -> Self {
        let mut set = 0;
        let mut rest = bytes;
        while let [byte, others @ ..] = rest {
            set |= 1 << *byte;
            rest = others;
        }
        Self(set)
    }

    /// All visible characters but these.
    const fn visible_but(others: &[u8]) -> Self {
        let visible = (u128::MAX << 33) & !(1 << 127);
        Self(visible & !Self::of(others).0)
    }

    /// Whether the byte is in it.
    pub const fn has(self, byte: u8) -> bool {
        byte < 128 && self.0 >> byte & 1 == 1
    }

    /// Where a run of it that begins at `from` ends.
    pub fn run(self, text: &[u8], from: usize) -> usize {
        let rest = text.get(from..).unwrap_or_default();
        let length = rest.iter().position(|byte| !self.has(*byte)).unwrap_or(rest.len());
        from.saturating_add(length)
    }
}

/// Letters and digits.
pub const ALNUM: Class = Class::alnum_and(b"");
/// Letters, digits and `_`.
pub const WORD: Class = Class::alnum_and(b"_");
/// The alphabet of base64 for URLs.
pub const TOKEN: Class = Class::alnum_and(b"_-");
/// Parts of a web token with the points between them.
pub const WEB_TOKEN: Class = Class::alnum_and(b"_-.");
/// What follows `Bearer` (RFC 6750's b64token), also encoded for a URL.
pub const BEARER: Class = Class::alnum_and(b"_-.~+/=%");
/// What may stand between `Bearer` and the token.
pub const GAP: Class = Class::of(b" \t+:=");
/// Capitals and digits.
pub const UPPER: Class = Class::of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
/// The words in the first line of a key.
pub const KEY_TITLE: Class = Class::of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ");
/// What a private key consists of, with its headers, its indentation and line ends, be they escaped or not.
pub const KEY_BODY: Class = Class::alnum_and(b"+/=-:,.()\\ \t\r\n");
/// The same in a program's text, where its lines may stand in quotes.
pub const KEY_IN_SOURCE: Class = Class::alnum_and(b"+/=-:,.()\\ \t\r\n\"'");
/// What base64 consists of.
pub const BASE64: Class = Class::alnum_and(b"+/");
/// The value of a parameter in a URL.
pub const VALUE: Class = Class::visible_but(b"&#\"'<>\\`(),;|");
/// What is before the path of a URL.
pub const AUTHORITY: Class = Class::visible_but(b"/?#\"'<>\\`");
/// The name of a parameter in a URL.
pub const PARAMETER: Class = Class::alnum_and(b"_-.[]%");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_what_they_say() {
        assert!(TOKEN.has(b'_') && TOKEN.has(b'Z') && !TOKEN.has(b'.') && !TOKEN.has(b' '));
        assert!(VALUE.has(b'~') && VALUE.has(b'!') && !VALUE.has(b'&') && !VALUE.has(b' ') && !VALUE.has(0x7f));
        assert!((128..=255).all(|byte| !KEY_BODY.has(byte) && !AUTHORITY.has(byte)));
        assert_eq!(UPPER.run(b"abCD1e", 2), 5);
        assert_eq!(UPPER.run(b"ab", 2), 2);
    }
}
