//! A file's bytes as text: told apart from binary data, masked as a whole, in windows.
//!
//! Reads and searches take text from here only, so a line has the same bytes in both. A window ends at the end of a line, and
//! not between the first and the last line of a key in PEM form or inside a token, so that what is hidden in a file is hidden in its windows.
//!
//! Lines keep their numbers: see `align`. Bytes that are no UTF-8 are shown as `�`. A line longer than a window comes in pieces.

mod align;
mod kind;

pub use kind::{Binary, binary};

use crate::registry::Mask;
use memchr::{memchr_iter, memmem, memrchr};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _};

/// Bytes at the start of a file that tell text from binary data.
pub const HEAD_BYTES: usize = 8 << 10;

/// Bytes that are read at once where only lines are counted.
const BLOCK_BYTES: usize = 256 << 10;

/// How far back a window may be cut so that a key is not.
const KEY_BYTES: usize = 64 << 10;

/// What the last line of a key begins with; five hyphens end it.
const LAST_LINE: &[u8] = b"-----END ";

/// How far back a line is cut so that a token is not.
const WORD_BYTES: usize = 4 << 10;

/// A part of a file as text.
#[derive(Debug)]
pub struct Window {
    /// Masked text: whole lines, or a piece of one.
    pub text: String,
    /// Whether its last line goes on in the next window, or ends with the file and no newline.
    pub open: bool,
    /// Whether some bytes were no UTF-8.
    pub lossy: bool,
    /// Whether something was hidden in it.
    pub hidden: bool,
}

/// A part of a file as its bytes: nothing of them is to be shown, but that they have as many lines as their text.
pub struct Raw(Vec<u8>);

impl Raw {
    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether its last line goes on in the next window, or ends with the file and no newline.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.last() != Some(&b'\n')
    }

    /// It as text.
    #[must_use]
    pub fn masked(&self, mask: Mask<'_>) -> Window {
        let raw = String::from_utf8_lossy(&self.0);
        let lossy = matches!(raw, Cow::Owned(_));
        let (text, hidden) = match mask(&raw) {
            Cow::Borrowed(text) => (text.to_owned(), false),
            Cow::Owned(text) => {
                let text = align::align(&raw, text, mask);
                let hidden = text != *raw;
                (text, hidden)
            }
        };
        Window { text, open: self.is_open(), lossy, hidden }
    }
}

/// How many lines end in a part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Line ends.
    pub ends: usize,
    /// Whether the last line has no end there; `None` when there was nothing.
    pub open: Option<bool>,
    /// Whether the file ends there.
    pub whole: bool,
}

/// A text file, window by window.
pub struct Windows<'a> {
    file: File,
    mask: Mask<'a>,
    size: usize,
    /// Bytes that were read and not yet given.
    rest: Vec<u8>,
    ended: bool,
}

/// What a file turned out to be.
pub enum Content<'a> {
    /// Text.
    Text(Windows<'a>),
    /// Something else.
    Binary(Binary),
}

/// Looks at the start of a file of about so many bytes.
///
/// # Errors
/// It cannot be read.
pub fn open(file: File, length: u64, mask: Mask<'_>, window: usize) -> io::Result<Content<'_>> {
    let size = window.max(HEAD_BYTES);
    // A byte more than there is, so that the end is found without growing.
    let room = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(1).min(size);
    let mut windows = Windows { file, mask, size, rest: Vec::with_capacity(room), ended: false };
    windows.fill(HEAD_BYTES)?;
    let head = windows.rest.get(..HEAD_BYTES).unwrap_or(&windows.rest);
    Ok(match binary(head) {
        Some(kind) => Content::Binary(kind),
        None => Content::Text(windows),
    })
}

impl Windows<'_> {
    /// The next window, masked; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn window(&mut self) -> io::Result<Option<Window>> {
        let mask = self.mask;
        Ok(self.raw()?.map(|raw| raw.masked(mask)))
    }

    /// The next window as it is in the file; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn raw(&mut self) -> io::Result<Option<Raw>> {
        self.fill(self.size)?;
        if self.rest.is_empty() {
            return Ok(None);
        }
        let end = if self.ended { self.rest.len() } else { cut(&self.rest) };
        let rest = self.rest.split_off(end);
        Ok(Some(Raw(std::mem::replace(&mut self.rest, rest))))
    }

    /// The file, read as far as it was.
    #[must_use]
    pub fn into_file(self) -> File {
        self.file
    }

    /// Counts the line ends in what is left, of at most so many bytes, and says whether that was all of it and whether the last line has
    /// no end. Nothing can be read after that.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn count(&mut self, most: u64) -> io::Result<Counted> {
        let mut counted = Counted { ends: memchr_iter(b'\n', &self.rest).count(), open: None, whole: true };
        counted.open = self.rest.last().map(|last| *last != b'\n');
        let mut left = most.saturating_sub(u64::try_from(self.rest.len()).unwrap_or(u64::MAX));
        let mut block = vec![0; BLOCK_BYTES];
        while !self.ended {
            if left == 0 {
                counted.whole = false;
                break;
            }
            let read = self.file.read(&mut block)?;
            let bytes = block.get(..read).unwrap_or_default();
            self.ended = bytes.is_empty();
            counted.ends = counted.ends.saturating_add(memchr_iter(b'\n', bytes).count());
            counted.open = bytes.last().map(|last| *last != b'\n').or(counted.open);
            left = left.saturating_sub(u64::try_from(read).unwrap_or(u64::MAX));
        }
        Ok(counted)
    }

    fn fill(&mut self, to: usize) -> io::Result<()> {
        let wanted = to.saturating_sub(self.rest.len());
        if wanted == 0 || self.ended {
            return Ok(());
        }
        let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
        let read = (&mut self.file).take(wanted).read_to_end(&mut self.rest)?;
        self.ended = u64::try_from(read).unwrap_or(u64::MAX) < wanted;
        Ok(())
    }
}

