//! Text of a model on its way to a terminal.

/// Shows control characters as escapes, except line ends and tabs, also where a character comes in pieces; what is no
/// UTF-8 is shown as U+FFFD.
#[derive(Debug, Default)]
pub struct Screen {
    /// The beginning of a character whose rest is still to come.
    begun: Vec<u8>,
}

impl Screen {
    /// What is shown for these bytes.
    pub fn show(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut rest = all.as_slice();
        let mut shown = String::with_capacity(rest.len());
        for chunk in all.utf8_chunks() {
            push(&mut shown, chunk.valid());
            rest = rest.get(chunk.valid().len()..).unwrap_or_default();
            if chunk.invalid().is_empty() {
                break;
            }
            // Without a length it may still become a character.
            if std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_none()) {
                self.begun = rest.to_vec();
                break;
            }
            shown.push(char::REPLACEMENT_CHARACTER);
            rest = rest.get(chunk.invalid().len()..).unwrap_or_default();
        }
        shown
    }

    /// What is shown for a character whose rest did not come.
    pub fn finish(&mut self) -> &'static str {
        if std::mem::take(&mut self.begun).is_empty() { "" } else { "\u{fffd}" }
    }
}

fn push(shown: &mut String, text: &str) {
    for letter in text.chars() {
        if letter.is_control() && !matches!(letter, '\n' | '\t') {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Screen;

    #[test]
    fn controls_are_shown_whole_or_in_pieces() {
        let text = "a\x1b[2Jb\x07\tc\r\n\u{9b}1m\x7f é€😀".as_bytes();
        let expected = "a\\u{1b}[2Jb\\u{7}\tc\\r\n\\u{9b}1m\\u{7f} é€😀";
        for size in 1..=text.len() {
            let mut screen = Screen::default();
            let shown: String = text.chunks(size).map(|piece| screen.show(piece)).collect();
            assert_eq!((shown.as_str(), screen.finish()), (expected, ""), "in pieces of {size}");
        }
    }

    #[test]
    fn what_is_no_text_is_marked() {
        let mut screen = Screen::default();
        assert_eq!(screen.show(b"a\x9bb\xff\xc2"), "a\u{fffd}b\u{fffd}");
        assert_eq!(screen.show(b"\x1b"), "\u{fffd}\\u{1b}");
        assert_eq!(screen.show(b"\xf0\x9f"), "");
        assert_eq!((screen.finish(), screen.finish()), ("\u{fffd}", ""));
    }
}
