use crate::outcome::Code;
use crate::testing::Desk;
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

fn writes(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("write_file", json!({ "path": path, "content": "mine\n" })),
        ("edit_text", json!({ "path": path, "old": "one", "new": "mine" })),
        ("edit_batch", json!({ "edits": [{ "path": path, "old": "one", "new": "mine" }] })),
        ("apply_patch", json!({ "patch": format!("--- {path}\n+++ {path}\n@@ -1 +1 @@\n-one\n+mine\n") })),
    ]
}

#[test]
fn what_the_owner_changed_since_is_not_overwritten_until_it_was_read_again() {
    for (tool, arguments) in writes("a") {
        let desk = Desk::new();
        desk.put("a", "one\n");
        desk.ok("read_file", json!({ "path": "a" }));
        desk.put("a", "one\nand the owner's\n");
        let refused = desk.not_ok(tool, arguments.clone(), Code::ChangedSinceRead);
        let words = "a was changed by something else since you last read or wrote it. Nothing was changed.";
        assert!(refused.text.contains(words), "{tool}: {}", refused.text);
        assert_eq!(desk.text("a"), "one\nand the owner's\n");
        desk.ok("read_file", json!({ "path": "a" }));
        let done = desk.run(tool, arguments);
        assert_eq!(done.code, None, "{tool}: {}", done.text);
    }
}

#[test]
fn own_changes_modes_and_files_that_were_never_read_are_no_surprise() {
    for (tool, arguments) in writes("a") {
        let desk = Desk::new();
        let path = desk.put("a", "one\n");
        desk.ok(tool, arguments);
        desk.ok("edit_text", json!({ "path": "a", "old": "mine", "new": "again" }));
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        desk.ok("write_file", json!({ "path": "./a", "content": "last\n" }));
        assert_eq!(desk.text("a"), "last\n");
    }
}

#[test]
fn a_file_that_was_removed_since_is_told_and_one_the_agent_removed_is_not() {
    let desk = Desk::new();
    let path = desk.put("a", "one\n");
    desk.ok("read_file", json!({ "path": "a" }));
    fs::remove_file(&path).unwrap();
    let refused = desk.not_ok("write_file", json!({ "path": "a", "content": "x" }), Code::ChangedSinceRead);
    assert!(refused.text.contains("was removed by something else"), "{}", refused.text);
    desk.not_ok("read_file", json!({ "path": "a" }), Code::NotFound);
    desk.ok("write_file", json!({ "path": "a", "content": "one\n" }));
    desk.ok("apply_patch", json!({ "patch": "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n" }));
    desk.ok("write_file", json!({ "path": "a", "content": "two\n" }));
    let moved = "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n";
    desk.ok("apply_patch", json!({ "patch": moved }));
    desk.ok("write_file", json!({ "path": "b", "content": "three\n" }));
    desk.ok("write_file", json!({ "path": "a", "content": "four\n" }));
}

#[test]
fn another_name_of_a_file_that_was_read_is_the_same_file() {
    let desk = Desk::new();
    desk.put("d/a", "one\n");
    std::os::unix::fs::symlink("d", desk.path("link")).unwrap();
    desk.ok("read_file", json!({ "path": "link/a" }));
    desk.put("d/a", "one, and more\n");
    desk.not_ok("write_file", json!({ "path": "d/a", "content": "x" }), Code::ChangedSinceRead);
}

#[test]
fn a_file_that_was_never_read_is_replaced_with_a_notice() {
    let desk = Desk::new();
    desk.put("a", "one\ntwo\n");
    desk.put("empty", "");
    let done = desk.ok("write_file", json!({ "path": "a", "content": "mine\n" }));
    assert!(done.text.contains("You had not read what was there"), "{}", done.text);
    assert_eq!(done.facts["unread"], true);
    for path in ["a", "empty", "new"] {
        let done = desk.ok("write_file", json!({ "path": path, "content": "again\n" }));
        assert!(!done.text.contains("had not read"), "{path}: {}", done.text);
    }
}
