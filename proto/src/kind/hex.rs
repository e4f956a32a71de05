//! Bytes as hexadecimal text.

use std::fmt::Write as _;

/// Lower-case hexadecimal digits of `bytes`.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().saturating_mul(2));
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The bytes that `text` writes in hexadecimal; `None` when it is anything else.
#[must_use]
pub fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != N.checked_mul(2)? {
        return None;
    }
    let mut bytes = [0_u8; N];
    let mut digits = text.chars().map(|digit| digit.to_digit(16).and_then(|value| u8::try_from(value).ok()));
    for byte in &mut bytes {
        *byte = (digits.next()?? << 4) | digits.next()??;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_back_as_written_and_nothing_else_is_read() {
        assert_eq!(hex(&[0, 15, 255]), "000fff");
        assert_eq!(unhex("000fFF"), Some([0, 15, 255]));
        for text in ["", "000ff", "000fff0", "000ffg", "+00fff", "00é0f"] {
            assert_eq!(unhex::<3>(text), None, "{text}");
        }
    }
}
