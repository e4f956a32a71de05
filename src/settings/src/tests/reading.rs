//! What the file and the environment may look like.

use super::{FILE, Given};
use crate::problem::{Problem, UnknownKey};
use crate::resolve::check;
use crate::schema::Key;
use crate::source::{Document, MAX_FILE_BYTES};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

#[test]
fn tables_dotted_keys_and_inline_tables_are_the_same() {
    let table = Given::file("[queue]\nslots = 5\nspares = 2\n").settings();
    for text in ["queue.slots = 5\nqueue.spares = 2\n", "queue = { slots = 5, spares = 2 }\n"] {
        assert_eq!(table.differing(&Given::file(text).settings()), []);
    }
}

#[test]
fn an_unknown_name_is_a_warning_with_the_nearest() {
    let cases = [
        ("[queue]\n\nslot = 4\n", ":3: unknown setting queue.slot; did you mean queue.slots?"),
        ("[quue]\nslots = 4\n", ":2: unknown setting quue.slots; did you mean queue.slots?"),
        ("slots = 4\n", ":1: unknown setting slots; did you mean queue.slots?"),
        ("task.cancel-grace = 4\n", ":1: unknown setting task.cancel-grace; did you mean task.cancel_grace?"),
        ("[colour]\nsky = 'blue'\n", ":2: unknown setting colour.sky"),
        ("[colour]\n", ":1: unknown setting colour"),
        ("[log.level2.deep]\nx = 1\n", ":2: unknown setting log.level2.deep.x"),
        ("[[colour]]\nx = 1\n", ":1: unknown setting colour"),
    ];
    for (text, expected) in cases {
        assert_eq!(Given::file(text).warnings(), [format!("{FILE}{expected}")]);
    }
    assert_eq!(Given::file("[queue]\n").warnings(), [""; 0]);
}

#[test]
fn an_unknown_variable_is_a_warning_and_strangers_are_not_looked_at() {
    let given = Given::default()
        .variable("OUROBOROS_QUEUE_SLOT", "4")
        .variable("OUROBOROS_COLOUR", "blue")
        .variable("OUROBOROS_HOME", "/srv/o")
        .variable("OUROBOROS_LOG", "debug")
        .variable("OUROBOROS_TEST_STRICT", "1")
        .variable("OUROBOROS_LOG_KEEP", "")
        .variable("PATH", "/bin");
    let expected = [
        "environment variable OUROBOROS_QUEUE_SLOT: unknown setting OUROBOROS_QUEUE_SLOT; did you mean OUROBOROS_QUEUE_SLOTS?",
        "environment variable OUROBOROS_COLOUR: unknown setting OUROBOROS_COLOUR",
    ];
    assert_eq!(given.warnings(), expected);
}

#[test]
fn a_variable_that_is_not_utf8_is_a_problem() {
    let mut given = Given::default();
    given.environment.push(("OUROBOROS_LOG_LEVEL".into(), OsString::from_vec(vec![0xff])));
    assert!(given.problems()[0].contains("found text that is not UTF-8"));
    given.environment = vec![(OsString::from_vec(b"OUROBOROS_\xff".to_vec()), "x".into())];
    assert!(given.load().is_ok());
}

#[test]
fn broken_toml_names_line_and_column() {
    let cases = [("a = 1\n[queue\nslots = 4\n", (2, 7)), ("queue.slots = \n", (1, 15)), ("x = 1\nx = 2\n", (2, 1))];
    for (text, place) in cases {
        let problem = Document::parse(Path::new(FILE), text).unwrap_err();
        let Problem::Syntax { line, column, ref message, .. } = problem else { panic!("{problem:?}") };
        assert_eq!((line, column), place, "{text:?}: {message}");
        assert!(!message.is_empty());
    }
}

#[test]
fn a_group_is_no_value() {
    let given = Given::file("queue = 4\n");
    assert_eq!(
        given.problems(),
        ["/etc/o/config.toml:1: queue is a group of settings, not a value; write [queue] and the settings below it"]
    );
}

#[test]
fn hostile_files_are_refused_without_harm() {
    let large = "#".repeat(MAX_FILE_BYTES + 1);
    let long_key = format!("{} = 1\n", "k".repeat(MAX_FILE_BYTES - 10));
    let deep = format!("x = {}\n", "[".repeat(MAX_FILE_BYTES / 2));
    assert!(matches!(check(Path::new(FILE), &large).problems[..], [Problem::TooLarge { .. }]));
    assert!(matches!(check(Path::new(FILE), &deep).problems[..], [Problem::Syntax { .. }]));
    let checked = check(Path::new(FILE), &long_key);
    assert!(checked.problems.is_empty() && checked.warnings[0].to_string().len() < 200);
}

#[test]
fn keys_are_found_by_name_only() {
    assert_eq!("queue.slots".parse(), Ok(Key::QueueSlots));
    for name in ["", ".", "queue", "queue.", "queue.slots.x", "Queue.Slots", "queue slots"] {
        assert!(name.parse::<Key>().is_err(), "{name}");
    }
    let unknown: UnknownKey = "queue.slosts".parse::<Key>().unwrap_err();
    assert_eq!(unknown.to_string(), "unknown setting queue.slosts; did you mean queue.slots?");
}
