//! An answer that says the same again and again: it is called off, so that nobody pays for the rest.

use crate::model::Speech;
use ouroboros_proto::agent::Piece;
use std::ops::ControlFlow;

/// Bytes at the end of a text that are looked at.
const WINDOW: usize = 16 << 10;
/// The longest piece that counts as the same again: it stands there eight times then.
const LONGEST: usize = WINDOW / 8;
/// Bytes that come before it is looked again.
const STEP: usize = 4 << 10;
/// Characters of the beginning that are kept.
const HEAD: usize = 1_000;

/// Listens to one answer.
#[derive(Debug, Default)]
pub struct Hearing {
    text: Tail,
    reasoning: Tail,
    endless: bool,
}

impl Hearing {
    /// Takes the JSON of a piece. Of what comes while an answer is written only what is waited for is said: the answer itself is looked
    /// at when it is whole.
    pub fn take(&mut self, speech: &mut Speech, json: &[u8]) -> ControlFlow<()> {
        match serde_json::from_slice(json) {
            Ok(Piece::Status(words)) => speech.say(&words),
            Ok(Piece::Text(text)) => self.endless |= self.text.take(&text),
            Ok(Piece::Reasoning(text)) => self.endless |= self.reasoning.take(&text),
            // Files may well be the same over and over.
            Ok(Piece::ToolCall { .. } | Piece::Arguments { .. }) | Err(_) => {}
        }
        if self.endless { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// How the answer began, when it was without end.
    pub fn endless(self) -> Option<String> {
        let text = if self.text.head.is_empty() { self.reasoning.head } else { self.text.head };
        self.endless.then_some(text)
    }
}

/// The end of a text, and its beginning.
#[derive(Debug, Default)]
struct Tail {
    head: String,
    bytes: Vec<u8>,
    fresh: usize,
}

impl Tail {
    /// Whether the text repeats itself now.
    fn take(&mut self, text: &str) -> bool {
        let missing = HEAD.saturating_sub(self.head.chars().count());
        self.head.extend(text.chars().take(missing));
        self.bytes.extend_from_slice(text.as_bytes());
        self.fresh = self.fresh.saturating_add(text.len());
        if self.bytes.len() < WINDOW || self.fresh < STEP {
            return false;
        }
        self.fresh = 0;
        self.bytes.drain(..self.bytes.len().saturating_sub(WINDOW));
        period(&self.bytes) <= LONGEST
    }
}

/// The length of the shortest piece that a text is repetitions of: its own length less that of its longest border
/// (Knuth, Morris, Pratt 1977).
fn period(text: &[u8]) -> usize {
    let mut borders: Vec<usize> = Vec::with_capacity(text.len());
    let mut border = 0_usize;
    for (at, byte) in text.iter().enumerate() {
        if at > 0 {
            while border > 0 && text.get(border) != Some(byte) {
                border = borders.get(border.saturating_sub(1)).copied().unwrap_or(0);
            }
            if text.get(border) == Some(byte) {
                border = border.saturating_add(1);
            }
        }
        borders.push(border);
    }
    text.len().saturating_sub(border)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_piece_is_found() {
        for (text, length) in [("abababa", 2), ("aaaa", 1), ("abcd", 4), ("abcab", 3), ("", 0)] {
            assert_eq!(period(text.as_bytes()), length, "{text}");
        }
    }

    #[test]
    fn the_same_again_and_again_is_noticed_and_long_text_is_not() {
        let mut tail = Tail::default();
        let long: String = (0..20_000).map(|number| format!("line {number} of a listing\n")).collect();
        assert!(!long.as_bytes().chunks(300).any(|piece| tail.take(&String::from_utf8_lossy(piece))));
        let again = "I will look at the file now. ".repeat(20);
        let heard = (0..100).position(|_| tail.take(&again)).expect("it is noticed");
        assert!(heard * again.len() < 2 * WINDOW, "{heard}");
        assert!(tail.head.starts_with("line 0") && tail.head.chars().count() == HEAD);
    }
}
