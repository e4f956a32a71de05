//! Positions in a text.

/// Line and character at this byte, both counted from 1.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    let before = String::from_utf8_lossy(before);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// The text without the lines that `range` touches.
pub(super) fn without_lines(text: &str, range: &std::ops::Range<usize>) -> Option<String> {
    let start = text.get(..range.start)?.rfind('\n').map_or(0, |newline| newline + 1);
    let end = text.get(range.end..)?.find('\n').map_or(text.len(), |newline| range.end + newline + 1);
    Some(format!("{}{}", text.get(..start)?, text.get(end..)?))
}
