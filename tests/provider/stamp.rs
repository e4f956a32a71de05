//! The time at which a frame is handed over, written into it.

use bytes::Bytes;
use ouroboros_proto::kind::clock;

/// The bytes with every `mark` replaced by the time now, microseconds since boot: its last digits, as many as `mark` has bytes. Nothing
/// else of them moves.
pub fn stamped(bytes: &Bytes, mark: &str) -> Bytes {
    let (mark, width) = (mark.as_bytes(), mark.len());
    if mark.is_empty() || !bytes.windows(width).any(|part| part == mark) {
        return bytes.clone();
    }
    let digits = format!("{:0>width$}", clock::boot().get()).into_bytes();
    let digits = digits.get(digits.len().saturating_sub(width)..).unwrap_or_default();
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest: &[u8] = bytes;
    while let Some((first, after)) = rest.split_first() {
        match rest.strip_prefix(mark) {
            Some(after) => {
                out.extend_from_slice(digits);
                rest = after;
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_the_time_and_nothing_else_moves() {
        let before = clock::boot().get();
        let out = stamped(&Bytes::from_static(b"a@@@@@@@@@@@@b@@@@@@@@@@@@@"), "@@@@@@@@@@@@");
        let text = std::str::from_utf8(&out).unwrap();
        let at: u64 = text.get(1..13).unwrap().parse().unwrap();
        assert!((before..=clock::boot().get()).contains(&at), "{text}");
        assert_eq!(text, format!("a{at:012}b{at:012}@"));
        assert_eq!(stamped(&Bytes::from_static(b"nothing"), "@@"), "nothing");
        assert_eq!(stamped(&Bytes::from_static(b"<>"), "<>").len(), 2, "of a long time the last digits are kept");
    }
}
