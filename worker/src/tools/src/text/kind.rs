//! Telling text from binary data by the first bytes.

/// What a file that is no text is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binary(&'static str);

impl Binary {
    /// In words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// Whether it is an image that can be looked at.
    #[must_use]
    pub fn is_image(self) -> bool {
        self.0.ends_with(" image")
    }
}

const KINDS: [(&[u8], &str); 17] = [
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive or a document in one"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"BZh", "bzip2 data"),
    (b"\x7fELF", "a program or library (ELF)"),
    (b"\0asm", "WebAssembly"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\xff\xfe", "text in UTF-16, which cannot be read here"),
    (b"\xfe\xff", "text in UTF-16, which cannot be read here"),
    (b"\xca\xfe\xba\xbe", "a Java class or a Mach-O program"),
    (b"OggS", "Ogg media"),
];

/// What it is, when the start of a file is not that of a text: a known mark with a byte that is none of a text's, or a zero byte.
#[must_use]
pub fn binary(head: &[u8]) -> Option<Binary> {
    if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        return Some(Binary("a WebP image"));
    }
    let mark = KINDS.iter().find(|(mark, _)| head.starts_with(mark)).map(|(_, kind)| Binary(kind));
    match mark {
        Some(kind) if std::str::from_utf8(head).is_err() || head.contains(&0) || head.starts_with(b"%PDF-") => {
            Some(kind)
        }
        Some(_) | None => head.contains(&0).then_some(Binary("binary data")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_zero_bytes_tell_binary_data_and_words_do_not() {
        for (head, kind) in [
            (b"\x89PNG\r\n\x1a\n\0\0".as_slice(), Some("a PNG image")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("a WebP image")),
            (b"\xff\xfea\0", Some("text in UTF-16, which cannot be read here")),
            (b"some\0thing", Some("binary data")),
            (b"BZh is how bzip2 begins", None),
            (b"GIF89a is a mark", None),
            (b"caf\xe9", None),
            (b"", None),
        ] {
            assert_eq!(binary(head).map(Binary::as_str), kind, "{head:?}");
        }
    }
}
