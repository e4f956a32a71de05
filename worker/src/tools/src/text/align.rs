//! Keeping the numbers of lines where a mask stands for several lines at once.
//!
//! A key in PEM form becomes one mark. So that a line has the number that compilers, patches and edits give it, empty lines are
//! put behind the mark. Which lines it stands for is found by masking them alone: as many as still give the same line.

use crate::registry::Mask;

/// Lines that one mark stands for, at most.
const LINES: usize = 512;
/// How often lines are masked alone for one text. A text with more such marks than that keeps its first numbers only.
const TRIES: usize = 16_384;

/// `masked`, which is `raw` masked, with as many lines as `raw` where it has fewer.
pub fn align(raw: &str, masked: String, mask: Mask<'_>) -> String {
    let (from, to) = (starts(raw), starts(&masked));
    let Some(mut missing) = from.len().checked_sub(to.len()).filter(|missing| *missing > 0) else { return masked };
    let mut aligned = String::with_capacity(masked.len().saturating_add(missing));
    let (mut at, mut tries) = (0_usize, TRIES);
    for line in masked.split_inclusive('\n') {
        aligned.push_str(line);
        let more = if missing == 0 || span(raw, &from, at, 0) == line {
            0
        } else {
            stands_for(&mut tries, missing.min(LINES), |more| mask(span(raw, &from, at, more)) == line)
        };
        if line.ends_with('\n') {
            aligned.extend(std::iter::repeat_n('\n', more));
        }
        missing = missing.saturating_sub(more);
        at = at.saturating_add(more).saturating_add(1);
    }
    aligned
}

/// How many lines more than one a masked line stands for.
fn stands_for(tries: &mut usize, most: usize, is: impl Fn(usize) -> bool) -> usize {
    let mut found = None;
    for more in 0..=most {
        let Some(left) = tries.checked_sub(1) else { break };
        *tries = left;
        match (is(more), found) {
            (true, _) => found = Some(more),
            (false, Some(_)) => break,
            (false, None) => {}
        }
    }
    found.unwrap_or(0)
}

/// The line at `at` and `more` behind it.
fn span<'a>(raw: &'a str, starts: &[usize], at: usize, more: usize) -> &'a str {
    let from = starts.get(at).copied().unwrap_or(raw.len());
    let to = starts.get(at.saturating_add(more).saturating_add(1)).copied().unwrap_or(raw.len());
    raw.get(from..to).unwrap_or_default()
}

/// Where each line begins.
fn starts(text: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = 0_usize;
    for line in text.split_inclusive('\n') {
        starts.push(at);
        at = at.saturating_add(line.len());
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    /// Every `<…>` over several lines, and every `S`, becomes a mark; so does what follows a `<` alone.
    fn mask(raw: &str) -> Cow<'_, str> {
        let mut masked = raw.replace('S', "[s]");
        while let (Some(begin), Some(end)) = (masked.find('<'), masked.find('>')) {
            masked.replace_range(begin..=end, "[key]");
        }
        if let Some(begin) = masked.find('<') {
            masked.replace_range(begin.., "[key]\n");
        }
        Cow::Owned(masked)
    }

    #[test]
    fn lines_keep_their_numbers_around_marks_for_several_lines() {
        for (raw, aligned) in [
            ("a\nb\n", "a\nb\n"),
            ("a S\nb\n", "a [s]\nb\n"),
            ("a\n<1\n2\n3>\nb\nc\n", "a\n[key]\n\n\nb\nc\n"),
            ("x = <1\n\n3>;\n\nb\n", "x = [key];\n\n\n\nb\n"),
            ("<1\n2>\nb\nS\nS\n<3\n4\n5>\nc\nd\n", "[key]\n\nb\n[s]\n[s]\n[key]\n\n\nc\nd\n"),
            ("<1\n2>\n<3\n4>\nc\n", "[key]\n\n[key]\n\nc\n"),
            ("a\n<1\n2>\n", "a\n[key]\n\n"),
            ("a\n<1\n2>", "a\n[key]"),
        ] {
            assert_eq!(align(raw, mask(raw).into_owned(), &mask), aligned, "{raw:?}");
        }
    }

    #[test]
    fn a_text_of_many_marks_does_not_take_forever() {
        let raw = "<1\n2\n3>\nline\n".repeat(10_000);
        let aligned = align(&raw, mask(&raw).into_owned(), &mask);
        assert!(aligned.starts_with(&"[key]\n\n\nline\n".repeat(1_000)));
        assert!(!aligned.contains('1'));
    }

    #[test]
    fn a_mask_that_adds_lines_is_left_as_it_is() {
        assert_eq!(align("a\n", "a\nb\n".to_owned(), &mask), "a\nb\n");
    }
}
