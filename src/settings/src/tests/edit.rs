//! Edits keep everything else.

use super::FILE;
use crate::problem::Problem;
use crate::schema::{ALL, Key};
use crate::source::Document;
use std::path::Path;

fn parse(text: &str) -> Document {
    Document::parse(Path::new(FILE), text).unwrap()
}

fn set(text: &str, key: Key, value: &str) -> String {
    let mut document = parse(text);
    document.set(key, value).unwrap();
    document.render().to_owned()
}

fn unset(text: &str, key: Key) -> String {
    let mut document = parse(text);
    assert_eq!(document.unset(key), Ok(true));
    document.render().to_owned()
}

const COMMENTED: &str = "\
# My machine.

[queue] # the queue
# Four is plenty.
slots   =   4   # really
spares = 2

# Logs below.
[log]
level = 'debug' # noisy
colour = \"kept\"
# The end.
";

#[test]
fn a_changed_value_keeps_its_comments() {
    let text = set(COMMENTED, Key::QueueSlots, "8");
    assert_eq!(text, COMMENTED.replace("=   4   #", "=   8   #"));
    let text = set(&text, Key::LogLevel, "warn");
    assert_eq!(text, COMMENTED.replace("=   4   #", "=   8   #").replace("'debug'", "\"warn\""));
}

#[test]
fn a_new_value_goes_to_its_table() {
    let text = set(COMMENTED, Key::QueueMaxTasks, "10");
    assert_eq!(text, COMMENTED.replace("spares = 2\n", "spares = 2\nmax_tasks = 10\n"));
    let text = set(COMMENTED, Key::ServerIdleExit, "90m");
    assert_eq!(text, format!("{COMMENTED}\n[server]\nidle_exit = \"1h30m\"\n"));
    assert_eq!(set("", Key::TaskNoNewPrivs, "false"), "[task]\nno_new_privs = false\n");
    assert_eq!(set("# Mine.\n", Key::LogKeep, "1"), "# Mine.\n\n[log]\nkeep = 1\n");
    assert_eq!(set("queue.slots = 4\n", Key::QueueSpares, "1"), "queue.slots = 4\nqueue.spares = 1\n");
    assert_eq!(set("queue = { slots = 4 }\n", Key::QueueSpares, "1"), "queue = { slots = 4, spares = 1 }\n");
}

#[test]
fn an_unset_value_leaves_the_comments_above_it() {
    let without = COMMENTED.replace("slots   =   4   # really\n", "");
    assert_eq!(unset(COMMENTED, Key::QueueSlots), without);
    assert_eq!(unset("queue.slots = 4 # x\nqueue.spares = 1", Key::QueueSpares), "queue.slots = 4 # x\n");
    assert_eq!(unset("queue = { slots = 4, spares = 1 }\n", Key::QueueSlots), "queue = { spares = 1 }\n");
    assert_eq!(unset("[queue.slots]\nx = 1\n[log]\nkeep = 1\n", Key::QueueSlots), "[log]\nkeep = 1\n");
    assert_eq!(parse(COMMENTED).unset(Key::LogKeep), Ok(false));
}

#[test]
fn every_setting_can_be_set_and_unset() {
    for setting in ALL {
        for start in ["", COMMENTED] {
            let mut document = parse(start);
            document.unset(setting.key).unwrap();
            let default = setting.default_value(4).unwrap().to_string();
            document.set(setting.key, &default).unwrap();
            assert_eq!(document.read().problems, []);
            let lines = document.render().lines().count();
            assert_eq!(document.unset(setting.key), Ok(true));
            assert_eq!(document.unset(setting.key), Ok(false));
            assert_eq!(document.render().lines().count(), lines - 1);
        }
    }
}

#[test]
fn a_refused_edit_leaves_the_text() {
    let mut document = parse("queue = 4\n");
    let edit = document.set(Key::QueueSlots, "5").unwrap_err();
    assert!(matches!(edit, Problem::NotATable { .. }));
    let edit = document.set(Key::LogKeep, "many").unwrap_err();
    assert_eq!(edit.to_string(), "edit: log.keep: found \"many\", allowed is a whole number from 0 to 100");
    assert_eq!(document.render(), "queue = 4\n");
}

#[test]
fn the_caller_writes() {
    let mut written = None;
    let document = parse(COMMENTED);
    document
        .save(|path, bytes| {
            written = Some((path.to_owned(), bytes.to_vec()));
            Ok(())
        })
        .unwrap();
    assert_eq!(written, Some((FILE.into(), COMMENTED.as_bytes().to_vec())));
    assert!(document.save(|_, _| Err(std::io::ErrorKind::StorageFull.into())).is_err());
}

#[test]
fn line_ends_marks_and_comments_in_braces_stay() {
    let windows = "\u{feff}# c\r\n[queue]\r\nslots = 4 # x\r\n\r\n[log]\r\nkeep = 1\r\n";
    let text = set(windows, Key::QueueSpares, "2");
    assert_eq!(text, windows.replace("# x\r\n", "# x\r\nspares = 2\r\n"));
    assert_eq!(unset(&text, Key::QueueSpares), windows);
    let braces = "queue = {\n  # a\n  slots = 4, # b\n  spares = 3, # c\n}\n";
    assert_eq!(set(braces, Key::QueueSpares, "2"), braces.replace('3', "2"));
    assert_eq!(set("[queue.sub]\nx = 1\n", Key::QueueSpares, "2"), "[queue]\nspares = 2\n[queue.sub]\nx = 1\n");
}
