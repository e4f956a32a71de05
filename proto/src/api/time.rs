//! Times in JSON.

use crate::kind::UtcMicros;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::fmt;
use std::str::FromStr;

/// A wall-clock time that reads and writes as RFC 3339 in UTC with six decimals: `2026-11-30T12:00:00.000000Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub UtcMicros);

impl From<UtcMicros> for Timestamp {
    fn from(time: UtcMicros) -> Self {
        Self(time)
    }
}

impl Timestamp {
    /// For people: in UTC to the second, rounded up, so that what is due at it is due when it is read: `2026-11-30 12:00:00 UTC`.
    #[must_use]
    pub fn in_words(self) -> String {
        let text = Self(UtcMicros::new(self.0.get().saturating_add(999_999))).to_string();
        text.split('.').next().unwrap_or_default().replace('T', " ") + " UTC"
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.get();
        let (days, rest) = (micros.div_euclid(86_400_000_000), micros.rem_euclid(86_400_000_000));
        let (year, month, day) = civil(days);
        let (seconds, fraction) = (rest / 1_000_000, rest % 1_000_000);
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z")
    }
}

/// The text is not a time in the form this API writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a time like 2026-11-30T12:00:00Z")]
pub struct ParseTimestampError(String);

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).map(|micros| Self(UtcMicros::new(micros))).ok_or_else(|| ParseTimestampError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<i64> {
    let (date, clock) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    let days = days(year, month, day);
    // A day that its month does not have comes back as one of the next month.
    let in_range = (1..=9_999).contains(&year)
        && (1..=12).contains(&month)
        && civil(days) == (year, month, day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..61).contains(&second)
        && (1..=6).contains(&fraction.len());
    if !in_range {
        return None;
    }
    let micros = number(&format!("{fraction:0<6}"), 6)?;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + micros)
}

/// Three numbers of these widths with `separator` between them.
fn numbers(text: &str, separator: char, widths: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.splitn(3, separator);
    let [first, second, third] = widths;
    Some([number(parts.next()?, first)?, number(parts.next()?, second)?, number(parts.next()?, third)?])
}

/// A number of exactly this many digits, and nothing else.
fn number(text: &str, digits: usize) -> Option<i64> {
    let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// Days since the epoch of a date in the proleptic Gregorian calendar, counting years from March so that leap days come last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days`].
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_back_as_written() {
        for micros in [0, 1, 951_782_400_000_000, 1_709_164_800_000_001, 1_796_040_000_123_456, -1, -86_400_000_001] {
            let text = Timestamp(UtcMicros::new(micros)).to_string();
            assert_eq!(text.parse(), Ok(Timestamp(UtcMicros::new(micros))), "{text}");
        }
        assert_eq!(Timestamp(UtcMicros::new(951_782_400_000_000)).to_string(), "2000-02-29T00:00:00.000000Z");
    }

    #[test]
    fn a_time_in_words_is_never_earlier() {
        let words = |micros| Timestamp(UtcMicros::new(micros)).in_words();
        assert_eq!(words(951_782_400_000_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(words(951_782_400_000_001), "2000-02-29 00:00:01 UTC");
    }

    #[test]
    fn what_is_not_a_time_is_refused() {
        for text in ["", "2026-11-30", "2026-13-01T00:00:00Z", "2026-11-30T25:00:00Z", "2026-11-30T00:00:00+01:00"] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }
}