/// Where a window ends that the file goes on after.
fn cut(bytes: &[u8]) -> usize {
    let end = memrchr(b'\n', bytes).map_or_else(|| between_words(bytes), |newline| newline.saturating_add(1));
    let from = end.saturating_sub(KEY_BYTES);
    let tail = bytes.get(from..end).unwrap_or_default();
    let Some(begin) = memmem::rfind(tail, b"-----BEGIN ") else { return end };
    let key = tail.get(begin..).unwrap_or_default();
    let last = memmem::find(key, LAST_LINE).and_then(|last| key.get(last.saturating_add(LAST_LINE.len())..));
    if last.is_some_and(|last| memmem::find(last, b"-----").is_some()) {
        return end;
    }
    // In a line that is longer than all this, the key is what the next piece begins with.
    let line = memrchr(b'\n', tail.get(..begin).unwrap_or_default()).map_or(begin, |newline| newline.saturating_add(1));
    match from.saturating_add(line) {
        0 => end,
        line => line,
    }
}

/// A line that is longer than a window comes in pieces. No token is cut in two: none is longer than what is looked back.
fn between_words(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(WORD_BYTES);
    let ends_word = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`,;<>(){}".contains(byte);
    let last = bytes.get(from..).unwrap_or_default().iter().rposition(ends_word);
    last.map_or_else(|| between_characters(bytes), |last| from.saturating_add(last).saturating_add(1))
}

fn between_characters(bytes: &[u8]) -> usize {
    let is_inner = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let inner = bytes.iter().rev().take(3).take_while(is_inner).count();
    match bytes.len().saturating_sub(inner).saturating_sub(1) {
        0 => bytes.len(),
        end => end,
    }
}

/// The masked form of a text that is in memory already.
#[must_use]
pub fn masked(bytes: &[u8], mask: Mask<'_>) -> String {
    let raw = String::from_utf8_lossy(bytes);
    align::align(&raw, mask(&raw).into_owned(), mask)
}

/// How many lines there are; the last need not have an end.
#[must_use]
pub fn count_lines(bytes: &[u8]) -> usize {
    let open = usize::from(bytes.last().is_some_and(|last| *last != b'\n'));
    memchr_iter(b'\n', bytes).count().saturating_add(open)
}

/// `line` without its end, and cut to `max` characters around the byte `at`; what was cut is said.
#[must_use]
pub fn shorten(line: &str, at: usize, max: usize) -> String {
    let line = line.trim_end_matches(['\n', '\r']);
    let count = line.chars().count();
    if count <= max {
        return line.to_owned();
    }
    let before = line.char_indices().take_while(|(byte, _)| *byte < at).count();
    let skip = before.saturating_sub(max / 4).min(count.saturating_sub(max));
    let shown: String = line.chars().skip(skip).take(max).collect();
    let left = count.saturating_sub(max).saturating_sub(skip);
    let head = if skip == 0 { String::new() } else { format!("[{skip} characters cut]") };
    let tail = if left == 0 { String::new() } else { format!("[{left} characters cut]") };
    format!("{head}{shown}{tail}")
}

/// `n thing` or `n things`.
#[must_use]
pub fn counted(n: usize, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Cow<'_, str> {
        Cow::Borrowed(text)
    }

    fn windows(bytes: &[u8], size: usize) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        let Content::Text(mut windows) = open(File::open(path).unwrap(), 0, &plain, size).unwrap() else {
            return vec![];
        };
        std::iter::from_fn(|| windows.window().unwrap()).map(|window| window.text).collect()
    }

    #[test]
    fn windows_end_at_lines_and_together_are_the_file() {
        let text = "line of text\n".repeat(5_000) + "no end";
        let parts = windows(text.as_bytes(), HEAD_BYTES);
        assert!(parts.len() > 5);
        assert!(parts.iter().rev().skip(1).all(|part| part.ends_with('\n')));
        assert_eq!(parts.concat(), text);
        assert!(windows(b"", HEAD_BYTES).is_empty());
    }

    #[test]
    fn a_key_is_not_cut_in_two() {
        let key = format!("-----BEGIN PRIVATE KEY-----\n{}-----END PRIVATE KEY-----\n", "MIIEvQ\n".repeat(100));
        for lead in (HEAD_BYTES - 700..HEAD_BYTES).step_by(13) {
            let text = "x".repeat(lead) + "\n" + &key + &"more\n".repeat(2_000);
            let parts = windows(text.as_bytes(), HEAD_BYTES);
            assert!(parts.iter().any(|part| part.contains(&key)), "{lead}");
            assert_eq!(parts.concat(), text);
        }
    }

    #[test]
    fn a_line_without_an_end_is_cut_between_characters() {
        let text = "é€😀".repeat(HEAD_BYTES);
        assert_eq!(windows(text.as_bytes(), HEAD_BYTES).concat(), text);
    }

    #[test]
    fn long_lines_are_cut_around_what_matters() {
        assert_eq!(shorten("short\r\n", 0, 10), "short");
        assert_eq!(shorten("0123456789", 0, 4), "0123[6 characters cut]");
        assert_eq!(shorten("0123456789", 9, 4), "[6 characters cut]6789");
        assert_eq!(shorten("ééééééé", 6, 4), "[2 characters cut]éééé[1 characters cut]");
    }

    #[test]
    fn lines_are_counted_with_and_without_a_last_end() {
        for (text, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            assert_eq!(count_lines(text.as_bytes()), lines, "{text:?}");
        }
    }
}
