//! A model sees marks where secrets are. Written back, a mark would take the secret's place.

use crate::registry::Mask;
use std::collections::HashSet;

/// The line of `after` that holds a mark which hides something in `before`; lines count from 1.
pub fn mask_in_place(before: &[u8], after: &[u8], mask: Mask<'_>) -> Option<usize> {
    let raw = String::from_utf8_lossy(before);
    let masked = mask(&raw);
    if *masked == *raw {
        return None;
    }
    let known: HashSet<&str> = words(&raw).collect();
    let marks: HashSet<&str> = words(&masked).filter(|word| !known.contains(word)).collect();
    let bare: HashSet<&str> = brackets(&masked).filter(|mark| !raw.contains(mark)).collect();
    let after = String::from_utf8_lossy(after);
    let holds =
        |line: &str| words(line).any(|word| marks.contains(word)) || brackets(line).any(|mark| bare.contains(mark));
    let line = after.lines().position(holds)?;
    Some(line.saturating_add(1))
}

/// Every `[…]` without white space inside: marks look so, also where something is attached to them.
fn brackets(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(']').filter_map(|part| {
        let mark = part.get(part.rfind('[')?..)?;
        (mark.ends_with(']') && !mark.contains(char::is_whitespace)).then_some(mark)
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "\"'`=,;(){}<>".contains(c)).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    fn hide(text: &str) -> Cow<'_, str> {
        Cow::Owned(text.replace("hunter2", "[secret:db]"))
    }

    #[test]
    fn a_mark_is_known_wherever_it_stands_and_other_text_passes() {
        let before = b"user=me\npassword='hunter2'\n";
        assert_eq!(mask_in_place(before, b"user=you\npassword='[secret:db]'\n", &hide), Some(2));
        assert_eq!(mask_in_place(before, b"pass: [secret:db] # new", &hide), Some(1));
        assert_eq!(mask_in_place(before, b"postgres://me:[secret:db]@host/x", &hide), Some(1));
        assert_eq!(mask_in_place(before, b"user=you\npassword='hunter2'\n", &hide), None);
        assert_eq!(mask_in_place(b"nothing here", b"[secret:db]", &hide), None);
    }
}
