//! Bytes as text: what kind they are of, in which encoding, and what a page in HTML says to who reads it.

use crate::message::{Refusal, Why};
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use std::borrow::Cow;

/// Bytes of text that leave, at most.
pub const TEXT_BYTES: usize = 8 << 20;

/// Columns that a page is laid out in.
const COLUMNS: usize = 120;

/// Bytes at the start of a page in which it may name its encoding.
const HEAD_BYTES: usize = 4 << 10;

/// Bytes of a title that are looked at.
const TITLE_BYTES: usize = 2 << 10;

/// What a body says.
#[derive(Debug, PartialEq, Eq)]
pub struct Said {
    /// The text.
    pub text: String,
    /// The title of a page.
    pub title: Option<String>,
    /// Some bytes were not in its encoding.
    pub lossy: bool,
    /// It is longer than it may be, and cut.
    pub cut: bool,
}

/// A media type with what is said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaType {
    /// Such as `text/html`, in small letters; empty when it was not said.
    pub essence: String,
    charset: Option<String>,
}

impl MediaType {
    /// Reads a `Content-Type` (RFC 9110, 8.3).
    #[must_use]
    pub fn parse(header: &str) -> Self {
        let mut parts = header.split(';');
        let essence: String = parts.next().unwrap_or_default().trim().to_ascii_lowercase().chars().take(100).collect();
        let charset = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"').to_owned())
        });
        Self { essence, charset }
    }

    fn kind(&self) -> Kind {
        let (family, name) = self.essence.split_once('/').unwrap_or(("", ""));
        let (name, suffix) = name.rsplit_once('+').unwrap_or((name, ""));
        match (family, name, suffix) {
            ("text", "html", _) | (_, "xhtml", "xml") => Kind::Html,
            ("text", ..) | (_, _, "json" | "xml" | "yaml") => Kind::Text,
            ("image", ..) => Kind::Image,
            (
                "application",
                "json"
                | "xml"
                | "yaml"
                | "x-yaml"
                | "toml"
                | "javascript"
                | "x-javascript"
                | "ecmascript"
                | "x-ndjson"
                | "x-sh"
                | "sql"
                | "graphql"
                | "x-www-form-urlencoded"
                | "x-httpd-php"
                | "json5"
                | "jsonlines",
                _,
            ) => Kind::Text,
            // What hosts say when they do not know.
            ("", ..) | ("application", "octet-stream" | "unknown", _) | ("binary", ..) => Kind::Unknown,
            _ => Kind::Other,
        }
    }

    /// Refuses what is no text before it is read.
    ///
    /// # Errors
    /// It is none.
    pub fn text_only(&self) -> Result<(), Refusal> {
        let essence = &self.essence;
        match self.kind() {
            Kind::Html | Kind::Text | Kind::Unknown => Ok(()),
            Kind::Image => Err(Refusal::new(
                Why::NotText,
                format!("it is an image ({essence}); one that is saved in the folder can be looked at with view_image"),
            )),
            Kind::Other => Err(Refusal::new(Why::NotText, format!("it is {essence:?}, which is no text"))),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Html,
    Text,
    Image,
    Unknown,
    Other,
}

/// What a body says. With `raw`, a page in HTML is given as it is written.
///
/// # Errors
/// It is no text.
pub fn said(bytes: &[u8], media: &MediaType, raw: bool) -> Result<Said, Refusal> {
    let kind = match media.kind() {
        Kind::Unknown if begins_as_html(bytes) => Kind::Html,
        Kind::Unknown if std::str::from_utf8(bytes).is_err() && Encoding::for_bom(bytes).is_none() => Kind::Other,
        Kind::Unknown => Kind::Text,
        kind => kind,
    };
    let (text, lossy) = decoded(bytes, media, kind == Kind::Html);
    if kind == Kind::Other || text.contains('\0') {
        return Err(Refusal::new(Why::NotText, "its bytes are those of no text"));
    }
    let title = if kind == Kind::Html { title(&text) } else { None };
    let text = if kind == Kind::Html && !raw { readable(text.as_bytes())? } else { text.into_owned() };
    let (text, cut) = bounded(text);
    Ok(Said { text, title, lossy, cut })
}

fn begins_as_html(bytes: &[u8]) -> bool {
    let head = bytes.trim_ascii_start();
    let begins = |with: &[u8]| head.get(..with.len()).is_some_and(|head| head.eq_ignore_ascii_case(with));
    begins(b"<!doctype html") || begins(b"<html")
}

/// In the encoding that the bytes, the host, or the page names, in this order; else UTF-8, and for a page that is not in it what
/// browsers take.
fn decoded<'a>(bytes: &'a [u8], media: &MediaType, html: bool) -> (Cow<'a, str>, bool) {
    let told = || media.charset.as_deref().and_then(|name| Encoding::for_label(name.as_bytes()));
    let named = || html.then(|| of_page(bytes)).flatten();
    let usual = || if html && std::str::from_utf8(bytes).is_err() { WINDOWS_1252 } else { UTF_8 };
    let encoding = told().or_else(named).unwrap_or_else(usual);
    // A mark at the beginning of the bytes wins.
    let (text, _, lossy) = encoding.decode(bytes);
    (text, lossy)
}

/// The encoding that a page names. One that says UTF-16 in ASCII is not in it.
fn of_page(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..HEAD_BYTES).unwrap_or(bytes).to_ascii_lowercase();
    let at = head.windows(8).position(|word| word == b"charset=")?.saturating_add(8);
    let rest = head.get(at..)?;
    let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
    let end =
        rest.iter().position(|byte| !(byte.is_ascii_alphanumeric() || b"-_:.".contains(byte))).unwrap_or(rest.len());
    let encoding = Encoding::for_label(rest.get(..end)?)?;
    Some(if encoding.is_ascii_compatible() { encoding } else { UTF_8 })
}

