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

    /// The amount that a person writes: `2`, `0.50` or `$10.00`.
    ///
    /// # Errors
    /// It says no amount that can be kept.
    pub fn read(text: &str) -> Result<Self, NoAmount> {
        if text.contains(['e', 'E']) {
            return Err(NoAmount::NotDollars);
        }
        Self::from_dollars(text.strip_prefix('$').unwrap_or(text))
    }

    /// The amount that decimal dollars such as `2`, `0.50` or `1e-7` say, exactly.
    ///
    /// # Errors
    /// They say no amount, one with a fraction of a nano-dollar, or one that does not fit.
    pub fn from_dollars(text: &str) -> Result<Self, NoAmount> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().map_err(|_| NoAmount::NotDollars)?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = || whole.bytes().chain(fraction.bytes());
        if digits().next().is_none() || !digits().all(|byte| byte.is_ascii_digit()) {
            return Err(NoAmount::NotDollars);
        }
        // Zeros before the first digit that counts, and behind the last, say nothing.
        let all: Vec<u8> = digits().map(|byte| byte.wrapping_sub(b'0')).collect();
        let Some(first) = all.iter().position(|digit| *digit != 0) else { return Ok(Self(0)) };
        let behind = all.iter().rev().take_while(|digit| **digit == 0).count();
        let kept = all.get(first..all.len().saturating_sub(behind)).unwrap_or_default();
        let count = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
        // How often the digits that count are still to be multiplied by ten to be nano-dollars.
        let shift =
            i64::from(exponent).saturating_add(9).saturating_sub(count(fraction.len())).saturating_add(count(behind));
        if shift < 0 {
            return Err(NoAmount::TooFine);
        }
        let ten = |sum: u64, digit: u8| sum.checked_mul(10)?.checked_add(u64::from(digit));
        let value = kept.iter().try_fold(0_u64, |sum, digit| ten(sum, *digit));
        let power = u32::try_from(shift).ok().and_then(|shift| 10_u64.checked_pow(shift));
        let nanos = value.zip(power).and_then(|(value, power)| value.checked_mul(power));
        nanos.map(Self).filter(|amount| *amount <= Self::MAX).ok_or(NoAmount::TooLarge)
    }
}

/// Why a text says no amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoAmount {
    /// It is no number of dollars.
    #[error("not an amount of dollars such as 0.50")]
    NotDollars,
    /// It has a fraction of a nano-dollar.
    #[error("finer than the smallest amount there is, $0.000000001")]
    TooFine,
    /// It is more than can be counted.
    #[error("more than the largest amount there is, {}", NanoDollars::MAX)]
    TooLarge,
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
            assert_eq!(NanoDollars::from_dollars(text), Ok(NanoDollars::new(nanos)), "{text}");
        }
        let zeros = "0".repeat(70);
        assert_eq!(NanoDollars::from_dollars(&format!("{zeros}1.5{zeros}")), Ok(NanoDollars::new(1_500_000_000)));
        for (texts, why) in [
            (&["", ".", "-1", "+1", "1.2.3", "1e", "x", "1 ", "∞", "$1", "1e99999999999"][..], NoAmount::NotDollars),
            (&["0.0000000001", "1.0000000001", "1e-10", "1e-2147483648"][..], NoAmount::TooFine),
            (&["9223372036.854775808", "1e40", "99999999999999999999999", "1e2147483647"][..], NoAmount::TooLarge),
        ] {
            for text in texts {
                assert_eq!(NanoDollars::from_dollars(text), Err(why), "{text}");
            }
        }
    }

    #[test]
    fn people_write_a_sign_and_no_exponent() {
        assert_eq!(NanoDollars::read("$0.50"), Ok(NanoDollars::new(500_000_000)));
        assert_eq!(NanoDollars::read("$$1"), Err(NoAmount::NotDollars));
        assert_eq!(NanoDollars::read("1e3"), Err(NoAmount::NotDollars));
        assert_eq!(NoAmount::TooLarge.to_string(), "more than the largest amount there is, $9223372036.854775807");
    }

    #[test]
    fn what_is_shown_is_exact() {
        for (nanos, text) in [(0, "$0.00"), (2_000_000_000, "$2.00"), (2_100_000, "$0.0021"), (1, "$0.000000001")] {
            assert_eq!(NanoDollars::new(nanos).to_string(), text);
        }
    }
}
