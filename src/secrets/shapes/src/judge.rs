//! Whether what stands at an anchor is a secret.

use super::class::{self, Class};
use super::output::OPENING;
use super::swallow::Swallow;
use super::table::{Doubt, Prefixed, Shape};
use crate::MAX_NAME_BYTES;
use std::ops::Range;

/// Bytes of a run that are looked at to tell a key from a word.
const LOOK: usize = 256;

/// Longest header of a web token.
const HEADER: usize = 4 << 10;

/// Longest user and password in a URL.
const USERINFO: usize = 512;

/// Most white space between `Bearer` and the token.
const GAP: usize = 8;

/// Longest first line of a key, without its hyphens.
const TITLE: usize = 48;

/// Bytes behind the first line of a key in which a line of it must begin: its headers are shorter.
const KEY_LOOK: usize = 1 << 10;

/// Fewest characters of such a line.
const KEY_LINE: usize = 32;

/// Bytes in front of an anchor that a judgement may look at.
pub const BEHIND: usize = 64;

/// Fewest bytes of a bearer's token, and fewest of one that could be a word.
const BEARER_MIN: usize = 16;
const BEARER_SURE: usize = 32;

/// Fewest characters without a hyphen in a key that is told by `sk-` alone.
const PIECE: usize = 16;

/// A judgement.
#[derive(Debug)]
pub enum Verdict {
    /// It is none.
    No,
    /// More text is needed to tell.
    More,
    /// It is one.
    Secret {
        /// From here it is replaced; what is in front of this stays.
        from: usize,
        /// What is written instead.
        label: &'static str,
        /// Up to here it is certain.
        to: usize,
        /// What of the text behind that belongs to it.
        then: Swallow,
    },
}

/// A text, and whether more may follow it.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Nothing follows.
    pub last: bool,
}

impl Text<'_> {
    /// What to say when the text ended before there was enough.
    fn short(self) -> Verdict {
        if self.last { Verdict::No } else { Verdict::More }
    }

    /// Where a run that begins at `from` ends, looking at `bound` bytes of it; nothing when that is not known yet.
    fn run(self, class: Class, from: usize, bound: usize) -> Option<usize> {
        let far = from.saturating_add(bound);
        let seen = self.bytes.get(..far).unwrap_or(self.bytes);
        let end = class.run(seen, from);
        (end < self.bytes.len() || end >= far || self.last).then_some(end)
    }

    fn part(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }
}

/// Judges the anchor at `at`.
pub fn judge(shape: Shape, text: Text<'_>, at: Range<usize>) -> Verdict {
    match shape {
        Shape::Prefixed(row) => prefixed(row, text, at),
        Shape::WebToken => web_token(text, at),
        Shape::Bearer => bearer(text, at.end),
        Shape::KeyBlock => key_block(text, at, class::KEY_BODY, false),
        Shape::KeyInSource => key_block(text, at, class::KEY_IN_SOURCE, true),
        Shape::Parameter { label } => parameter(label, text, at),
        Shape::Authority => authority(text, at),
    }
}

fn prefixed(row: &'static Prefixed, text: Text<'_>, at: Range<usize>) -> Verdict {
    if row.doubt != Doubt::None && !begins_word(text.bytes, at.start) {
        return Verdict::No;
    }
    let Some(end) = text.run(row.class, at.end, LOOK) else { return Verdict::More };
    let body = text.part(at.end..end);
    let key = match row.doubt {
        Doubt::None | Doubt::Inside => true,
        Doubt::Words => varied(body),
        Doubt::Hyphens => {
            varied(body) && body.split(|byte| matches!(byte, b'-' | b'_')).any(|piece| piece.len() >= PIECE)
        }
    };
    if body.len() < row.min || !key {
        return Verdict::No;
    }
    Verdict::Secret { from: at.start, label: row.label, to: at.end, then: Swallow::Run(row.class) }
}

