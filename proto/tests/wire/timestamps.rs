//! Times in JSON at their edges.

use ouroboros_proto::api::Timestamp;
use ouroboros_proto::kind::UtcMicros;

const DAY: i64 = 86_400_000_000;
/// 0001-01-01T00:00:00Z and the last microsecond of 9999.
const FIRST: i64 = -62_135_596_800_000_000;
const LAST: i64 = 253_402_300_799_999_999;

fn stamp(micros: i64) -> Timestamp {
    Timestamp(UtcMicros::new(micros))
}

#[test]
fn known_times_are_written_as_everyone_writes_them() {
    for (micros, text) in [
        (0, "1970-01-01T00:00:00.000000Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (1, "1970-01-01T00:00:00.000001Z"),
        (951_827_696_000_000, "2000-02-29T12:34:56.000000Z"),
        (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
        (FIRST, "0001-01-01T00:00:00.000000Z"),
        (LAST, "9999-12-31T23:59:59.999999Z"),
    ] {
        assert_eq!(stamp(micros).to_string(), text);
        assert_eq!(text.parse(), Ok(stamp(micros)));
        assert_eq!(serde_json::to_string(&stamp(micros)).unwrap(), format!("\"{text}\""));
        assert_eq!(serde_json::from_str::<Timestamp>(&format!("\"{text}\"")).unwrap(), stamp(micros));
    }
}

#[test]
fn every_day_of_four_centuries_reads_back() {
    let mut before = String::new();
    for day in -80_000..80_000 {
        let micros = day * DAY + 1;
        let text = stamp(micros).to_string();
        assert_eq!(text.parse(), Ok(stamp(micros)), "{text}");
        assert!(before < text, "{before} is before {text}");
        before = text;
    }
}

#[test]
fn fractions_may_be_short_or_missing() {
    for (text, micros) in [
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-01T00:00:01.5Z", 1_500_000),
        ("1970-01-01T00:00:01.000001Z", 1_000_001),
    ] {
        assert_eq!(text.parse(), Ok(stamp(micros)), "{text}");
    }
}

#[test]
fn what_is_no_time_is_refused() {
    for text in [
        "",
        "Z",
        "TZ",
        "--T::Z",
        "2026-11-30T12:00:00",
        "2026-11-30 12:00:00Z",
        "2026-11-30t12:00:00z",
        "2026-11-30T12:00Z",
        "2026-11-30T12:00:00.Z",
        "2026-11-30T12:00:00.1234567Z",
        "2026-11-30T12:00:00.+1Z",
        "2026-11-30T12:00:00,5Z",
        "2026-11-30T24:00:00Z",
        "2026-11-30T12:60:00Z",
        "2026-11-30T12:00:61Z",
        "2026-00-30T12:00:00Z",
        "2026-13-30T12:00:00Z",
        "2026-11-00T12:00:00Z",
        "2026-11-31T12:00:00Z",
        "2026-02-29T12:00:00Z",
        "2100-02-29T12:00:00Z",
        "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "-001-01-01T00:00:00Z",
        "+2026-11-30T12:00:00Z",
        "2026-+1-30T12:00:00Z",
        "2026-1-30T12:00:00Z",
        "26-11-30T12:00:00Z",
        "2026-11-30T1:00:00Z",
        "2026-11-30T12:00:+1Z",
        "2026-11-30T12:00:00ZZ",
        " 2026-11-30T12:00:00Z",
        "9223372036854775807-01-01T00:00:00Z",
    ] {
        assert!(text.parse::<Timestamp>().is_err(), "{text:?} reads as {:?}", text.parse::<Timestamp>());
    }
    for json in ["null", "0", "\"\"", "[]"] {
        assert!(serde_json::from_str::<Timestamp>(json).is_err(), "{json}");
    }
}

#[test]
fn times_that_no_clock_shows_are_still_written() {
    for micros in [i64::MIN, i64::MAX, FIRST - 1, LAST + 1] {
        assert!(stamp(micros).to_string().ends_with('Z'));
    }
}

#[test]
fn a_leap_second_is_the_second_after() {
    assert_eq!("2016-12-31T23:59:60Z".parse::<Timestamp>(), "2017-01-01T00:00:00Z".parse());
}
