//! Byte counts as text: a number, with a binary unit or none.

use serde::Serialize;
use std::fmt;

const UNITS: [(&str, u64); 5] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ByteSize(u64);

impl ByteSize {
    /// This many bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// This many kibibytes.
    #[must_use]
    pub const fn kib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 10))
    }

    /// This many mebibytes.
    #[must_use]
    pub const fn mib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 20))
    }

    /// This many gibibytes.
    #[must_use]
    pub const fn gib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 30))
    }

    /// Bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Reads `1048576`, `1024KiB`, `1MiB`; `None` when the text is none of these, or does not fit 64 bits.
    pub(super) fn read(text: &str) -> Option<Self> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at_checked(digits)?;
        let size = match unit {
            "" => 1,
            unit => UNITS.iter().find(|(name, _)| *name == unit)?.1,
        };
        number.parse::<u64>().ok()?.checked_mul(size).map(Self)
    }
}

/// In the largest unit that divides it.
impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let divides = |size: u64| self.0 > 0 && self.0.is_multiple_of(size);
        match UNITS.iter().find(|(_, size)| divides(*size)) {
            Some((unit, size)) => write!(f, "{}{unit}", self.0 / size),
            None => f.write_str("0B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ByteSize;

    #[test]
    fn what_is_shown_reads_back() {
        for bytes in [0, 1, 1_000, 1_024, 1_025, 64 << 20, 10 << 30, 1 << 40, u64::MAX] {
            let size = ByteSize::new(bytes);
            assert_eq!(ByteSize::read(&size.to_string()), Some(size), "{size}");
        }
        assert_eq!(ByteSize::mib(64).to_string(), "64MiB");
        assert_eq!(ByteSize::read("1024KiB"), Some(ByteSize::mib(1)));
        assert_eq!(ByteSize::read("4096"), Some(ByteSize::kib(4)));
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "MiB", "-1", "1.5GiB", "1 MiB", "1MB", "1mib", "99999999999TiB"] {
            assert_eq!(ByteSize::read(text), None, "{text:?}");
        }
    }
}