/// What a page says, laid out in columns; its links are numbers that a list at the end resolves.
fn readable(html: &[u8]) -> Result<String, Refusal> {
    let text = html2text::config::plain().link_footnotes(true).no_link_wrapping().string_from_read(html, COLUMNS);
    text.map_err(|error| Refusal::new(Why::NotText, format!("the page cannot be laid out: {error}")))
}

fn title(html: &str) -> Option<String> {
    let bytes = html.as_bytes();
    let find = |what: &[u8], from: usize| {
        let rest = bytes.get(from..)?;
        let at = rest.windows(what.len()).position(|word| word.eq_ignore_ascii_case(what))?;
        Some(from.saturating_add(at))
    };
    let from = find(b">", find(b"<title", 0)?)?.saturating_add(1);
    let to = find(b"</title", from)?.min(from.saturating_add(TITLE_BYTES));
    let title = String::from_utf8_lossy(bytes.get(from..to)?).replace('<', "&lt;");
    let plain = html2text::config::plain().string_from_read(title.as_bytes(), TITLE_BYTES).ok()?;
    let words = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    (!words.is_empty()).then(|| words.chars().take(300).collect())
}

fn bounded(mut text: String) -> (String, bool) {
    if text.len() <= TEXT_BYTES {
        return (text, false);
    }
    text.truncate(text.floor_char_boundary(TEXT_BYTES));
    (text, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(bytes: &[u8], header: &str) -> Said {
        said(bytes, &MediaType::parse(header), false).unwrap()
    }

    #[test]
    fn a_page_is_read_as_a_person_reads_it_with_its_links_as_references() {
        let page = b"<!doctype html><html><head><title>A &amp; B\n news</title><style>p{}</style></head><body>\
            <script>alert(1)</script><h1>Head</h1><p>One <a href=\"/two\">two</a>.</p><ul><li>x</li></ul></body></html>";
        let said = html(page, "text/html");
        assert_eq!(said.title.as_deref(), Some("A & B news"));
        assert!(
            said.text.contains("Head") && said.text.contains("[two][1]") && said.text.contains("[1]: /two"),
            "{}",
            said.text
        );
        assert!(!said.text.contains("alert") && !said.text.contains("p{}"));
        let raw = super::said(page, &MediaType::parse("text/html"), true).unwrap();
        assert!(raw.text.contains("<script>alert(1)</script>"));
    }

    #[test]
    fn encodings_are_those_that_are_named() {
        for (bytes, header, text) in [
            (&b"caf\xe9"[..], "text/plain; charset=ISO-8859-1", "caf\u{e9}"),
            (b"caf\xc3\xa9", "text/plain", "caf\u{e9}"),
            (b"\xef\xbb\xbfcaf\xc3\xa9", "text/plain; charset=latin1", "caf\u{e9}"),
            (b"\xff\xfea\0b\0", "text/plain", "ab"),
            (b"\x93\xfa\x96\x7b", "text/plain; charset=\"Shift_JIS\"", "\u{65e5}\u{672c}"),
            (b"\xcf\xf0\xe8", "text/plain;charset=windows-1251", "\u{41f}\u{440}\u{438}"),
        ] {
            let said = html(bytes, header);
            assert_eq!((said.text.as_str(), said.lossy), (text, false), "{header}");
        }
        let named = html(b"<meta charset='windows-1251'><p>\xcf\xf0\xe8</p>", "text/html");
        assert!(named.text.contains("\u{41f}\u{440}\u{438}"), "{}", named.text);
        let silent = html(b"<p>caf\xe9</p>", "text/html");
        assert!(silent.text.contains("caf\u{e9}"));
        assert!(html(b"caf\xe9", "text/plain").lossy);
    }

    #[test]
    fn kinds_are_told_and_what_is_none_of_a_text_is_refused() {
        for fine in [
            "text/html",
            "text/x-rust",
            "application/json",
            "application/ld+json",
            "image/svg+xml",
            "application/atom+xml",
            "",
        ] {
            assert!(MediaType::parse(fine).text_only().is_ok(), "{fine}");
        }
        for (bad, words) in [("image/png", "view_image"), ("application/pdf", "no text"), ("video/mp4", "no text")] {
            let refusal = MediaType::parse(bad).text_only().unwrap_err();
            assert!(refusal.why == Why::NotText && refusal.detail.contains(words), "{bad}: {}", refusal.detail);
        }
        let unknown = MediaType::parse("application/octet-stream");
        assert!(said(b"\x89PNG\r\n\x1a\n\0", &unknown, false).is_err());
        assert_eq!(said(b"plain", &unknown, false).unwrap().text, "plain");
        assert!(said(b" <HTML><b>x</b>", &unknown, false).unwrap().text.contains("**x**"));
        assert!(said(b"a\0b", &MediaType::parse("text/plain"), false).is_err());
    }

    #[test]
    fn a_page_of_many_open_elements_ends() {
        let deep = "<div>".repeat(1_000);
        assert!(said(deep.as_bytes(), &MediaType::parse("text/html"), false).is_ok());
    }

    #[test]
    fn a_long_text_is_cut_between_characters_and_says_so() {
        let (text, cut) = bounded("\u{e9}".repeat(TEXT_BYTES));
        assert!(cut && text.len() <= TEXT_BYTES);
    }
}
