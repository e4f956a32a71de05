//! Long texts by head and tail, with the place to read on from.

/// A text that is shown is not cut for less than this.
const WORTH: usize = 512;

/// What is left of a text that is longer than `most` bytes: two parts of its head, one of its tail, and between them what `hint` says of the
/// offset from which on, and the number of bytes, that are left out. `None` when it is not longer by enough. `whole` is the length of
/// the text that this one is already the head and tail of.
pub fn head_and_tail(
    text: &str,
    most: usize,
    whole: Option<usize>,
    hint: impl Fn(usize, usize) -> String,
) -> Option<String> {
    if text.len() <= most.saturating_add(WORTH) {
        return None;
    }
    let tail_bytes = most / 3;
    let head = head(text, most.saturating_sub(tail_bytes));
    let tail = tail(text, tail_bytes);
    let left_out = whole.unwrap_or(text.len()).saturating_sub(head.len().saturating_add(tail.len()));
    let gap = if head.ends_with('\n') || head.is_empty() { "" } else { "\n" };
    Some(format!("{head}{gap}{}\n{tail}", hint(head.len(), left_out)))
}

/// The beginning of a text in at most so many bytes: whole lines where that costs less than half of it.
pub fn head(text: &str, most: usize) -> &str {
    let end = text.floor_char_boundary(most);
    let piece = text.get(..end).unwrap_or_default();
    if end == text.len() {
        return piece;
    }
    match piece.rfind('\n').map(|at| at.saturating_add(1)) {
        Some(line) if line > end / 2 => piece.get(..line).unwrap_or(piece),
        Some(_) | None => piece,
    }
}

/// The end of a text in at most so many bytes, likewise.
fn tail(text: &str, most: usize) -> &str {
    let begin = text.ceil_char_boundary(text.len().saturating_sub(most));
    let piece = text.get(begin..).unwrap_or_default();
    match piece.find('\n').map(|at| at.saturating_add(1)) {
        Some(line) if line < piece.len() / 2 => piece.get(line..).unwrap_or(piece),
        Some(_) | None => piece,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_begins_where_the_head_ends() {
        let text: String = (0..2_000).map(|line| format!("línea {line}\n")).collect();
        let cut = head_and_tail(&text, 3_000, None, |from, bytes| format!("[{from} {bytes}]")).expect("it is long");
        assert!(cut.len() < 3_200, "{}", cut.len());
        let (head, rest) = cut.split_once('[').expect("a mark");
        let (numbers, tail) = rest.split_once("]\n").expect("its end");
        let (from, bytes) = numbers.split_once(' ').expect("two numbers");
        let (from, bytes): (usize, usize) = (from.parse().expect("one"), bytes.parse().expect("two"));
        assert!(text.starts_with(head) && text.ends_with(tail) && head.ends_with('\n'));
        assert_eq!((from, from + bytes + tail.len()), (head.len(), text.len()));
        assert!(head_and_tail(&text, text.len(), None, |_, _| String::new()).is_none());
        let line = "é".repeat(5_000);
        let cut = head_and_tail(&line, 100, Some(90_000), |from, bytes| format!("[{from} {bytes}]")).expect("long");
        assert!(cut.contains("\n[66 89902]\n") || cut.contains("\n[66 89902]"), "{cut}");
    }
}