fn web_token(text: Text<'_>, at: Range<usize>) -> Verdict {
    if !begins_word(text.bytes, at.start) {
        return Verdict::No;
    }
    let Some(header) = text.run(class::TOKEN, at.end, HEADER) else { return Verdict::More };
    if header.saturating_sub(at.end) < 10 {
        return Verdict::No;
    }
    let body = match text.part(header..header.saturating_add(2)) {
        // Encrypted directly: the second part is empty.
        b".." => header.saturating_add(2),
        [b'.', _] => header.saturating_add(1),
        [] | [b'.'] => return text.short(),
        _ => return Verdict::No,
    };
    let Some(end) = text.run(class::TOKEN, body, LOOK) else { return Verdict::More };
    if end.saturating_sub(body) < 10 {
        return Verdict::No;
    }
    Verdict::Secret { from: at.start, label: "[secret:web-token]", to: body, then: Swallow::Run(class::WEB_TOKEN) }
}

fn bearer(text: Text<'_>, from: usize) -> Verdict {
    let Some(token) = text.run(class::GAP, from, GAP) else { return Verdict::More };
    if token == from {
        return Verdict::No;
    }
    let Some(end) = text.run(class::BEARER, token, LOOK) else { return Verdict::More };
    let body = text.part(token..end);
    if body.len() < BEARER_MIN || (body.len() < BEARER_SURE && !varied(body)) {
        return Verdict::No;
    }
    Verdict::Secret { from: token, label: "[secret:bearer-token]", to: end, then: Swallow::Run(class::BEARER) }
}

/// A private key. With `lines`, a line of base64 must follow soon.
fn key_block(text: Text<'_>, at: Range<usize>, body: Class, lines: bool) -> Verdict {
    let Some(end) = text.run(class::KEY_TITLE, at.end, TITLE) else { return Verdict::More };
    let title = text.part(at.end..end);
    if !title.windows(11).any(|words| words == b"PRIVATE KEY") {
        return Verdict::No;
    }
    match text.part(end..end.saturating_add(5)) {
        b"-----" => {
            let to = end.saturating_add(5);
            // A program that looks for keys names the line and has nothing behind it.
            match text.bytes.get(to) {
                Some(byte) if body.has(*byte) => {}
                Some(_) => return Verdict::No,
                None => return text.short(),
            }
            if lines {
                let Some(end) = text.run(body, to, KEY_LOOK) else { return Verdict::More };
                if !has_line_of_key(text.part(to..end)) {
                    return Verdict::No;
                }
            }
            Verdict::Secret { from: at.start, label: "[secret:private-key]", to, then: Swallow::key_block(body) }
        }
        part if part.iter().all(|byte| *byte == b'-') => text.short(),
        _ => Verdict::No,
    }
}

fn has_line_of_key(body: &[u8]) -> bool {
    body.split(|byte| !class::BASE64.has(*byte)).any(|run| run.len() >= KEY_LINE)
}

fn parameter(label: &'static str, text: Text<'_>, at: Range<usize>) -> Verdict {
    if !in_query(text.bytes, at.start) {
        return Verdict::No;
    }
    value(text, class::VALUE, at.end, label)
}

/// Replaces a value unless it is empty, or a placeholder as a whole: masking a second time changes nothing.
fn value(text: Text<'_>, class: Class, from: usize, label: &'static str) -> Verdict {
    let Some(end) = text.run(class, from, OPENING.len().saturating_add(MAX_NAME_BYTES).saturating_add(2)) else {
        return Verdict::More;
    };
    if end == from || is_placeholder(text.part(from..end)) {
        return Verdict::No;
    }
    Verdict::Secret { from, label, to: end, then: Swallow::Run(class) }
}

fn authority(text: Text<'_>, at: Range<usize>) -> Verdict {
    let scheme = at.start.checked_sub(1).and_then(|before| text.bytes.get(before));
    if !scheme.is_some_and(u8::is_ascii_alphanumeric) {
        return Verdict::No;
    }
    let Some(end) = text.run(class::AUTHORITY, at.end, USERINFO) else { return Verdict::More };
    let whole = text.part(at.end..end);
    let (Some(colon), Some(sign)) =
        (whole.iter().position(|byte| *byte == b':'), whole.iter().rposition(|byte| *byte == b'@'))
    else {
        return Verdict::No;
    };
    let from = at.end.saturating_add(colon).saturating_add(1);
    let password = text.part(from..at.end.saturating_add(sign));
    if password.is_empty() || is_placeholder(password) {
        return Verdict::No;
    }
    let to = from.saturating_add(password.len());
    Verdict::Secret { from, label: "[secret:url-password]", to, then: Swallow::Nothing }
}

