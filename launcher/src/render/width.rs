//! Columns of a terminal that text takes.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Columns of a text that has no control characters.
pub fn of(text: &str) -> usize {
    text.width()
}

/// The text in at most so many columns, an ellipsis included.
pub fn cut(text: &str, most: usize) -> String {
    if of(text) <= most {
        return text.to_owned();
    }
    let mut left = most.saturating_sub(1);
    let fits = text.chars().take_while(|letter| {
        let width = letter.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    });
    fits.chain(['…']).collect()
}

/// Texts of at most so many columns each, broken between words where there are any.
pub fn wrapped(text: &str, most: usize) -> Vec<String> {
    let most = most.max(8);
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split(' ') {
        let between = usize::from(!line.is_empty());
        if !line.is_empty() && of(&line).saturating_add(between).saturating_add(of(word)) > most {
            lines.push(std::mem::take(&mut line));
        } else if between > 0 {
            line.push(' ');
        }
        for letter in word.chars() {
            if of(&line).saturating_add(letter.width().unwrap_or(0)) > most {
                lines.push(std::mem::take(&mut line));
            }
            line.push(letter);
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::{cut, of, wrapped};

    #[test]
    fn wide_letters_take_two_columns() {
        assert_eq!((of("日本"), of("e\u{301}"), of("")), (4, 1, 0));
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("abc", 2), "a…");
        assert_eq!(cut("abc", 0), "…");
    }

    #[test]
    fn lines_break_between_words_and_in_words_that_are_too_long() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("日本語日本語", 8), ["日本語日", "本語"]);
        assert_eq!(wrapped("", 8), [""]);
    }
}
