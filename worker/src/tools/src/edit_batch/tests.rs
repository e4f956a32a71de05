use crate::outcome::Code;
use crate::testing::Desk;
use serde_json::json;

#[test]
fn all_edits_are_made_in_order_and_one_file_is_one_file_by_any_path() {
    let desk = Desk::new();
    desk.put("a", "one\n");
    desk.put("d/b", "two\n");
    let outcome = desk.ok(
        "edit_batch",
        json!({ "edits": [
            { "path": "a", "old": "one", "new": "1" },
            { "path": "d/b", "old": "two", "new": "2\n2" },
            { "path": "d/../a", "old": "1", "new": "I" },
        ] }),
    );
    assert_eq!(outcome.text, "Replaced a: 1 line before, 1 now.\nReplaced d/b: 1 line before, 2 now.");
    assert_eq!(outcome.facts["replacements"], 3);
    assert_eq!((desk.text("a"), desk.text("d/b")), ("I\n".to_owned(), "2\n2\n".to_owned()));
    assert_eq!(desk.versions.history().unwrap().len(), 2);
}

#[test]
fn one_edit_that_does_not_fit_changes_nothing() {
    let mut desk = Desk::new();
    desk.put("a", "one\n");
    desk.put("b", "two\n");
    let edits = |second| json!({ "edits": [{ "path": "a", "old": "one", "new": "1" }, second] });
    for (second, code) in [
        (json!({ "path": "b", "old": "zwei", "new": "2" }), Code::TextNotFound),
        (json!({ "path": "c", "old": "x", "new": "2" }), Code::NotFound),
        (json!({ "path": "../outside/secret", "old": "OUT", "new": "2" }), Code::Outside),
        (json!({ "path": "a", "old": "one", "new": "2" }), Code::TextNotFound),
    ] {
        let outcome = desk.not_ok("edit_batch", edits(second), code);
        assert!(outcome.text.starts_with("Edit 2 of 2 does not fit, so no file was changed. "), "{}", outcome.text);
        assert_eq!(outcome.facts["edit"], 2);
    }
    desk.limits.changed_files = 1;
    desk.not_ok("edit_batch", edits(json!({ "path": "b", "old": "two", "new": "2" })), Code::TooLarge);
    (desk.limits.changed_files, desk.limits.changed_bytes) = (9, 7);
    let large = desk.not_ok("edit_batch", edits(json!({ "path": "b", "old": "two", "new": "2" })), Code::TooLarge);
    assert!(large.text.contains("more than 7 bytes together"), "{}", large.text);
    desk.not_ok("edit_batch", json!({ "edits": [] }), Code::BadArguments);
    assert_eq!((desk.text("a"), desk.text("b")), ("one\n".to_owned(), "two\n".to_owned()));
    assert!(desk.versions.history().unwrap().is_empty());
    assert_eq!(desk.names(""), ["a", "b"]);
}
