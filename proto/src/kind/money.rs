//! Money. Integers only; a sum that would overflow saturates at the largest amount, so a limit can never be passed by wrapping.
//! The largest amount is what a signed 64-bit column holds: nine thousand million dollars.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A thousand-millionth of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct NanoDollars(u64);

impl NanoDollars {
    /// The largest amount.
    pub const MAX: Self = Self(i64::MAX.unsigned_abs());

    /// An amount of this many nano-dollars; the largest amount when it is more than that.
    #[must_use]
    pub const fn new(nanos: u64) -> Self {
        if nanos > Self::MAX.0 { Self::MAX } else { Self(nanos) }
    }

    /// Nano-dollars.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The sum, or the largest amount when it does not fit.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self::new(self.0.saturating_add(other.0))
    }

    /// The difference, or nothing when `other` is larger.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The amount that decimal dollars such as `2`, `0.50` or `1e-7` say, exactly. `None` when they say no amount, a negative one,
    /// one with a fraction of a nano-dollar, or one that does not fit.
    #[must_use]
    pub fn from_dollars(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = || whole.bytes().chain(fraction.bytes());
        if digits().next().is_none() || !digits().all(|byte| byte.is_ascii_digit()) || digits().count() > 60 {
            return None;
        }
        let shift = exponent.checked_add(9)?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        let value = digits()
            .try_fold(0_u128, |sum, digit| sum.checked_mul(10)?.checked_add(u128::from(digit.wrapping_sub(b'0'))))?;
        let power = || 10_u128.checked_pow(shift.unsigned_abs());
        let nanos = match (value, shift) {
            (0, _) => 0,
            (_, 0..) => value.checked_mul(power()?)?,
            _ => {
                let divisor = power()?;
                if value.checked_rem(divisor)? != 0 {
                    return None;
                }
                value.checked_div(divisor)?
            }
        };
        u64::try_from(nanos).ok().map(Self).filter(|amount| *amount <= Self::MAX)
    }
}

/// Exact, with at least cents: `$2.00`, `$0.0021`.
impl fmt::Display for NanoDollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dollars, nanos) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        let fraction = format!("{nanos:09}");
        let kept = fraction.trim_end_matches('0').len().max(2);
        write!(f, "${dollars}.{fraction:.kept$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_read_exactly_or_not_at_all() {
        for (text, nanos) in [
            ("2", 2_000_000_000),
            ("10.00", 10_000_000_000),
            ("0.000000001", 1),
            ("0.00000000100", 1),
            ("1e-7", 100),
            ("1.5E-6", 1_500),
            ("0", 0),
            (".5", 500_000_000),
            ("0e99", 0),
            ("9223372036.854775807", i64::MAX.unsigned_abs()),
        ] {
            assert_eq!(NanoDollars::from_dollars(text), Some(NanoDollars::new(nanos)), "{text}");
        }
        for text in ["", ".", "-1", "+1", "1.2.3", "1e", "x", "1 ", "0.0000000001", "9223372036.854775808", "1e40", "∞"]
        {
            assert_eq!(NanoDollars::from_dollars(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_shown_is_exact() {
        for (nanos, text) in [(0, "$0.00"), (2_000_000_000, "$2.00"), (2_100_000, "$0.0021"), (1, "$0.000000001")] {
            assert_eq!(NanoDollars::new(nanos).to_string(), text);
        }
    }
}
