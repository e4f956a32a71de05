//! Which source wins, and what a reload does.

use super::{FILE, Given};
use crate::resolve::{Origin, Revision, reload};
use crate::schema::Key;
use ouroboros_proto::kind::Millis;

#[test]
fn flag_over_environment_over_file_over_default() {
    let mut given = Given::default();
    let origin = |given: &Given| {
        let settings = given.settings();
        (settings.queue_slots, settings.origin(Key::QueueSlots).clone())
    };
    assert_eq!(origin(&given), (4, Origin::Default));
    given.file = "# mine\nqueue.slots = 5\n".to_owned();
    assert_eq!(origin(&given), (5, Origin::File { line: 2 }));
    given = given.variable("OUROBOROS_QUEUE_SLOTS", "6");
    assert_eq!(origin(&given), (6, Origin::Environment { name: "OUROBOROS_QUEUE_SLOTS".into() }));
    given = given.flag(Key::QueueSlots, "7").flag(Key::QueueSlots, "8");
    assert_eq!(origin(&given), (8, Origin::Flag));
}

#[test]
fn a_bad_value_is_found_also_where_it_is_hidden() {
    let given = Given::file("[queue]\nslots = 257\n").variable("OUROBOROS_QUEUE_SLOTS", "6");
    let expected = format!("{FILE}:2: queue.slots: found 257, allowed is a whole number from 0 to 256");
    assert_eq!(given.problems(), [expected]);
}

#[test]
fn all_problems_are_told_at_once() {
    let given = Given::file("queue.slots = \"x\"\nlog.level = 1\n").variable("OUROBOROS_LOG_KEEP", "none");
    assert_eq!(
        given.problems(),
        [
            "environment variable OUROBOROS_LOG_KEEP: log.keep: found \"none\", allowed is a whole number from 0 to 100",
            "/etc/o/config.toml:1: queue.slots: found \"x\", allowed is a whole number from 0 to 256",
            "/etc/o/config.toml:2: log.level: found 1, allowed is one of trace, debug, info, warn, error",
        ]
    );
}

#[test]
fn a_reload_tells_what_changed_and_what_waits() {
    let old = Given::file("queue.slots = 5\nserver.listen = '127.0.0.1:1'\n").settings();
    let new = Given::file("\ntask.cancel_grace = '3s'\nqueue.slots = 5\nserver.listen = '127.0.0.1:2'\n");
    let first = reload(&old, &new.sources()).unwrap();
    assert_eq!(first.changed, [Key::TaskCancelGrace]);
    assert_eq!(first.needs_restart, [Key::ServerListen]);
    assert_eq!(first.settings.task_cancel_grace, Millis::seconds(3));
    assert_eq!(first.settings.server_listen, old.server_listen);
    assert_eq!(first.settings.revision, Revision::new(2));
    assert_eq!(first.settings.origin(Key::QueueSlots), &Origin::File { line: 3 });

    let again = reload(&first.settings, &new.sources()).unwrap();
    assert_eq!(again.changed, []);
    assert_eq!(again.needs_restart, [Key::ServerListen]);
    assert_eq!(again.settings, first.settings);
}

#[test]
fn a_bad_reload_changes_nothing_and_names_the_line() {
    let old = Given::file("queue.slots = 5\n").settings();
    for (text, place) in [("\n\nqueue.slots = -5\n", ":3: queue.slots"), ("queue.slots = 5\n[queue\n", ":2:7: ")] {
        let problems = reload(&old, &Given::file(text).sources()).unwrap_err();
        assert!(problems[0].to_string().starts_with(&format!("{FILE}{place}")), "{}", problems[0]);
    }
    assert_eq!(old.queue_slots, 5);
}
