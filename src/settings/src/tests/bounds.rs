//! Every setting, through every source: its bounds hold, and nothing is clamped.

use super::{FILE, Given};
use crate::problem::Problem;
use crate::schema::{ALL, Setting};
use crate::source::Document;
use crate::value::{Allowance, ByteSize, Kind, Raw, Value};
use ouroboros_proto::kind::Millis;
use std::path::Path;

/// The allowed ends and the texts just outside them.
struct Ends {
    good: Vec<Value>,
    bad: Vec<String>,
}

fn ends(kind: Kind) -> Ends {
    let around = |min: u64, max: u64, value: fn(u64) -> Value| {
        let below = min.checked_sub(1).map(|below| value(below).to_string());
        Ends {
            good: vec![value(min), value(max)],
            bad: below.into_iter().chain([value(max + 1).to_string()]).collect(),
        }
    };
    match kind {
        Kind::Integer { min, max } => around(min, max, Value::Integer),
        Kind::Duration { min, max } => around(min.get(), max.get(), |millis| Value::Duration(Millis::new(millis))),
        Kind::Bytes { min, max } => around(min.get(), max.get(), |bytes| Value::Bytes(ByteSize::new(bytes))),
        Kind::Boolean => Ends { good: vec![Value::Boolean(false), Value::Boolean(true)], bad: vec!["yes".into()] },
        Kind::Choice(words) => {
            Ends { good: words.iter().map(|word| Value::Choice(word)).collect(), bad: vec![words[0].to_uppercase()] }
        }
        Kind::Address => Ends {
            good: ["127.0.0.1:0", "[::1]:65535"].map(|text| Value::Address(text.parse().unwrap())).to_vec(),
            bad: ["127.0.0.1", "127.0.0.1:65536", "localhost:80", ":80"].map(String::from).to_vec(),
        },
        Kind::Money => Ends {
            good: ["none", "0", "0.000000001", "12.5"]
                .map(|text| Value::Money(Allowance::read(text).unwrap()))
                .to_vec(),
            bad: ["-1", "0.0000000001", "unlimited", "1,5"].map(String::from).to_vec(),
        },
        Kind::Text { max } => Ends { good: vec![Value::Text("x".repeat(max))], bad: vec!["x".repeat(max + 1)] },
        Kind::Path => Ends { good: vec![Value::Path("/x".into())], bad: vec!["x".into()] },
    }
}

/// The value as TOML holds it.
fn toml(value: &Value) -> String {
    match value {
        Value::Integer(_) | Value::Boolean(_) => value.to_string(),
        _ => format!("{:?}", value.to_string()),
    }
}

fn file(setting: &Setting, value: &str) -> Given {
    Given::file(&format!("[{}]\n{} = {value}\n", setting.section, setting.name))
}

fn refused(setting: &Setting, given: &Given) {
    let problems = given.load().expect_err(&setting.key.to_string());
    let [Problem::BadValue { key, allowed, .. }] = problems.as_slice() else { panic!("{problems:?}") };
    assert_eq!((*key, *allowed), (setting.key, setting.kind));
    assert!(problems[0].to_string().contains(&setting.kind.to_string()), "{}", problems[0]);
}

#[test]
fn the_ends_are_allowed_in_every_source() {
    for setting in ALL {
        for value in ends(setting.kind).good {
            let text = value.to_string();
            let sources = [
                Given::default().flag(setting.key, &text),
                Given::default().variable(&setting.key.variable(), &text),
                file(setting, &toml(&value)),
            ];
            for given in sources {
                assert_eq!(given.settings().value(setting.key), value, "{}", setting.key);
            }
            let mut document = Document::parse(Path::new(FILE), "").unwrap();
            assert_eq!(document.set(setting.key, &text), Ok(value.clone()));
            assert_eq!(Given::file(document.render()).settings().value(setting.key), value);
        }
    }
}

#[test]
fn what_is_outside_is_refused_in_every_source() {
    let always = ["-1", "-5s", "ten", "1e3", " ", "nul\0", "\u{1f40d}"];
    for setting in ALL {
        // Free text is free: only its length and control characters are bounded.
        let free = matches!(setting.kind, Kind::Text { .. });
        let fits = |text: &&str| !free || text.contains(char::is_control);
        for text in ends(setting.kind).bad.iter().map(String::as_str).chain(always.into_iter().filter(fits)) {
            refused(setting, &Given::default().flag(setting.key, text));
            refused(setting, &Given::default().variable(&setting.key.variable(), text));
            refused(setting, &file(setting, &toml_edit::Value::from(text).to_string()));
            let mut document = Document::parse(Path::new(FILE), "").unwrap();
            assert!(document.set(setting.key, text).is_err());
            assert_eq!(document.render(), "");
        }
    }
}

#[test]
fn other_toml_shapes_are_refused() {
    for setting in ALL {
        for text in ["-1", "1.5", "[]", "{}", "[1]", "{ a = 1 }", "1979-05-27", "nan", "9223372036854775807"] {
            if text != "1.5" || setting.kind != Kind::Money {
                refused(setting, &file(setting, text));
            }
        }
        refused(setting, &Given::file(&format!("[{}.{}]\n", setting.section, setting.name)));
        refused(setting, &Given::file(&format!("[[{}.{}]]\n", setting.section, setting.name)));
    }
}

#[test]
fn without_a_source_the_default_counts() {
    let settings = Given::default().settings();
    for setting in ALL {
        let value = settings.value(setting.key);
        assert_eq!(setting.default_value(4), Ok(value.clone()));
        assert_eq!(setting.kind.read(&Raw::Untyped(value.to_string())), Ok(value));
    }
}

#[test]
fn slots_follow_the_processors_within_bounds() {
    for (processors, slots) in [(0, 2), (1, 2), (2, 2), (64, 64), (256, 256), (1_000, 256)] {
        let value = ALL[0].default_value(processors);
        assert_eq!(value, Ok(Value::Integer(slots)), "{processors}");
    }
}
