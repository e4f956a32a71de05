//! Ages, spans and times for people.

use ouroboros_proto::api::Timestamp;
use ouroboros_proto::kind::{Millis, UtcMicros};

/// An age in its largest unit: `42s`, `5m`, `3h`, `12d`.
pub fn age(span: Millis) -> String {
    let seconds = span.get() / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// How long something took: `0.25s`, `12.0s`, `3m07s`, `2h05m`, `4d03h`.
pub fn span(span: Millis) -> String {
    let (millis, seconds) = (span.get(), span.get() / 1_000);
    match seconds {
        0..10 => format!("{seconds}.{:02}s", millis % 1_000 / 10),
        10..60 => format!("{seconds}.{}s", millis % 1_000 / 100),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// How long before `now` this was.
pub fn ago(now: UtcMicros, then: Timestamp) -> String {
    age(now.since(then.0))
}

/// The time to the second: `2026-11-30 12:00:00Z`.
pub fn moment(time: Timestamp) -> String {
    let text = time.to_string();
    let seconds = text.split_once('.').map_or(text.as_str(), |(seconds, _)| seconds);
    format!("{}Z", seconds.replace('T', " "))
}

#[cfg(test)]
mod tests {
    use super::{age, moment, span};
    use ouroboros_proto::api::Timestamp;
    use ouroboros_proto::kind::{Millis, UtcMicros};

    #[test]
    fn spans_are_short_and_never_round_up() {
        let shown = [0, 999, 9_999, 59_999, 61_000, 3_600_000, 90_000_000].map(|millis| span(Millis::new(millis)));
        assert_eq!(shown, ["0.00s", "0.99s", "9.99s", "59.9s", "1m01s", "1h00m", "1d01h"]);
        let shown = [0, 59_999, 60_000, 3_599_999, 172_799_000, 172_800_000].map(|millis| age(Millis::new(millis)));
        assert_eq!(shown, ["0s", "59s", "1m", "59m", "47h", "2d"]);
    }

    #[test]
    fn a_moment_is_readable() {
        assert_eq!(moment(Timestamp(UtcMicros::new(951_782_400_999_999))), "2000-02-29 00:00:00Z");
    }
}
