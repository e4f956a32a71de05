//! Decimal text to integers, never through floating point.

use crate::price::PerMillion;
use ouroboros_proto::kind::NanoDollars;

/// `text` times ten to the power of `places`, rounded up. `None` for what is no amount, negative, or does not fit.
pub(super) fn scaled(text: &str, places: i32) -> Option<u64> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().next().is_none() || digits().count() > 60 || !digits().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Every digit from the first that counts to the last that counts; the rest is zeros.
    let shift = exponent.checked_add(places)?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let kept = usize::try_from(shift.min(0).unsigned_abs()).ok()?;
    let count = digits().count();
    let value = digits()
        .take(count.saturating_sub(kept))
        .try_fold(0_u128, |sum, digit| sum.checked_mul(10)?.checked_add(u128::from(digit.wrapping_sub(b'0'))))?;
    let rest = digits().skip(count.saturating_sub(kept)).any(|digit| digit != b'0');
    let value = match shift {
        _ if value == 0 => 0,
        1.. => value.checked_mul(10_u128.checked_pow(shift.unsigned_abs())?)?,
        _ => value,
    };
    u64::try_from(value.checked_add(u128::from(rest))?).ok()
}

/// Dollars as nano-dollars; a fraction of one counts as one.
pub(super) fn dollars(text: &str) -> Option<NanoDollars> {
    scaled(text, 9).map(NanoDollars::new)
}

/// Dollars a token as a price.
pub(super) fn dollars_a_token(text: &str) -> Option<PerMillion> {
    scaled(text, 15).map(PerMillion)
}

/// Dollars a million tokens as a price.
pub(super) fn dollars_a_million(text: &str) -> Option<PerMillion> {
    scaled(text, 9).map(PerMillion)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_and_rounded_up_below_the_last_place() {
        for (text, nanos) in [
            ("0.00014", 140_000),
            ("1.4e-4", 140_000),
            ("1.4E-04", 140_000),
            ("0.95", 950_000_000),
            ("0.0000000001", 1),
            ("1e-30", 1),
            ("0.1234567891", 123_456_790),
            ("0", 0),
            ("0.0", 0),
            ("0e5", 0),
            ("3", 3_000_000_000),
            ("1e2", 100_000_000_000),
            ("18446744073.709551615", u64::MAX),
        ] {
            assert_eq!(dollars(text), Some(NanoDollars::new(nanos)), "{text}");
        }
        for text in ["", ".", "-1", "-0.5", "x", "1.2.3", "1e", "1e99", "18446744073.709551616", "NaN"] {
            assert_eq!(dollars(text), None, "{text}");
        }
    }

    #[test]
    fn prices_a_token_are_exact() {
        assert_eq!(dollars_a_token("0.000003"), Some(PerMillion(3_000_000_000)));
        assert_eq!(dollars_a_token("0.00000003625"), Some(PerMillion(36_250_000)));
        assert_eq!(dollars_a_token("3e-06"), Some(PerMillion(3_000_000_000)));
        assert_eq!(dollars_a_token("-1"), None);
        assert_eq!(dollars_a_million("0.18"), Some(PerMillion(180_000_000)));
    }
}
