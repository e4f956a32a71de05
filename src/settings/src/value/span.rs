//! Durations as text: numbers with units, largest unit first, each at most once.

use ouroboros_proto::kind::Millis;

const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Shows a duration with the fewest whole units: `1h30m`, `250ms`, `0s`.
pub(super) fn show(span: Millis) -> String {
    if span == Millis::ZERO {
        return "0s".to_owned();
    }
    let mut rest = span.get();
    let mut text = String::new();
    for (unit, size) in UNITS {
        let count = rest / size;
        rest %= size;
        if count > 0 {
            text.push_str(&format!("{count}{unit}"));
        }
    }
    text
}

/// Reads a duration; `None` when the text is none, or does not fit 64 bits of milliseconds.
///
/// A number without a unit is refused, except zero.
pub(super) fn read(text: &str) -> Option<Millis> {
    if text == "0" {
        return Some(Millis::ZERO);
    }
    let mut rest = text;
    let mut total = 0_u64;
    let mut units = UNITS.iter();
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, tail) = rest.split_at_checked(digits)?;
        let (unit, tail) = tail.split_at_checked(tail.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(tail.len()))?;
        let (_, size) = units.find(|(name, _)| *name == unit)?;
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(*size)?)?;
        rest = tail;
    }
    (!text.is_empty()).then(|| Millis::new(total))
}

#[cfg(test)]
mod tests {
    use super::{read, show};
    use ouroboros_proto::kind::Millis;

    #[test]
    fn what_is_shown_reads_back() {
        for millis in [0, 1, 999, 1_000, 1_001, 60_000, 5_400_000, 86_400_000, 31_622_400_000, u64::MAX] {
            let span = Millis::new(millis);
            assert_eq!(read(&show(span)), Some(span), "{}", show(span));
        }
        assert_eq!(show(Millis::new(5_400_000)), "1h30m");
        assert_eq!(show(Millis::new(1_250)), "1s250ms");
        assert_eq!(read("90m"), read("1h30m"));
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in
            ["", "5", "s", "5 s", "-5s", "1.5s", "5S", "5min", "30m1h", "1s1s", "5s ", "99999999999999999999d", "٣s"]
        {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