fn is_placeholder(text: &[u8]) -> bool {
    let name = text.strip_prefix(OPENING).and_then(|rest| rest.strip_suffix(b"]"));
    name.is_some_and(|name| !name.contains(&b']'))
}

/// Whether it is rather random than a word: it has digits, or capitals inside.
fn varied(body: &[u8]) -> bool {
    let rest = body.get(1..).unwrap_or_default();
    body.iter().any(u8::is_ascii_digit)
        || (rest.iter().any(u8::is_ascii_uppercase) && body.iter().any(u8::is_ascii_lowercase))
}

/// Whether a word begins at `at`: the byte before belongs to none, or only ends an escape such as `\n`, `\u003d`, `%3D` or
/// a colour.
fn begins_word(text: &[u8], at: usize) -> bool {
    let before = text.get(at.saturating_sub(BEHIND)..at).unwrap_or_default();
    let hex = |part: &[u8]| part.iter().all(u8::is_ascii_hexdigit);
    match before {
        [] => true,
        [.., byte] if !class::TOKEN.has(*byte) => true,
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., b'%', high, low] if hex(&[*high, *low]) => true,
        [.., b'\\', b'u', one, two, three, four] if hex(&[*one, *two, *three, *four]) => true,
        [colour @ .., b'm'] => {
            let digits = colour.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
            let (escape, _) = colour.split_at_checked(colour.len().saturating_sub(digits)).unwrap_or_default();
            escape.ends_with(b"\x1b[") || escape.ends_with(b"\\u001b[") || escape.ends_with(b"\\x1b[")
        }
        _ => false,
    }
}

/// Whether the name that ends with the anchor at `at` is that of a parameter in a URL.
fn in_query(text: &[u8], at: usize) -> bool {
    let before = text.get(at.saturating_sub(BEHIND)..at).unwrap_or_default();
    let name = before.iter().rev().take_while(|byte| class::PARAMETER.has(**byte)).count();
    let (before, name) = before.split_at_checked(before.len().saturating_sub(name)).unwrap_or_default();
    let lower = name.to_ascii_lowercase();
    match before.last() {
        Some(b'?' | b'&' | b';' | b'#') => true,
        // Escaped in JSON.
        Some(b'\\') => lower.starts_with(b"u0026") || lower.starts_with(b"u003f"),
        Some(_) | None => lower.windows(3).any(|part| part == b"%26" || part == b"%3f"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_behind_separators_and_escapes() {
        for before in ["", " ", "=", "\"", "\\n", "%3D", "%22", "\\u003d", "\u{1b}[31m", "\u{1b}[m", "ä"] {
            assert!(begins_word(before.as_bytes(), before.len()), "{before:?}");
        }
        for before in ["a", "di", "7", "_", "-", "n", "3D", "[31m"] {
            assert!(!begins_word(before.as_bytes(), before.len()), "{before:?}");
        }
    }

    #[test]
    fn parameters_are_those_of_urls() {
        for before in ["?", "https://h/?a=b&", "x?access_", "?user[", "?a=1&amp;", "\\u0026", "%26access_"] {
            assert!(in_query(before.as_bytes(), before.len()), "{before:?}");
        }
        for before in ["", " ", "max_", "let ", "--"] {
            assert!(!in_query(before.as_bytes(), before.len()), "{before:?}");
        }
    }

    #[test]
    fn random_is_told_from_words() {
        assert!(varied(b"a1") && varied(b"aB"));
        assert!(!varied(b"word") && !varied(b"Word") && !varied(b"WORD") && !varied(b""));
    }
}
